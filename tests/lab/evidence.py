"""
A page of evidence from a run of the lab: what each model saw, when, and what it answered; and the table of vendors.

    python -m tests.lab.evidence FOLDER            # FOLDER/index.html from FOLDER/*.jsonl
    python -m tests.lab.evidence FOLDER --docs     # and the table in docs/vendors.md
"""

from __future__ import annotations

import html
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.lab import programs

DOCS = Path(__file__).parents[2] / "docs" / "vendors.md"
BEGIN, END = "<!-- from `make lab` -->", "<!-- end -->"
RESULTS = "results.jsonl"
NAMES = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI", "opencode": "OpenCode"}
SIGNS = {"passed": "✓", "skipped": "–", "xfailed": "✗", "failed": "✗", "xpassed": "✗"}
WORST_FIRST = ("failed", "xpassed", "xfailed", "passed", "skipped")
"""A test with several cases works with a program if all of them do."""
LONGEST = 4000


class LabResult:
    """One test with one vendor's program."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self.test = str(facts["test"])
        self.case = str(facts.get("case", ""))
        self.vendor = str(facts["vendor"])
        self.version = str(facts["version"])
        self.outcome = str(facts["outcome"])
        self.seconds = float(facts["seconds"])
        self.why = str(facts["why"])

    @property
    def sentence(self) -> str:
        return self.test.removeprefix("test_").replace("_", " ")


def results_in(folder: Path) -> list[LabResult]:
    return [LabResult(facts) for facts in _lines(folder / RESULTS)]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    if path.is_file():
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


# The table.


def table(results: list[LabResult]) -> str:
    """A row for each test, a column for each vendor; below it why something does not work."""
    vendors = [vendor for vendor in NAMES if any(one.vendor == vendor for one in results)]
    versions = {one.vendor: one.version for one in results}
    found = _worst(results)
    tests = list(dict.fromkeys(one.test for one in results))
    lines = ["| seen with the real program | " + " | ".join(f"{NAMES[v]} {versions[v]}" for v in vendors) + " |"]
    lines.append("| --- |" + " :-: |" * len(vendors))
    notes: dict[str, int] = {}
    for test in tests:
        cells = [_cell(found.get((test, vendor)), notes) for vendor in vendors]
        sentence = next(one.sentence for one in results if one.test == test)
        lines.append(f"| {sentence} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, "", *(f"{number}. {why}" for why, number in notes.items())]).rstrip() + "\n"


def _worst(results: list[LabResult]) -> dict[tuple[str, str], LabResult]:
    """Of each test with each program, over its cases; a case that was run again is what it was at last."""
    found: dict[tuple[str, str], LabResult] = {}
    for one in {(one.test, one.vendor, one.case): one for one in results}.values():
        other = found.setdefault((one.test, one.vendor), one)
        if WORST_FIRST.index(one.outcome) < WORST_FIRST.index(other.outcome):
            found[(one.test, one.vendor)] = one
    return found


def _cell(result: LabResult | None, notes: dict[str, int]) -> str:
    if result is None:
        return ""
    sign = SIGNS[result.outcome]
    if result.outcome == "passed" or not result.why:
        return sign
    number = notes.setdefault(result.why, len(notes) + 1)
    return f"{sign} ({number})"


def write_docs(results: list[LabResult], path: Path = DOCS) -> None:
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    path.write_text(f"{before}{BEGIN}\n\n{table(results)}\n{END}{after}", encoding="utf-8")


# The page.


def page(folder: Path) -> str:
    results = results_in(folder)
    parts = [HEAD, "<h1>What the models saw</h1>", _summary(results)]
    for path in sorted(folder.glob("*.jsonl")):
        if path.name != RESULTS:
            parts.append(_story(path))
    return "\n".join([*parts, "</main></html>"])


def _summary(results: list[LabResult]) -> str:
    rows = "".join(
        f"<tr class={one.outcome}><td>{SIGNS[one.outcome]}</td><td>{html.escape(NAMES[one.vendor])} "
        f"{html.escape(one.version)}</td><td>{html.escape(one.sentence)}</td><td>{one.seconds:.1f} s</td>"
        f"<td>{html.escape(one.why)}</td></tr>"
        for one in results
    )
    return f"<table>{rows}</table>"


def _story(path: Path) -> str:
    requests = list(_lines(path))
    first = float(requests[0]["at"]) if requests else 0.0
    parts = [f"<details><summary>{html.escape(path.stem)}: {len(requests)} requests</summary>"]
    for one in requests:
        parts.append(f"<h3>{float(one['at']) - first:.2f} s, {html.escape(str(one.get('dialect', '')))}</h3>")
        for piece in one.get("pieces", []):
            text = html.escape(str(piece.get("text", ""))[:LONGEST])
            parts.append(f"<p class=role>{html.escape(str(piece.get('role', '')))}</p><pre>{text}</pre>")
        parts.append(f"<p class=answer>answered: {html.escape(str(one.get('answer', '')))}</p>")
    return "\n".join([*parts, "</details>"])


HEAD = """<!doctype html><html lang=en><meta charset=utf-8><title>atm: the lab</title><style>
body{margin:0;background:#fbfaf8;color:#1f1d1a;font:16px/1.5 system-ui,sans-serif}
main{max-width:64rem;margin:0 auto;padding:2rem 1rem}
table{border-collapse:collapse;width:100%;font-size:14px}td{padding:.2rem .6rem;border-bottom:1px solid #e4e0d8}
summary{cursor:pointer;padding:.4rem 0}h3{font-size:14px;margin:1rem 0 .2rem}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#f1eee8;padding:.6rem;font-size:13px;margin:.2rem 0}
.role,.answer{color:#6b655c;margin:.4rem 0 0;font-size:13px}
</style><main>"""


def main(words: list[str]) -> int:
    folder = Path(words[0])
    results = results_in(folder)
    if not results:
        print(f"no test of the lab ran: {folder / RESULTS} is not there")
        return 1
    (folder / "index.html").write_text(page(folder), encoding="utf-8")
    print(table(results))
    print(f"what each model saw, and when: {folder / 'index.html'}")
    if "--docs" in words:
        pinned = {name: program.version for name, program in programs.pinned().items()}
        if any(one.version != pinned.get(one.vendor) for one in results):
            print("docs/vendors.md is about the pinned versions, and this run was not")
            return 1
        write_docs(results)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
