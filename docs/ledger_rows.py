"""The requirements as people wrote them down, and what the tests say they prove."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
FOLDER = DOCS / "requirements"
SEEDS = FOLDER / "seeds"
WAYS_IN = FOLDER / "ways_in.toml"
TESTS = ROOT / "tests"

PARTS = {
    "mail": "messages, inboxes, the spool, receipts, order, retention",
    "roster": "teams and their members",
    "board": "tasks: who has which, what they wait for, when they are done",
    "work-sync": "does each member know its current work",
    "crew": "agents that are started, watched and ended, with their worktrees",
    "sessions": "teams that outlive their lead",
    "daemon": "what runs in the background",
    "plugins": "what others add",
    "approvals": "who may say yes",
    "surfaces": "commands, MCP tools, screens, settings, words",
    "project": "the code, the tests, the platforms",
}
"""A page for each."""

CHAPTERS = {
    "work-sync": {
        "architecture": (range(8), "the idea, the layers, the words, what it is not"),
        "agenda": (range(8, 9), "work items, the agenda, its fingerprint, reports, conditions"),
        "rules": (range(9, 11), "the ports; which report is accepted, and what is decided"),
        "machinery": (range(11, 13), "sources, busy signals, the queue, the store, reconciling"),
        "tools": (range(13, 16), "tools for agents, briefings, the outbox of nudges"),
        "neighbours": (range(16, 17), "the stall watch, delivery, and the mistakes to guard against"),
        "storage": (range(17, 20), "paths, locks, recovery, metrics, what is shown"),
        "tests": (range(20, 21), "the tests that the plan asks for"),
        "rollout": (range(21, 30), "phases, defaults, abuse, acceptance, cuts"),
    }
}
"""A part that is too large for one page has a page for some chapters of the seed each."""

STATES = ("done", "planned", "decided otherwise", "past")
MOST_LINKS = 60
MADE = "Made by `docs/generate_ledger.py`. Do not edit this page: "


@dataclass(frozen=True)
class Row:
    """One requirement, as a person wrote it down."""

    id: str
    text: str
    part: str
    status: str
    seed: str
    """The heading of the seed."""
    section: str
    """The heading in the seed under which it stands."""

    @property
    def same_as(self) -> str:
        """The id of the requirement that it repeats."""
        return self.status.removeprefix("same as ") if self.status.startswith("same as ") else ""

    @property
    def chapter(self) -> int:
        """The first number of its section; 0 where there is none."""
        found = re.match(r"R\d{3}-(\d+)", self.id)
        return int(found[1]) if found else 0

    @cached_property
    def page(self) -> str:
        """The page on which it stands, without its ending."""
        for name, (chapters, _) in CHAPTERS.get(self.part, {}).items():
            if self.chapter in chapters:
                return f"{self.part}-{name}"
        return self.part

    @property
    def link(self) -> str:
        return f"[{self.id}]({self.page}.md#{self.id})"


# Reading: what people wrote.


@cache
def rows() -> tuple[Row, ...]:
    """Every requirement, in the order of the seeds."""
    return tuple(row for page in sorted(SEEDS.glob("*.md")) for row in rows_in(page.read_text(encoding="utf-8")))


def rows_in(text: str) -> Iterator[Row]:
    """The lines of tables that begin with an id, under their headings."""
    seed = section = ""
    for line in text.splitlines():
        if line.startswith("# "):
            seed = line[2:]
        elif line.startswith("## "):
            section = line[3:]
        elif line.startswith("| R"):
            cells = [cell.strip() for cell in line.strip()[1:-1].split("|")]
            if len(cells) != 4:
                raise ValueError(f"a requirement has an id, a text, a part and a status: {line}")
            yield Row(*cells, seed=seed, section=section)


@cache
def by_id() -> dict[str, Row]:
    return {row.id: row for row in rows()}


def original(row: Row) -> Row:
    """The requirement that says it first."""
    return by_id()[row.same_as] if row.same_as else row


def state(row: Row) -> str:
    """The status without its reason."""
    return original(row).status.partition(" (")[0]


# Reading: what tests say they prove.


@cache
def texts_of_tests() -> dict[str, str]:
    """The files of tests by their paths."""
    files = (path for path in sorted(TESTS.rglob("*.py")) if "node_modules" not in path.parts)
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in files}


@cache
def proofs() -> dict[str, tuple[str, ...]]:
    """The full names of the tests of each requirement."""
    found: dict[str, list[str]] = {}
    for name, text in texts_of_tests().items():
        if "@proves(" in text or "PROVES = " in text:
            for id, test in proofs_in(ast.parse(text), name):
                found.setdefault(id, []).append(test)
    return {id: tuple(dict.fromkeys(tests)) for id, tests in found.items()}


def proofs_in(tree: ast.Module, name: str) -> Iterator[tuple[str, str]]:
    """Pairs of a requirement and a test: a function, a method, a class or the whole file."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["PROVES"]:
            yield from ((id, name) for id in ast.literal_eval(node.value))
    yield from _proofs_of(tree.body, name)


def _proofs_of(body: Iterable[ast.stmt], name: str) -> Iterator[tuple[str, str]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            here = f"{name}::{node.name}"
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Name) and mark.func.id == "proves":
                    yield from ((str(ast.literal_eval(argument)), here) for argument in mark.args)
            if isinstance(node, ast.ClassDef):
                yield from _proofs_of(node.body, here)


def tests_of(row: Row) -> tuple[str, ...]:
    return proofs().get(original(row).id, ())


# What pages are called.


def title_of(page: str) -> str:
    for part, chapters in CHAPTERS.items():
        for name in chapters:
            if page == f"{part}-{name}":
                return f"{part}, {name}"
    return page


def about(page: str) -> str:
    for part, chapters in CHAPTERS.items():
        for name, (_, words) in chapters.items():
            if page == f"{part}-{name}":
                return words
    return PARTS[page]
