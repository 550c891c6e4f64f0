"""What counts as proof, and how a failure is told."""

from __future__ import annotations

import pytest

from atm.board.rules.acceptance import (
    COMMAND,
    COMMIT,
    FILE,
    OUTPUT_KEPT,
    TESTS,
    Ran,
    about,
    check,
    describe,
    evidence,
    kind_of,
    said_by,
    why_not,
)
from atm.core.work_errors import BadTask


@pytest.mark.parametrize(
    ("kind", "key", "words"),
    [
        (COMMAND, "command", "command make"),
        (TESTS, "command", "tests make"),
        (FILE, "path", "file exists: make"),
        (COMMIT, "branch", "commit is in make"),
    ],
)
def test_a_check_says_what_it_is_about(kind, key, words):
    made = check(kind, "make")
    assert made == {"kind": kind, key: "make"}
    assert (kind_of(made), about(made), describe(made)) == (kind, "make", words)


@pytest.mark.parametrize(("kind", "what"), [("oracle", "x"), ("", "x"), (COMMAND, ""), (FILE, "  "), (COMMIT, "\n")])
def test_a_check_of_nothing_or_of_an_unknown_kind_is_refused(kind, what):
    with pytest.raises(BadTask):
        check(kind, what)


@pytest.mark.parametrize(
    "foreign", [{}, {"kind": 5}, {"kind": "command"}, {"kind": "command", "command": 5}, {"kind": "x", "y": "z"}]
)
def test_a_check_that_somebody_else_wrote_badly_is_about_nothing(foreign):
    assert about(foreign) == ""


def test_evidence_keeps_what_ran_how_it_ended_and_what_it_said():
    made = evidence(check(TESTS, "pytest"), Ran(0, "3 passed\n", errors="warned", seconds=1.23456))
    assert made == {
        "kind": "tests",
        "command": "pytest",
        "ok": True,
        "code": 0,
        "seconds": 1.235,
        "output": "3 passed\nwarned",
    }


@pytest.mark.parametrize("ran", [Ran(1), Ran(None), Ran(None, timed_out=True), Ran(-9), Ran(2)])
def test_only_zero_is_proof(ran):
    made = evidence(check(COMMAND, "x"), ran)
    assert made["ok"] is False
    assert made.get("timedOut", False) is ran.timed_out


def test_only_the_end_of_what_was_said_is_kept():
    assert said_by(Ran(1, "a" * 5000, errors="b" * 10)) == "a" * (OUTPUT_KEPT - 10) + "b" * 10


@pytest.mark.parametrize(
    ("made", "ran", "expected"),
    [
        (check(COMMAND, "make"), Ran(2, "boom\n"), "command make ended with 2:\nboom"),
        (check(TESTS, "pytest"), Ran(1), "tests pytest ended with 1"),
        (check(COMMAND, "x"), Ran(None, "no such folder"), "command x could not be run:\nno such folder"),
        (check(COMMAND, "x"), Ran(None, timed_out=True), "command x did not end within 1.5 s"),
        (check(FILE, "a.txt"), Ran(1, "nothing is at a.txt"), "file exists: a.txt is not so:\nnothing is at a.txt"),
        (check(COMMIT, "main"), Ran(1), "commit is in main is not so"),
    ],
)
def test_the_claimant_is_told_which_check_failed_and_what_it_said(made, ran, expected):
    assert why_not(made, ran, 1.5) == expected
