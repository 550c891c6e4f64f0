"""
Writes the pages of the ledger, from the requirements in `docs/requirements/seeds/` and what the tests say they prove.

Run it after a change of either: `.venv/bin/python docs/generate_ledger.py`. A test compares the pages with `pages()`.
With ids, or beginnings of ids, it prints these requirements with the full names of their tests instead:
`.venv/bin/python docs/generate_ledger.py R000-lock`.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from ledger_rows import (
    CHAPTERS,
    DOCS,
    FOLDER,
    MADE,
    PARTS,
    STATES,
    Row,
    about,
    original,
    rows,
    state,
    tests_of,
    title_of,
)
from ledger_ways_in import page_by_command, page_by_guarantee

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
