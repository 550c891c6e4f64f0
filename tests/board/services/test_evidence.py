"""Evidence before "done": what a task declares is run before it is completed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.proving import proves

from atm.board.rules.acceptance import COMMAND, COMMIT, FILE, TESTS, Ran, check, describe
from atm.board.rules.tasks import Task
from atm.board.services import planning
from atm.board.services import working as board
from atm.board.services.boardroom import working_folder
from atm.board.services.new_tasks import NewTask
from atm.core.errors import AtmError
from atm.core.plain import dicts_in
from atm.core.work_errors import ChecksFailed, NotClaimant
from atm.roster.services.full_boardroom import FullBoardroom
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.testing import MemoryPrograms, MemoryTasks, memory_boardroom, memory_room


@pytest.fixture
def boardroom() -> FullBoardroom:
    room = memory_room()
    create_team(room, "crew", lead="team-lead")
    add_member(room, "crew", Member("ann", cwd="/work/ann"))
    add_member(room, "crew", Member("bob"))
    made = memory_boardroom(room)
    programs(made).at = "/work/ann/src"
    return made


def programs(boardroom: FullBoardroom) -> MemoryPrograms:
    assert isinstance(boardroom.programs, MemoryPrograms)
    return boardroom.programs


def work(boardroom: FullBoardroom, *checks: dict[str, Any], who: str = "ann", **fields: Any) -> Task:
    planning.add(boardroom, "crew", "team-lead", [NewTask("a", acceptance=checks, **fields)])
    task = board.claim(boardroom, "crew", who).task
    assert task is not None
    return task


def test_every_check_runs_in_order_and_is_kept_as_proof(boardroom):
    work(boardroom, check(COMMAND, "make"), check(TESTS, "pytest"), check(FILE, "out/*.whl"), check(COMMIT, "main"))
    programs(boardroom).results = {
        "make": Ran(0, "built", seconds=0.5),
        "pytest": Ran(0, "3 passed"),
        "find out/*.whl": Ran(0, "out/a.whl"),
        "reach HEAD main": Ran(0, "abc"),
    }
    done = board.complete(boardroom, "crew", "ann", "1")
    assert [one for one, _, _ in programs(boardroom).ran] == ["make", "pytest", "find out/*.whl", "reach HEAD main"]
    kept = boardroom.tasks.read("crew", "1").details["evidence"]
    assert kept == done.task.details["evidence"]
    assert [(one["kind"], one["ok"], one["output"]) for one in kept] == [
        ("command", True, "built"),
        ("tests", True, "3 passed"),
        ("file", True, "out/a.whl"),
        ("commit", True, "abc"),
    ]


@proves("R003-7-teammate-07")
@pytest.mark.parametrize(
    ("one", "result", "says"),
    [
        (check(COMMAND, "make"), {"make": Ran(2, "no rule")}, "command make ended with 2:\nno rule"),
        (check(TESTS, "pytest"), {"pytest": Ran(1, "1 failed")}, "tests pytest ended with 1:\n1 failed"),
        (check(COMMAND, "make"), {"make": Ran(None, "no folder")}, "could not be run"),
        (check(COMMAND, "make"), {"make": Ran(None, timed_out=True)}, "did not end within 600 s"),
        (check(FILE, "x.txt"), {}, "nothing is at /work/ann/x.txt"),
        (check(COMMIT, "main"), {}, "HEAD is not part of main"),
    ],
)
def test_a_check_that_fails_keeps_the_task_in_progress_and_says_why(boardroom, one, result, says):
    work(boardroom, check(COMMAND, "first"), one, check(COMMAND, "last"))
    programs(boardroom).results = result
    with pytest.raises(ChecksFailed) as caught:
        board.complete(boardroom, "crew", "ann", "1")
    assert says in str(caught.value)
    assert "/work/ann" in caught.value.remedy
    assert "last" not in [command for command, _, _ in programs(boardroom).ran]
    task = boardroom.tasks.read("crew", "1")
    assert (task.is_claimed, task.failures) == (True, 0)
    assert "evidence" not in task.details
    assert describe(task.part("lastCheck")) == describe(one), "the board says which, for whoever goes on with it"
    assert task.events[-1]["type"] == "checks_failed"


def test_what_was_proven_says_for_which_commit_and_the_failure_before_it_is_forgotten(boardroom):
    work(boardroom, check(COMMAND, "make"))
    programs(boardroom).results = {"make": Ran(2, "no rule"), "commit HEAD": Ran(0, "c1")}
    with pytest.raises(ChecksFailed):
        board.complete(boardroom, "crew", "ann", "1")
    assert boardroom.tasks.read("crew", "1").part("lastCheck")["commit"] == "c1"
    programs(boardroom).results = {"commit HEAD": Ran(0, "c2"), "commit main": Ran(0, "c3")}
    done = board.complete(boardroom, "crew", "ann", "1", commit="main").task  # what they say they made proves nothing
    assert "lastCheck" not in done.details
    assert [one["commit"] for one in dicts_in(done.details["evidence"])] == ["c2"]


def test_a_check_ends_when_its_task_is_taken_away_and_nothing_is_noted_on_the_task(boardroom, monkeypatch):
    work(boardroom, check(COMMAND, "make"))
    programs(boardroom).results = {"make": Ran(2, "no rule")}
    real = programs(boardroom).run

    def run(*words: Any, **facts: Any) -> Any:
        board.assign(boardroom, "crew", "ann", "1", "bob")
        return real(*words, **facts)

    monkeypatch.setattr(programs(boardroom), "run", run)
    with pytest.raises(NotClaimant):
        board.complete(boardroom, "crew", "ann", "1")
    assert "lastCheck" not in boardroom.tasks.read("crew", "1").details


def test_a_task_without_checks_runs_nothing(boardroom):
    work(boardroom)
    board.complete(boardroom, "crew", "ann", "1")
    assert programs(boardroom).ran == []


def test_the_commit_that_is_named_counts(boardroom):
    work(boardroom, check(COMMIT, "main"))
    programs(boardroom).results["reach abc123 main"] = Ran(0)
    board.complete(boardroom, "crew", "ann", "1", commit="abc123")
    task = boardroom.tasks.read("crew", "1")
    assert task.status == "completed"
    assert [(one["kind"], one["branch"], one["ok"]) for one in task.details["evidence"]] == [("commit", "main", True)]


@pytest.mark.parametrize(
    ("folder", "who", "expected"),
    [("/task", "ann", "/task"), ("", "ann", "/work/ann"), ("", "bob", ""), ("", "stranger", "")],
)
def test_checks_run_where_the_task_says_or_where_its_claimant_works(boardroom, folder, who, expected):
    task = work(boardroom, check(COMMAND, "make"), who=who, folder=folder)
    board.complete(boardroom, "crew", who, "1")
    assert programs(boardroom).ran[0][1] == expected
    assert working_folder(boardroom, boardroom.room.rosters.load("crew"), task, who) == expected


def test_somebody_whose_checks_take_long_is_not_taken_for_silent(boardroom):
    work(boardroom, check(COMMAND, "slow"))
    run = programs(boardroom).run
    seen = []

    def slow(command: str, **rest: Any) -> Ran:
        for _ in range(3):
            boardroom.clock.pass_time(400)
            boardroom.presence.up_for += 400
            rest["meanwhile"]()
            seen.append(board.claim(boardroom, "crew", "bob").released)
        return run(command, **rest)

    programs(boardroom).run = slow  # type: ignore[method-assign]
    board.complete(boardroom, "crew", "ann", "1")
    assert seen == [[], [], []]


@pytest.mark.parametrize(
    "strange",
    [
        {"kind": "oracle", "question": "is it good?"},
        {"kind": "command"},
        {"kind": "command", "command": 5},
        {"kind": "tests", "command": "  "},
        {"kind": "file", "path": ""},
        {"command": "make"},
        {},
    ],
)
def test_a_check_that_we_do_not_understand_proves_nothing(boardroom, strange):
    work(boardroom, check(COMMAND, "make"))
    tasks = boardroom.tasks
    assert isinstance(tasks, MemoryTasks)
    from atm.board.formats.task import apply
    from atm.board.rules.tasks import Change
    from atm.files.formats.json_record import to_bytes, to_text

    data = apply(to_text(tasks.files["crew"][1]), Change(own={"acceptance": [strange]}))
    tasks.write_as_others_do("crew", 1, to_bytes(data))
    programs(boardroom).results["find "] = Ran(0, "the folder itself")
    with pytest.raises(AtmError):
        board.complete(boardroom, "crew", "ann", "1")
    assert boardroom.tasks.read("crew", "1").status == "in_progress"
