"""
Writes the pages of the ledger, from the requirements in `docs/requirements/seeds/` and what the tests say they prove.

Run it after a change of either: `.venv/bin/python docs/generate_ledger.py`. A test compares the pages with `pages()`.
With ids, or beginnings of ids, it prints these requirements with the full names of their tests instead:
`.venv/bin/python docs/generate_ledger.py R000-lock`.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from atm.ui.cli.catalog import COMMANDS, SEED_WORDS

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


# Writing: a page for each part.


@cache
def pages() -> dict[Path, str]:
    """Every page that is made."""
    made = {FOLDER / f"{name}.md": page_of(name) for name in page_names()}
    made |= {FOLDER / f"{part}.md": page_of_chapters(part) for part in CHAPTERS}
    made[FOLDER / "by-guarantee.md"] = page_by_guarantee()
    made[FOLDER / "by-command.md"] = page_by_command()
    made[DOCS / "requirements.md"] = front_page()
    return made


@cache
def page_names() -> tuple[str, ...]:
    """The pages with requirements, as the front page lists them."""
    used = {row.page for row in rows()}
    ordered = [name for part in PARTS for name in (part, *(f"{part}-{each}" for each in CHAPTERS.get(part, ())))]
    return tuple(name for name in ordered if name in used)


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


def page_of(name: str) -> str:
    """The requirements of one part, in the order of the seeds, with their tests."""
    here = [row for row in rows() if row.page == name]
    files = sorted({test.partition("::")[0] for row in here if not row.same_as for test in tests_of(row)})
    short = {file: f"t{number}" for number, file in enumerate(files, 1)}
    lines = [
        f"# Requirements: {title_of(name)}",
        "",
        f"{about(name).capitalize()}. {summary(here)}.",
        "",
        f"{MADE}the requirements are in [seeds](seeds/), and",
        "a test says itself what it proves (`@proves`). The words of a test are its name: *a lock is released* is",
        "`test_a_lock_is_released`, in the file to which the link leads. All of the ledger:",
        "[requirements](../requirements.md).",
    ]
    section = ("", "")
    for row in here:
        if row.seed != section[0]:
            lines += ["", f"## {row.seed}"]
        if (row.seed, row.section) != section:
            lines += ["", f"### {row.section}", "", "| id | requirement | status | tests |", "|---|---|---|---|"]
        section = (row.seed, row.section)
        lines.append(line_of(row, short))
    links = [f"[{short[file]}]: ../../{file}" for file in files]
    return "\n".join([*lines, "", *links, ""]) if links else "\n".join([*lines, ""])


def line_of(row: Row, short: dict[str, str]) -> str:
    anchor = f'<a id="{row.id}"></a>{row.id}'
    if row.same_as:
        return f"| {anchor} | same as {original(row).link} | {state(row)} | |"
    tests = "<br>".join(f"[{words_of(test)}][{short[test.partition('::')[0]]}]" for test in tests_of(row))
    return f"| {anchor} | {row.text} | {status_of(row)} | {tests} |".replace("|  |", "| |")


def words_of(test: str) -> str:
    """A test's name as the sentence that it is."""
    _, _, name = test.partition("::")
    if not name:
        return "the whole file"
    return ", ".join(part.removeprefix("test_").replace("_", " ") for part in name.split("::"))


def status_of(row: Row) -> str:
    """The status, with links to the pages of decisions."""

    def link(found: re.Match[str]) -> str:
        (page,) = (DOCS / "decisions").glob(f"{found[1]}-*.md")
        return f"decision [{found[1]}](../decisions/{page.name})"

    return re.sub(r"decision (\d{4})", link, row.status)


def summary(some: Iterable[Row]) -> str:
    counts = Counter(state(row) for row in some)
    told = [f"{counts[each]:,} {each}" for each in STATES if counts[each]]
    return f"{counts.total():,} requirements: {', '.join(told)}"


def page_of_chapters(part: str) -> str:
    """The page of a part that has a page for some chapters each."""
    here = [row for row in rows() if row.part == part]
    return "\n".join(
        [
            f"# Requirements: {part}",
            "",
            f"{PARTS[part].capitalize()}. {summary(here)}. They stand on several pages, in the order of the seeds.",
            "",
            f"{MADE}the requirements are in [seeds](seeds/). All of the ledger: [requirements](../requirements.md).",
            "",
            *table_of([name for name in page_names() if name.startswith(f"{part}-")], ""),
            "",
        ]
    )


def table_of(names: Iterable[str], folder: str) -> list[str]:
    """Pages, with what is on them and how far it is."""
    lines = [f"| page | what it is about | {' | '.join(STATES)} |", f"|---|---|{'---|' * len(STATES)}"]
    for name in names:
        counts = Counter(state(row) for row in rows() if name in (row.page, row.part))
        told = " | ".join(f"{counts[each]:,}" for each in STATES)
        lines.append(f"| [{title_of(name)}]({folder}{name}.md) | {about(name)} | {told} |")
    return lines


# Writing: two ways in.


@cache
def ways_in() -> dict[str, dict[str, dict[str, Any]]]:
    """By which words a requirement is about a guarantee, or about a command."""
    return tomllib.loads(WAYS_IN.read_text(encoding="utf-8"))


def is_about(row: Row, way: dict[str, Any]) -> bool:
    if row.id in way.get("also", ()):
        return True
    if row.id in way.get("but_not", ()) or row.part not in way.get("parts", PARTS):
        return False
    return "words" in way and any_of(*way["words"]).search(row.text) is not None


@cache
def any_of(*words: str) -> re.Pattern[str]:
    return re.compile(rf"\b({'|'.join(words)})\b", re.IGNORECASE)


def page_by_guarantee() -> str:
    """Which requirements are about each guarantee, and which files of tests name it."""
    guarantees = ways_in()["guarantees"]
    found = {name: rows_about(name) for name in guarantees}
    lines = [
        "# Requirements by guarantee",
        "",
        "What atm promises, and the requirements that are about it: those that are done or planned and whose words say",
        "so. The words stand in [ways_in.toml](ways_in.toml); a requirement that belongs may be missing here, and the",
        "other way round. All of the ledger: [requirements](../requirements.md).",
        "",
        f"{MADE}change the words.",
        "",
        "| guarantee | name | requirements | tests that prove them |",
        "|---|---|---|---|",
    ]
    for name, some in found.items():
        tests = {test for row in some for test in tests_of(row)}
        lines.append(f"| [{name}](#{name}) | {guarantees[name]['name']} | {len(some)} | {len(tests)} |")
    for name, some in found.items():
        lines += ["", f'<a id="{name}"></a>', "", f"## {name}: {guarantees[name]['name']}", ""]
        lines += [guarantees[name]["sentence"], ""]
        named = [
            f"[{file.removeprefix('tests/')}](../../{file})"
            for file, names in guarantees_named().items()
            if name in names
        ]
        lines += [f"Tests that name it: {', '.join(named)}.", ""] if named else []
        lines += short_table(some)
    return "\n".join([*lines, ""])


def rows_about(guarantee: str) -> list[Row]:
    way = ways_in()["guarantees"][guarantee]
    return [
        row
        for row in rows()
        if not row.same_as
        and state(row) in ("done", "planned")
        and (is_about(row, way) or re.search(rf"\b{guarantee}\b", row.text))
    ]


@cache
def guarantees_named() -> dict[str, set[str]]:
    """Files of tests, and the guarantees that stand in them."""
    files = {name: text for name, text in texts_of_tests().items() if "/test_" in name and "/project/" not in name}
    return {name: set(re.findall(r"\bG\d+\b", text)) for name, text in files.items()}


def short_table(some: Iterable[Row]) -> list[str]:
    lines = ["| id | requirement | status | tests |", "|---|---|---|---|"]
    return [*lines, *(f"| {row.link} | {row.text} | {state(row)} | {len(tests_of(row))} |" for row in some)]


def page_by_command() -> str:
    """Which requirements are about each command."""
    lines = [
        "# Requirements by command",
        "",
        "For each command of `atm`, the requirements that name it, or that stand under its heading in a seed, or that",
        "say what it does in the words of [ways_in.toml](ways_in.toml). *Also proven through it*: what the tests of",
        "the command prove besides. All of the ledger: [requirements](../requirements.md). The commands themselves:",
        "[reference](../reference/cli.md).",
        "",
        f"{MADE}change the words.",
        "",
        "| command | what it is | requirements |",
        "|---|---|---|",
    ]
    own = [row for row in rows() if not row.same_as]
    through = {row.id: proven_through(row) for row in own}
    found = {name: rows_naming(name) for name in COMMANDS}
    lines += [f"| [`{name}`](#{name}) | {COMMANDS[name]} | {len(some)} |" for name, some in found.items()]
    for name, some in found.items():
        lines += ["", f'<a id="{name}"></a>', "", f"## `atm {name}`", ""]
        lines += short_table(some) if some else ["No requirement names it."]
        named = {row.id for row in some}
        besides = [row for row in own if row.id not in named and name in through[row.id]]
        if besides:
            lines += ["", f"Also proven through it: {links_to(besides)}."]
    return "\n".join([*lines, ""])


def links_to(some: list[Row]) -> str:
    """Each of them; of too many, their pages."""
    if len(some) <= MOST_LINKS:
        return ", ".join(row.link for row in some)
    counts = Counter(row.page for row in some)
    return ", ".join(f"{count} on the page of [{title_of(page)}]({page}.md)" for page, count in counts.most_common())


def rows_naming(command: str) -> list[Row]:
    wanted = re.compile(rf"`(atm )?{command}( [^`]*)?`|\batm {command}\b|\bcommand `?{command}`?(?!\w)")
    heading = re.compile(rf"\batm {command}\b")
    flags = [flag for flag, words in SEED_WORDS.items() if words[0] == command]
    way = ways_in()["commands"].get(command, {})
    return [
        row
        for row in rows()
        if not row.same_as
        and (
            wanted.search(row.text)
            or heading.search(row.section)
            or is_about(row, way)
            or any(flag in row.text for flag in flags)
        )
    ]


def proven_through(row: Row) -> set[str]:
    """The commands whose tests prove it."""
    return {command for test in tests_of(row) for command in commands_of(test.partition("::")[0])}


@cache
def commands_of(file: str) -> frozenset[str]:
    """Files of tests of a command have its name, or stand in the table."""
    named = re.fullmatch(r"tests/cli/(?:\w+/)?test_([a-z]+)(?:_\w+)?\.py", file)
    found = {named[1]} & set(COMMANDS) if named else set()
    tables = ways_in()["commands"].items()
    return frozenset(found | {command for command, way in tables if file.startswith(tuple(way.get("tests", ())))})


# Writing: the front page.

FRONT = """\
# Requirements: the ledger

Every requirement of the five specification documents ("seeds"), one line each.
{summary}.

- **Find one** by its part (below), [by guarantee](requirements/by-guarantee.md) ("nothing is lost": by which
  requirements, and how far?) or [by command](requirements/by-command.md). The address of a requirement is its page and
  its id: [requirements/mail.md#R000-lock-01](requirements/mail.md#R000-lock-01).
- **See its proof**: every page links the tests. `.venv/bin/python docs/generate_ledger.py R000-lock` prints
  requirements with the full names of their tests, and `.venv/bin/python -m pytest --proves R000-lock` runs these.
- **Change one** in [requirements/seeds](requirements/seeds/), one page for each seed. A test says itself what it
  proves, with `@proves("R000-lock-01")` above it (`tests/proving.py`). Then run
  `.venv/bin/python docs/generate_ledger.py`, which makes this page and all others; `tests/project/test_ledger.py` says
  when they are out of date.

What the columns say:

- **id**: `R<seed>-<section>-<number>`. The section is the seed's own, so the id is also the source.
- **part**: which part of the system it belongs to (see [the map](map.md)).
- **status**: `done` means that a user can reach it, and that tests prove it. `planned`: not built yet. `decided
  otherwise (D…)` names the decision that settles the point differently (`D…` and `design N` are of the design,
  `decision NNNN` is a page of [decisions](decisions/)). `past`: about how, in which order or in which stages something
  was to be built; that work is over, so that there is nothing to reach and nothing to prove. `same as R…`: another
  requirement says it already; its status and its tests hold.
- **tests**: the tests that prove it. For a point that was decided otherwise: what holds instead.

Where two seeds, or two sections of one, contradict each other, both sides are entered; the decision pages say which
side holds ([decisions](decisions/)).

## By part

{parts}

## By seed

{seeds}
"""


def front_page() -> str:
    names = [name for part in PARTS for name in (part, *(each for each in page_names() if each.startswith(f"{part}-")))]
    return FRONT.format(
        summary=summary(rows()),
        parts="\n".join(table_of(names, "requirements/")),
        seeds="\n".join(table_of_seeds()),
    )


def table_of_seeds() -> list[str]:
    lines = [f"| seed | {' | '.join(STATES)} |", f"|---|{'---|' * len(STATES)}"]
    for seed in dict.fromkeys(row.seed for row in rows()):
        here = [row for row in rows() if row.seed == seed]
        counts = Counter(state(row) for row in here)
        told = " | ".join(f"{counts[each]:,}" for each in STATES)
        lines.append(f"| [{seed.removeprefix('Seed ')}](requirements/seeds/{here[0].id[1:4]}.md) | {told} |")
    return lines


def show(wanted: list[str], say: Callable[[str], object] = print) -> None:
    """Requirements whose ids begin so, and the full names of their tests."""
    for row in rows():
        if row.id.startswith(tuple(wanted)):
            say(f"{row.id}  {row.status}\n    {row.text}")
            for test in tests_of(row):
                say(f"    {test}")


def main(words: list[str]) -> None:
    if words:
        show(words)
        return
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
