"""docs/requirements.md is the ledger. It must be complete in form, and every `done` must name tests that exist."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEDGER = ROOT / "docs" / "requirements.md"
SOURCE = r"(D\d+|design \d+|decision \d{4})"
STATUS = re.compile(rf"done|planned|decided otherwise \({SOURCE}(, {SOURCE})*\)")


def rows() -> list[list[str]]:
    found = []
    for line in LEDGER.read_text().splitlines():
        if line.startswith("| R"):
            found.append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return found


@cache
def known_tests(path: str) -> frozenset[str]:
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    return frozenset(n.name for n in ast.walk(ast.parse(file.read_text())) if isinstance(n, ast.FunctionDef))


def named_tests(cell: str) -> list[tuple[str, str]]:
    return [(path, name) for path, name in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", cell)]


def test_every_row_is_well_formed():
    assert len(rows()) > 3000
    for row in rows():
        assert len(row) == 5, row
        assert STATUS.fullmatch(row[3]), row


def test_a_decision_that_settles_a_point_has_a_page():
    for row in rows():
        for number in re.findall(r"decision (\d{4})", row[3]):
            assert list((ROOT / "docs" / "decisions").glob(f"{number}-*.md")), row


def test_ids_are_unique():
    counts = Counter(row[0] for row in rows())
    assert [id for id, count in counts.items() if count > 1] == []


def test_all_five_seeds_are_entered():
    assert {row[0][:4] for row in rows()} == {"R000", "R001", "R002", "R003", "R004"}


def test_a_requirement_that_is_done_names_tests_that_exist():
    for row in rows():
        named = named_tests(row[4])
        if row[3] == "done":
            assert named, f"{row[0]} is done but names no test"
        for path, name in named:
            assert name in known_tests(path), f"{row[0]} names {path}::{name}, which does not exist"
        if row[4]:
            assert named, f"{row[0]}: cannot read the tests cell {row[4]!r}"


def test_the_table_at_the_top_counts_what_stands_below():
    lines = re.findall(r"^\| (00\d) \| (\d+) \| (\d+) \| (\d+) \|$", LEDGER.read_text(), re.MULTILINE)
    told = {seed: [int(count) for count in counts] for seed, *counts in lines}
    for seed in told:
        kinds = Counter(row[3].split(" (")[0] for row in rows() if row[0].startswith(f"R{seed}"))
        assert told[seed] == [kinds["done"], kinds["planned"], kinds["decided otherwise"]], seed
    assert len(told) == 5
