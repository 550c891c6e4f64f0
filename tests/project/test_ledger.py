"""
The ledger: requirements that people wrote down, tests that say what they prove, and pages that join the two.

A requirement that is done has a test, a test proves a requirement that exists, and the pages are as the generator makes
them.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.project.source_trees import uncollected

ROOT = Path(__file__).parents[2]
SOURCE = r"(D\d+|design \d+|decision \d{4})"
STATUS = re.compile(rf"done|planned|past|same as R\S+|decided otherwise \({SOURCE}(, {SOURCE})*\)")
LARGEST_PAGE = 150_000


@pytest.fixture(autouse=True)
def nobody_looks_for_garbage() -> Iterator[None]:
    """Whichever of these tests comes first parses hundreds of files."""
    with uncollected():
        yield


@cache
def of_docs(name: str) -> Any:
    """A script of the documents, loaded once: it reads and parses every file of tests that proves something."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")
        return importlib.import_module(name)


def generator() -> Any:
    return of_docs("generate_ledger")


def requirements() -> Any:
    return of_docs("ledger_rows")


def indexes() -> Any:
    return of_docs("ledger_ways_in")


def rows() -> Any:
    return requirements().rows()


def test_every_requirement_is_well_formed():
    assert len(rows()) > 3000
    for row in rows():
        assert STATUS.fullmatch(row.status), row
        assert row.part in requirements().PARTS, row
        assert row.text, row
        assert row.section, row


def test_ids_are_unique():
    counts = Counter(row.id for row in rows())
    assert [id for id, count in counts.items() if count > 1] == []


def test_all_five_seeds_are_entered_each_in_its_own_file():
    assert {row.id[:4] for row in rows()} == {"R000", "R001", "R002", "R003", "R004"}
    for row in rows():
        assert row.seed.startswith(f"Seed {row.id[1:4]}: "), row


def test_a_decision_that_settles_a_point_has_a_page():
    for row in rows():
        for number in re.findall(r"decision (\d{4})", row.status):
            assert list((ROOT / "docs" / "decisions").glob(f"{number}-*.md")), row


def test_a_requirement_that_is_done_has_a_test():
    assert [row.id for row in rows() if row.status == "done" and not requirements().tests_of(row)] == []


def test_no_test_proves_what_is_planned_or_past():
    proven = [row.id for row in rows() if row.status in ("past", "planned") and requirements().tests_of(row)]
    assert proven == [], "a test proves it: is it done?"


def test_tests_prove_requirements_that_exist():
    known = requirements().by_id()
    wrong = {id: tests for id, tests in requirements().proofs().items() if id not in known}
    assert wrong == {}
    repeats = {id: known[id].status for id in requirements().proofs() if known[id].same_as}
    assert repeats == {}, "name the requirement that it repeats"


def test_what_is_the_same_as_something_is_the_same_as_something_that_stands_for_itself():
    known = requirements().by_id()
    for row in rows():
        if row.same_as:
            assert row.same_as in known, row
            assert not known[row.same_as].same_as, row


def normalised(text: str) -> str:
    """Case, articles, punctuation and a label in front do not make another requirement."""
    words = re.findall(r"[\w./<>{}~-]+", re.sub(r"^(Test|Acceptance|MVP): ", "", text).lower())
    return " ".join(word for word in words if word not in ("a", "an", "the"))


def test_what_is_said_twice_says_so():
    first: dict[str, str] = {}
    for row in rows():
        if not row.same_as:
            earlier = first.setdefault(normalised(row.text), row.id)
            assert earlier == row.id, f"{row.id} says what {earlier} says: `same as {earlier}`"


def test_the_pages_are_current():
    made = generator().pages()
    stale = [path.relative_to(ROOT).as_posix() for path, text in made.items() if path.read_text("utf-8") != text]
    assert stale == [], "run: .venv/bin/python docs/generate_ledger.py"
    kept = {path for path in (ROOT / "docs" / "requirements").glob("*.md") if path not in made}
    assert kept == set(), "these are made no more"


def test_no_page_is_too_large_to_be_read_in_a_browser():
    sizes = {path.name: len(text) for path, text in generator().pages().items()}
    assert {name: size for name, size in sizes.items() if size > LARGEST_PAGE} == {}


def test_every_link_to_a_test_or_a_requirement_leads_somewhere():
    made = generator().pages()
    anchors = {(path.stem, id) for path, text in made.items() for id in re.findall(r'<a id="([^"]+)">', text)}
    for path, text in made.items():
        for page, id in re.findall(r"\]\(([\w-]*)(?:\.md)?#([^)]+)\)", text):
            assert (page or path.stem, id) in anchors, f"{path.name}: {page}#{id}"
        for target in re.findall(r"^\[t\d+\]: (\S+)$", text, re.MULTILINE):
            assert (path.parent / target).is_file(), f"{path.name}: {target}"


def test_every_guarantee_and_most_commands_have_requirements():
    guarantees = indexes().ways_in()["guarantees"]
    assert list(guarantees) == [f"G{number}" for number in range(1, 13)]
    assert [name for name in guarantees if not 1 <= len(indexes().rows_about(name)) <= 60] == []
    named = [name for name in indexes().COMMANDS if indexes().rows_naming(name)]
    assert len(named) * 2 > len(indexes().COMMANDS)


# How it reads, on small examples.

TESTS = """
PROVES = ("R000-a-01",)

@proves("R000-a-02", "R000-a-03")
@pytest.mark.parametrize("x", [1, 2])
def test_one(x): ...

@proves(
    "R000-a-04",
)
async def test_two(): ...

@proves("R000-a-05")
class TestIt:
    @proves("R000-a-06")
    def test_three(self): ...

def test_four(): ...
"""


def test_what_a_file_of_tests_proves_is_read_from_its_text():
    assert [*requirements().proofs_in(ast.parse(TESTS), "tests/x.py")] == [
        ("R000-a-01", "tests/x.py"),
        ("R000-a-02", "tests/x.py::test_one"),
        ("R000-a-03", "tests/x.py::test_one"),
        ("R000-a-04", "tests/x.py::test_two"),
        ("R000-a-05", "tests/x.py::TestIt"),
        ("R000-a-06", "tests/x.py::TestIt::test_three"),
    ]


def test_a_line_of_a_seed_is_a_requirement_under_its_headings():
    text = "# Seed 000: x\n\n## 4.1 Words\n\n| id | requirement | part | status |\n|---|---|---|---|\n"
    (row,) = requirements().rows_in(text + "| R000-4.1-01 | It works | mail | same as R000-1-01 |\n")
    assert (row.seed, row.section, row.chapter, row.page) == ("Seed 000: x", "4.1 Words", 4, "mail")
    assert row.same_as == "R000-1-01"
    with pytest.raises(ValueError, match="a requirement has an id"):
        list(requirements().rows_in("| R000-4.1-01 | It works | mail |\n"))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Test: the `caught_up` is rejected", "`caught_up` is rejected", True),
        ("Acceptance: A store", "the store", True),
        ("It takes `--from-team`", "It takes `--to-team`", False),
    ],
)
def test_a_repetition_is_known_by_its_words(one, other, same):
    assert (normalised(one) == normalised(other)) is same


def test_the_name_of_a_test_is_shown_as_its_sentence():
    assert generator().words_of("tests/x.py::TestIt::test_a_lock_is_released") == "TestIt, a lock is released"
    assert generator().words_of("tests/x.py") == "the whole file"
