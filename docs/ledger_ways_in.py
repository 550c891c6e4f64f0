"""Two ways into the ledger: by what is promised, and by command."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

from ledger_rows import MADE, MOST_LINKS, PARTS, WAYS_IN, Row, rows, state, tests_of, texts_of_tests, title_of

from atm.ui.cli.catalog import COMMANDS, SEED_WORDS


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
