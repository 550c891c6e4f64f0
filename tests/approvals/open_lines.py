"""
Says which lines of the corpus are decided wrongly, and what the allowed ones do in real shells.

    .venv/bin/python -m tests.approvals.open_lines [FILE] [--run]

`FILE` is written anew (default: standard output). `--run` runs the allowed lines in the sandbox.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.approvals.judging import Judge, as_in_the_hook, cases_of, policies_of, read_corpus
from tests.approvals.properties import broken
from tests.approvals.sandbox import Attempt, run_lines, why_not
from tests.approvals.world import build_world


def report(is_run: bool) -> str:
    corpus = read_corpus()
    policies, cases = policies_of(corpus), [*cases_of(corpus)]
    with tempfile.TemporaryDirectory(prefix="atm-lines") as folder:
        world = build_world(Path(folder) / "world")
        with as_in_the_hook(world.home):
            judges = {
                name: Judge(Path(folder) / name, one["text"], one.get("role", "")) for name, one in policies.items()
            }
            verdicts = [judges[case.policy].decide(case.line, world.folder(case.folder)) for case in cases]
        judged = [*zip(cases, verdicts, strict=True)]
        effects: list[str] = []
        if is_run and not why_not():
            allowed = [(case, shell) for case, found in judged if found.decision == "allow" for shell in case.shells]
            runs = run_lines(world, [Attempt(case.line, shell, case.folder) for case, shell in allowed])
            for (case, shell), run in zip(allowed, runs, strict=True):
                found = broken(run, policies[case.policy])
                effects += [f"{case.name} in {shell}: {', '.join(found)[:160]}"] if found else []
    wrongly = [(case, found) for case, found in judged if not found.meets(case.expected)]
    too_mild = [f"{case.name}: {case.does}" for case, found in wrongly if found.decision == "allow"]
    too_strict = [
        f"{case.name}: {found.decision}, {found.reason}" for case, found in wrongly if found.decision != "allow"
    ]
    parts = [f"{len(cases)} lines"]
    for title, lines in (
        ("allowed, and must not be", too_mild),
        ("asked or denied, and must be allowed", too_strict),
        ("allowed, and did harm in the sandbox" + ("" if is_run else " (not run: --run)"), effects),
    ):
        parts += ["", f"{len(lines)} {title}", *(f"  {line}" for line in lines)]
    return "\n".join(parts) + "\n"


def main() -> None:
    words = [word for word in sys.argv[1:] if word != "--run"]
    text = report("--run" in sys.argv)
    if words:
        Path(words[0]).write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
