# Every target makes what it needs: a virtual environment in .venv, and the Node package that tests lock against.
# Nothing outside this folder is touched, except temporary folders.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
NODE_READY := $(VENV)/.node-ready
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
# Two more than there are cores: many tests wait for a daemon, and another can use the time.
JOBS ?= $(shell expr $(CORES) + 2)

.DEFAULT_GOAL := help
.PHONY: help demo compiled test bare busy lab check lint types architecture readme bench chaos mutants browser pictures lock clean

help:
	@echo "make demo    watch a team work off a plan and survive a crash and a kill (under 60 s after set-up)"
	@echo "make test    the tests"
	@echo "make bare    the tests that touch optional programs (tmux, ps, node, ...), with all of them hidden"
	@echo "make busy    the tests as on a bare and busy machine, three times in a row: an hour and a half"
	@echo "make lab     the vendors' real programs (Claude Code, Codex, Gemini CLI, OpenCode) as a team, with scripted models"
	@echo "make check   tests, lint, types, architecture, and the README's commands: what CI runs"
	@echo "make bench   benchmarks; writes docs/benchmarks.md"
	@echo "make chaos   the long campaigns: kills, rivals, faults at every step, generated cases that nobody saw"
	@echo "make mutants 200 seeded mutants in the modules that carry G1 to G5: which of them would no test notice?"
	@echo "make browser  the page in a real browser: Debian's chromium, driven by Playwright"
	@echo "make pictures the pictures of the screen and the page in the docs"
	@echo "make lock    pin the development tools anew"
	@echo "make clean   remove the virtual environment and caches"

# Shows each step and how long it takes: a minute of silence looks like a hang.
$(READY): pyproject.toml requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "atm needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3.12 ..."; exit 1; }
	@$(PYTHON) requirements/set_up.py $(VENV) requirements/dev.txt
	@touch $@

# The real user of the lock protocol that we test against. Without Node the tests that need it say why they skip.
$(NODE_READY): tests/node/package.json
	@mkdir -p $(VENV)
	@if command -v npm >/dev/null 2>&1; then \
		npm install --prefix tests/node --no-package-lock --no-audit --no-fund --silent || \
			echo "npm could not install proper-lockfile; the tests beside Node will be skipped"; \
	else echo "npm is not here; the tests beside Node will be skipped"; fi
	@touch $@

demo: $(READY)
	@$(BIN)/atm demo

# Compiled first: tests and documents start thousands of processes, and some machines forbid Python to keep what it compiled.
compiled: $(READY)
	@$(BIN)/python -m compileall -q -j $(CORES) src

# With ATM_MEMORY=1 temporary files lie in memory, and those of tests that passed go at once.
IN_MEMORY = $(if $(ATM_MEMORY),-o tmp_path_retention_policy=failed)
test: compiled $(NODE_READY)
	@$(BIN)/python -m tests.prepared $(JOBS)
	@$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --durations=20 --durations-min=1 $(IN_MEMORY)

# The tests of files that name an optional program, with all of these programs hidden: what a bare machine sees.
bare: $(READY) $(NODE_READY)
	@ATM_BARE=1 $(BIN)/python -m pytest -n $(JOBS) -m optional

RUNS ?= 3
busy: $(READY)
	@$(BIN)/python -m tests.busy $(RUNS)

# Installs pinned versions from npm into a cache folder (LATEST=1: the newest), runs them without network or account, and
# writes what each model saw, and when, to $(EVIDENCE). LAB picks tests; then it says what differs from the corpus.
EVIDENCE ?= build/lab
LAB ?= tests/lab
LAB_JOBS ?= $(CORES)
lab: $(READY)
	@$(BIN)/python -m tests.lab.programs
	@$(if $(filter tests/lab %/test_mcp_clients.py,$(LAB)),$(BIN)/python -m tests.lab.mcp_clients)
	@rm -rf $(EVIDENCE)
	@ATM_LAB=1 ATM_LAB_EVIDENCE=$(abspath $(EVIDENCE)) $(BIN)/python -m pytest -n $(LAB_JOBS) $(LAB)
	@$(BIN)/python -m tests.lab.evidence $(EVIDENCE)
	@$(BIN)/python -m tests.lab.drift $(EVIDENCE)

lint: $(READY)
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(READY)
	@$(BIN)/mypy

architecture: $(READY)
	@$(BIN)/python -m pytest tests/project

readme: compiled
	@$(BIN)/python tests/project/run_readme.py

# The types and the documents beside the tests: these wait for programs much of the time.
check: lint
	@$(MAKE) --no-print-directory -j 3 types readme test

bench: $(READY)
	@$(BIN)/python benchmarks/run.py

chaos: $(READY) $(NODE_READY)
	@ATM_CHAOS=long $(BIN)/python -m pytest -m "campaign or sparse" -n $(JOBS)
	@ATM_CHAOS=long $(BIN)/python -m pytest $(wildcard tests/*/rules tests/*/formats tests/*/services) tests/core tests/crew -n $(JOBS)
	@ATM_CHAOS=long $(BIN)/python -m pytest tests/attacks tests/cli tests/merges $(wildcard tests/*/adapters) -m hypothesis -n $(JOBS)

# What the tests would not notice: half an hour on two cores.
mutants: $(READY) $(NODE_READY)
	@$(BIN)/python -m tests.mutants.run --at-least 95

# Playwright is no development tool of everybody: it is brought here, by hash, and only its Python half. Tests of the page
# are skipped without it, or without chromium.
BROWSER_READY := $(VENV)/.browser-ready
$(BROWSER_READY): $(READY) requirements/browser.txt
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --require-hashes -r requirements/browser.txt
	@touch $@

browser: $(BROWSER_READY) $(NODE_READY)
	@$(BIN)/python -m pytest -n $(CORES) tests/web

# The pictures of the docs: of the screen, drawn from its own lines; the moving one of the demo, from a run that was recorded
# (RECORD=1: anew); and of the page, as a browser shows it.
pictures: $(BROWSER_READY)
	@$(BIN)/python -m tests.tui.pictures
	@$(BIN)/python -m tests.tui.demo_picture $(if $(RECORD),--record)
	@$(BIN)/python -m tests.web.pictures

lock:
	@uv pip compile pyproject.toml --group dev --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url -o requirements/dev.txt
	@echo playwright==1.65.2 | uv pip compile - --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url -o requirements/browser.txt

clean:
	rm -rf $(VENV) tests/node/node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis
