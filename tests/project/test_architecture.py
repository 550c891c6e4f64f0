"""The tree's promises: imports go one way, the core is pure, files stay small, `atm send` stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "atm"

LAYERS = ["domain", "formats", "ports", "services", "system", "config", "wiring", "testing", "teamd", "ui"]
"""In import order: a module may import its own layer and those before it."""

NEVER_TOGETHER = {("services", "system"), ("system", "services")}

IMPURE = {
    *("os", "sys", "time", "io", "pathlib", "shutil", "tempfile", "subprocess", "socket", "random", "secrets", "uuid"),
    *(
        "asyncio",
        "threading",
        "multiprocessing",
        "signal",
        "logging",
        "select",
        "fcntl",
        "ctypes",
        "platform",
        "argparse",
    ),
}
PURE_LAYERS = ("domain", "formats", "ports", "services")
NO_JSON = ("domain", "ports", "services")
GRAB_BAGS = {"utils", "util", "helpers", "helper", "common", "misc"}

MODULES = sorted(path for path in SOURCE.rglob("*.py"))


def layer_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


@cache
def tree_of(path: Path) -> ast.Module:
    """Each is asked for its imports, its length, its docstring and more: it is parsed once."""
    return ast.parse(path.read_text())


@cache
def imports_of(path: Path) -> tuple[tuple[str, bool], ...]:
    """Every imported module, and whether only the type checker sees it."""
    return tuple(_imports_in(tree_of(path)))


def _imports_in(tree: ast.Module) -> Iterator[tuple[str, bool]]:
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for part in node.body
        for inner in ast.walk(part)
    }
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        for name in names:
            yield name, id(node) in typing_only


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path):
    here = layer_of(path)
    if here in ("__init__", "__main__"):
        return
    for name, _ in imports_of(path):
        parts = name.split(".")
        if parts[0] != "atm" or len(parts) == 1:
            continue
        there = parts[1]
        assert LAYERS.index(there) <= LAYERS.index(here), f"{here} imports {name}"
        assert (here, there) not in NEVER_TOGETHER, f"{here} imports {name}"
        if here == "ui":
            assert there != "system", f"the surfaces reach the machine through wiring only, not {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_core_is_pure(path):
    here = layer_of(path)
    if here not in PURE_LAYERS:
        return
    for name in (name for name, only_types in imports_of(path) if not only_types):
        top = name.split(".")[0]
        assert top not in IMPURE, f"{path.name} imports {name}"
        if here in NO_JSON:
            assert top not in ("json", "_json", "tomllib"), f"{path.name} parses {name}"


def test_every_layer_is_known_and_none_is_a_grab_bag():
    for path in MODULES:
        parts = {part.removesuffix(".py") for part in path.relative_to(SOURCE).parts}
        assert not parts & GRAB_BAGS, path
        assert layer_of(path) in {*LAYERS, "__init__", "__main__"}, path


def test_asyncio_appears_only_at_the_edges():
    for path in MODULES:
        if layer_of(path) not in ("system", "teamd", "ui"):
            assert "asyncio" not in {name.split(".")[0] for name, _ in imports_of(path)}, path


def test_there_is_no_cycle_between_modules():
    def name_of(path: Path) -> str:
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    graph = {}
    for path in MODULES:
        at_top = {
            node.module
            for node in tree_of(path).body
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("atm")
        }
        graph[name_of(path)] = at_top
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join([*trail, name])
        if name in done or name not in graph:
            return
        for other in graph[name]:
            visit(other, (*trail, name))
        done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_and_functions_can_be_read_in_one_sitting(path):
    text = path.read_text()
    assert text.count("\n") <= 400, f"{path} has {text.count(chr(10))} lines"
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= 60, f"{path}:{node.lineno} {node.name} has {length} lines"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_module_says_what_it_is(path):
    assert ast.get_docstring(tree_of(path)), path


HEAVY = {
    *(
        "asyncio",
        "dataclasses",
        "typing",
        "pathlib",
        "logging",
        "importlib.metadata",
        "msgspec",
        "subprocess",
        "argparse",
    ),
    *("json", "json.decoder", "re", "uuid", "datetime", "tomllib", "random", "tempfile", "shutil", "socket", "hashlib"),
    *("contextlib", "enum", "inspect", "difflib", "tomlkit", "watchfiles"),
}

SEND_LOADS = {
    *("atm", "atm.config", "atm.wiring"),
    *("atm.domain", "atm.domain.errors", "atm.domain.mail.inbox_merge", "atm.domain.mail.messages", "atm.domain.names"),
    *("atm.domain.mail.receipts", "atm.domain.mail.retention", "atm.domain.mail.retries", "atm.domain.team.team"),
    *("atm.domain.untrusted_text",),
    *(
        "atm.formats",
        "atm.formats.mail.inbox",
        "atm.formats.mail.journal",
        "atm.formats.files.json_record",
        "atm.formats.files.layout",
    ),
    *(
        "atm.formats.mail.protocol_message",
        "atm.formats.files.settings_text",
        "atm.formats.mail.spool_entry",
        "atm.formats.team.team_config",
    ),
    *("atm.formats.files.times", "atm.ports", "atm.ports.files.disk", "atm.ports.mail.stores"),
    *("atm.services", "atm.services.mail.sending", "atm.services.mail.retention", "atm.services.mail.mailroom"),
    *("atm.system", "atm.system.files", "atm.system.files.archive", "atm.system.files.disk"),
    *("atm.system.mail.drift_log", "atm.system.files.exchange", "atm.system.files.flock"),
    *("atm.system.files.disk", "atm.system.mail.inbox_edits", "atm.system.mail.inbox_store"),
    *("atm.system.mail.ledger", "atm.system.files.processes", "atm.system.files.locking", "atm.system.files.refusals"),
    *(
        "atm.system.files.rewriting",
        "atm.system.files.shared_edit",
        "atm.system.mail.spool",
        "atm.system.team.team_store",
    ),
    *("atm.system.mail.upkeep_marks", "atm.system.files.whole_files", "atm.system.machine"),
    *("atm.ui", "atm.ui.cli", "atm.ui.cli.arguments", "atm.ui.cli.commands", "atm.ui.cli.mail.send"),
    *("atm.ui.cli.main", "atm.ui.cli.session"),
}
"""What `atm send` may load of ours. Adding a module here is a decision about its speed."""

PROBE = """
import sys
before = set(sys.modules)
from atm.ui.cli.main import main
code = main(sys.argv[1:])
print("\\n".join(sorted(set(sys.modules) - before)), file=sys.stderr)
sys.exit(code)
"""


def loaded_by(atm, *words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r})\n" + PROBE, *words],
        capture_output=True,
        env=atm.environment,
        cwd=atm.folder,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.decode().split())


def test_a_send_loads_nothing_that_it_does_not_need(atm):
    atm.team("crew", "ann")
    (atm.folder / ".atm.toml").write_text('[core]\ndefault_team = "crew"\nidentity = "bob"\n')
    loaded = loaded_by(atm, "send", "ann", "hello")
    assert not loaded & HEAVY, sorted(loaded & HEAVY)
    ours = {name for name in loaded if name.split(".")[0] == "atm"}
    assert ours <= SEND_LOADS, sorted(ours - SEND_LOADS)


def test_a_read_as_json_loads_nothing_heavy(atm):
    atm.team("crew", "ann")
    atm("send", "ann", "hello")
    loaded = loaded_by(atm, "read", "ann", "--mark", "--json")
    assert not loaded & HEAVY, sorted(loaded & HEAVY)


def test_importing_atm_loads_nothing_else():
    probe = "import sys, atm; print([name for name in sys.modules if name.startswith('atm.')])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, check=True, timeout=60)
    assert done.stdout.strip() == b"[]"


def test_the_public_names_are_these():
    import atm
    import atm.testing

    assert atm.__all__ == ["__version__"]
    assert sorted(atm.testing.__all__) == [
        *("Crash", "FakeChance", "FakeClock", "FaultyDisk", "MemoryArchive", "MemoryBackups", "MemoryDrift"),
        "MemoryInboxes",
        *(
            "MemoryLedger",
            "MemoryMarks",
            "MemoryPresence",
            "MemoryPrograms",
            "MemoryRosters",
            "MemorySpool",
            "MemoryStates",
            "MemoryStores",
            "MemoryTasks",
            "MemoryTeamFiles",
            "QuickDisk",
            "make_message",
            "memory_boardroom",
            "memory_room",
        ),
    ]
    assert all(hasattr(atm.testing, name) for name in atm.testing.__all__)
