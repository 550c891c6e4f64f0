"""The board's verbs over twins: claim, start, complete, fail, release, assign, cancel, comment."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chaos import LONG, examples
from tests.proving import proves

from atm.board.rules import claims
from atm.board.rules.acceptance import Ran
from atm.board.rules.tasks import MOST_COMMENTS, Task
from atm.board.services import leaving, planning, reviews
from atm.board.services import working as board
from atm.board.services.boardroom import list_name
from atm.board.services.new_tasks import NewTask
from atm.core.errors import AtmError, NotAllowed, TeamCompleted
from atm.core.work_errors import (
    BadTask,
    ChecksFailed,
    NoSuchTask,
    NotClaimant,
    TaskClosed,
)
from atm.roster.services.full_boardroom import FullBoardroom
from atm.roster.services.members import add_member, create_team, remove_member
from atm.team.rules.team import Member, is_boss
from atm.team.services.presence import beat
from atm.testing import Crash, MemoryTasks, memory_boardroom, memory_room
from atm.testing.board import MemoryTurn

LEAD, HUMAN = "team-lead", "human"


def make_desk(**fields: Any) -> FullBoardroom:
    """A board in memory for a crew of ann, bob, cleo, the human hugo and their lead."""
    room = memory_room()
    create_team(room, "crew", lead=LEAD)
    for member in (Member("ann"), Member("bob"), Member("cleo"), Member("hugo", backend="human")):
        add_member(room, "crew", member)
    return memory_boardroom(room, **fields)


@pytest.fixture
def boardroom() -> FullBoardroom:
    return make_desk()


def add(boardroom: FullBoardroom, *subjects: str, **fields: Any) -> list[str]:
    return [
        task.id
        for task in planning.add(boardroom, "crew", LEAD, [NewTask(subject, **fields) for subject in subjects]).tasks
    ]


def claim(boardroom: FullBoardroom, who: str, id: str | None = None) -> str | None:
    done = board.claim(boardroom, "crew", who, id)
    return done.task.id if done.task else None


def why(boardroom: FullBoardroom, who: str, id: str | None = None) -> str:
    done = board.claim(boardroom, "crew", who, id)
    assert done.task is None
    assert done.refusal is not None, "neither a task nor a reason"
    return done.refusal.code


def state(boardroom: FullBoardroom, id: str) -> str:
    now = boardroom.tasks.board("crew")
    return now.state(now.card(id))


def read(boardroom: FullBoardroom, id: str) -> Task:
    return boardroom.tasks.read("crew", id)


def history(boardroom: FullBoardroom, id: str) -> list[str]:
    return [past.word("to") or past.word("type") for past in boardroom.tasks.past("crew")[0] if past.task == id]


def twin(boardroom: FullBoardroom) -> MemoryTasks:
    assert isinstance(boardroom.tasks, MemoryTasks)
    return boardroom.tasks


def foreign(boardroom: FullBoardroom, number: int, **record: Any) -> None:
    """What Claude Code writes."""
    twin(boardroom).write_as_others_do(
        "crew", number, json.dumps({"id": str(number), "subject": "theirs", **record}).encode()
    )


def pass_time(boardroom: FullBoardroom, seconds: float) -> None:
    boardroom.clock.pass_time(seconds)  # type: ignore[attr-defined]
    boardroom.presence.up_for += seconds  # type: ignore[attr-defined]


class TestClaim:
    @proves("R004-task-system-T4b")
    def test_the_most_urgent_free_task_comes_first_and_then_the_lowest_id(self, boardroom):
        add(boardroom, "low", priority="low")
        add(boardroom, "a", "b")
        add(boardroom, "critical", priority="critical")
        assert [claim(boardroom, who) for who in ("ann", "bob", "cleo", "dan")] == ["4", "2", "3", "1"]
        assert why(boardroom, "eve") == "all-claimed"

    @proves("R004-agent-lifecycle-L9", "R004-orchestration-O3")
    def test_ones_own_task_is_gone_on_with_before_anything_else(self, boardroom):
        add(boardroom, "a", "b")
        first = board.claim(boardroom, "crew", "ann")
        add(boardroom, "urgent", priority="critical")
        again = board.claim(boardroom, "crew", "ann")
        assert again.is_resumed
        assert again.task is not None
        assert first.task is not None
        assert (again.task.id, again.task.claim_id) == (first.task.id, first.task.claim_id)
        assert history(boardroom, "1") == ["task_created", "in_progress"]

    def test_a_particular_task_can_be_asked_for(self, boardroom):
        add(boardroom, "a", "b")
        assert claim(boardroom, "ann", "#2") == "2"
        assert claim(boardroom, "ann", "2") == "2"
        assert claim(boardroom, "ann") == "2"
        assert why(boardroom, "bob", "2") == "claimed"

    @pytest.mark.parametrize(("id", "error"), [("99", NoSuchTask), ("x", BadTask), ("-1", BadTask)])
    def test_a_task_that_is_not_there_is_an_error_and_no_refusal(self, boardroom, id, error):
        with pytest.raises(error):
            board.claim(boardroom, "crew", "ann", id)

    @proves("R004-summary-02", "R004-task-system-T2")
    def test_a_task_is_not_had_while_something_it_needs_is_open(self, boardroom):
        add(boardroom, "a")
        add(boardroom, "b", depends_on=["1"])
        assert why(boardroom, "ann", "2") == "blocked"
        claim(boardroom, "bob")
        assert why(boardroom, "ann") == "all-claimed"
        assert board.complete(boardroom, "crew", "bob", "1").unblocked == ["2"]
        assert claim(boardroom, "ann") == "2"

    def test_a_task_that_was_given_to_another_is_refused(self, boardroom):
        add(boardroom, "a", owner="bob")
        assert (why(boardroom, "ann", "1"), why(boardroom, "ann")) == ("assigned", "all-blocked")
        assert claim(boardroom, "BOB") == "1"

    def test_somebody_who_waits_for_an_answer_may_take_another_task(self, boardroom):
        add(boardroom, "a", "b", "c")
        claim(boardroom, "ann")
        reviews.request_review(boardroom, "crew", "ann", "1", "bob")
        assert claim(boardroom, "ann") == "2"
        reviews.ask(boardroom, "crew", "ann", "2", "lead", "how?")
        assert claim(boardroom, "ann") == "3"
        reviews.answer(boardroom, "crew", LEAD, "2", "so")
        assert claim(boardroom, "ann") == "2"

    def test_an_empty_board_and_a_finished_one_say_so(self, boardroom):
        assert why(boardroom, "ann") == "empty"
        add(boardroom, "a")
        claim(boardroom, "ann")
        board.complete(boardroom, "crew", "ann", "1")
        assert why(boardroom, "ann") == "all-finished"

    @proves("R004-merge-and-conflicts-G1b")
    def test_files_that_overlap_with_work_in_progress_are_named(self, boardroom):
        add(boardroom, "a", files=["src/*.py"])
        add(boardroom, "b", files=["src/x.py", "doc/y"])
        add(boardroom, "c", files=["test/*"])
        claim(boardroom, "ann")
        assert board.claim(boardroom, "crew", "bob").overlaps == {"1": ["src/*.py"]}
        assert board.claim(boardroom, "crew", "cleo").overlaps == {}

    @proves("R004-files-12")
    def test_somebody_who_must_plan_gets_a_task_that_needs_a_plan(self, boardroom):
        boardroom.room.rosters.change(
            "crew", lambda data: data.replace(b'"name": "ann"', b'"name": "ann", "planModeRequired": true')
        )
        add(boardroom, "a", "b")
        claim(boardroom, "ann")
        claim(boardroom, "bob")
        assert (read(boardroom, "1").plan, read(boardroom, "2").plan) == ("required", "")

    def test_what_claude_code_is_at_work_on_is_not_had_and_what_it_freed_is(self, boardroom):
        foreign(boardroom, 1, status="in_progress", owner="fixer")
        foreign(boardroom, 2, status="pending", blockedBy=["1"])
        foreign(boardroom, 3, status="pending", metadata={"_internal": True})
        assert why(boardroom, "ann") == "all-claimed"
        foreign(boardroom, 1, status="completed", owner="fixer")
        assert claim(boardroom, "ann") == "2"

    @pytest.mark.parametrize("record", [{"status": "in_progress"}, {"status": "deleted"}])
    def test_a_task_that_nobody_can_take_is_refused_with_a_reason_that_is_true(self, boardroom, record):
        foreign(boardroom, 1, **record)
        assert why(boardroom, "ann", "1") != "blocked"

    def test_a_completed_team_takes_no_claims(self, boardroom):
        add(boardroom, "a")
        boardroom.room.rosters.marks["crew"] = b""
        with pytest.raises(TeamCompleted):
            board.claim(boardroom, "crew", "ann")
        assert boardroom.tasks.board("crew").cards

    def test_a_file_that_cannot_be_read_keeps_nobody_from_other_tasks(self, boardroom):
        add(boardroom, "a", "b")
        twin(boardroom).write_as_others_do("crew", 1, b"not json")
        assert why(boardroom, "ann", "1") == "unreadable"
        assert claim(boardroom, "ann") == "2"

    def test_a_task_with_metadata_that_has_no_place_for_ours_keeps_nobody_from_other_tasks(self, boardroom):
        foreign(boardroom, 1, status="pending", metadata=[])
        foreign(boardroom, 2, status="pending")
        assert claim(boardroom, "ann") == "2"

    def test_a_task_that_another_program_takes_at_the_last_moment_is_passed_over(self):
        boardroom = make_desk()
        add(boardroom, "a", "b")

        class LateTurn(MemoryTurn):
            def __enter__(self) -> MemoryTurn:
                super().__enter__()
                foreign(boardroom, 1, status="in_progress", owner="fixer")
                return self

        twin(boardroom).turn = lambda team: LateTurn(twin(boardroom), team)  # type: ignore[method-assign]
        assert claim(boardroom, "ann") == "2"

    @pytest.mark.parametrize(
        "theirs",
        [{"status": "in_progress"}, {"status": "pending", "owner": "fixer"}],
        ids=["begun without a name", "given to somebody"],
    )
    def test_a_task_that_another_program_begins_or_gives_away_at_the_last_moment_is_passed_over(self, theirs):
        boardroom = make_desk()
        add(boardroom, "a", "b")

        class LateTurn(MemoryTurn):
            def __enter__(self) -> MemoryTurn:
                super().__enter__()
                foreign(boardroom, 1, **theirs)
                return self

        twin(boardroom).turn = lambda team: LateTurn(twin(boardroom), team)  # type: ignore[method-assign]
        assert claim(boardroom, "ann") == "2"
        assert read(boardroom, "1").owner == theirs.get("owner", "")


class TestStart:
    def test_a_task_is_claimed_if_need_be(self, boardroom):
        add(boardroom, "a")
        assert board.start(boardroom, "crew", "ann", "1").task is not None
        assert state(boardroom, "1") == "in_progress"

    @proves("R004-gap-p2-01")
    def test_work_does_not_begin_before_the_plan_is_approved(self, boardroom):
        add(boardroom, "a", needs_plan=True)
        with pytest.raises(AtmError, match="needs a plan"):
            board.start(boardroom, "crew", "ann", "1")
        assert state(boardroom, "1") == "planning"

    def test_somebody_elses_task_is_refused(self, boardroom):
        add(boardroom, "a")
        claim(boardroom, "bob")
        done = board.start(boardroom, "crew", "ann", "1")
        assert done.task is None
        assert done.refusal is not None


class TestComplete:
    @proves("R004-task-system-T6")
    def test_a_completion_says_what_it_unblocked(self, boardroom):
        add(boardroom, "a", "b")
        add(boardroom, "c", depends_on=["1"])
        add(boardroom, "d", depends_on=["1", "2"])
        claim(boardroom, "ann")
        done = board.complete(boardroom, "crew", "ann", "1", result="it works")
        assert (done.unblocked, done.was_done, done.task.text("result")) == (["3"], False, "it works")
        assert (done.task.owner, done.task.text("finishedBy"), done.task.claim_id) == ("ann", "ann", "")

    def test_completing_twice_is_completing_once(self, boardroom):
        add(boardroom, "a")
        add(boardroom, "b", depends_on=["1"])
        claim(boardroom, "ann")
        board.complete(boardroom, "crew", "ann", "1")
        again = board.complete(boardroom, "crew", "ANN", "1", result="other")
        assert (again.was_done, again.unblocked, again.task.text("result")) == (True, ["2"], "")
        assert history(boardroom, "1") == ["task_created", "in_progress", "completed"]

    @pytest.mark.parametrize("who", ["bob", LEAD, HUMAN])
    def test_only_the_claimant_completes_also_if_another_is_the_lead(self, boardroom, who):
        add(boardroom, "a")
        claim(boardroom, "ann")
        with pytest.raises(NotClaimant):
            board.complete(boardroom, "crew", who, "1")
        board.complete(boardroom, "crew", "ann", "1")
        with pytest.raises(TaskClosed):
            board.complete(boardroom, "crew", who, "1")

    def test_a_task_that_nobody_claimed_is_not_completed(self, boardroom):
        add(boardroom, "a", owner="ann")
        with pytest.raises(NotClaimant):
            board.complete(boardroom, "crew", "ann", "1")

    def test_a_claim_that_is_not_in_force_any_more_completes_nothing(self, boardroom):
        add(boardroom, "a")
        old = board.claim(boardroom, "crew", "ann").task
        assert old is not None
        board.release(boardroom, "crew", LEAD, "1")
        new = board.claim(boardroom, "crew", "ann").task
        assert new is not None
        for verb in (
            lambda id: board.complete(boardroom, "crew", "ann", "1", claim_id=id),
            lambda id: board.fail(boardroom, "crew", "ann", "1", "x", claim_id=id),
            lambda id: board.release(boardroom, "crew", "ann", "1", claim_id=id),
        ):
            with pytest.raises(NotClaimant, match="not in force"):
                verb(old.claim_id)
        board.complete(boardroom, "crew", "ann", "1", claim_id=new.claim_id)

    def test_somebody_whose_claim_was_released_completes_nothing(self, boardroom):
        add(boardroom, "a")
        claim(boardroom, "ann")
        board.release(boardroom, "crew", LEAD, "1")
        with pytest.raises(NotClaimant):
            board.complete(boardroom, "crew", "ann", "1")
        claim(boardroom, "bob")
        with pytest.raises(NotClaimant, match="bob works on"):
            board.complete(boardroom, "crew", "ann", "1")

    def test_a_task_that_is_lost_while_its_checks_run_is_not_completed(self, boardroom):
        add(boardroom, "a", acceptance=[{"kind": "command", "command": "slow"}])
        claim(boardroom, "ann")
        programs = boardroom.programs
        run = programs.run

        def meanwhile_it_is_reassigned(command: str, **rest: Any):
            board.assign(boardroom, "crew", LEAD, "1", "ann")
            board.release(boardroom, "crew", LEAD, "1")
            claim(boardroom, "ann", "1")
            return run(command, **rest)

        programs.run = meanwhile_it_is_reassigned
        with pytest.raises(NotClaimant, match="not in force"):
            board.complete(boardroom, "crew", "ann", "1")
        assert state(boardroom, "1") == "in_progress"

    @proves("R004-current-state-11")
    def test_a_plan_that_nobody_approved_lets_nothing_be_completed(self, boardroom):
        add(boardroom, "a", needs_plan=True)
        claim(boardroom, "ann")
        for step in (lambda: None, lambda: reviews.submit_plan(boardroom, "crew", "ann", "1", "so")):
            step()
            with pytest.raises(AtmError, match="plan"):
                board.complete(boardroom, "crew", "ann", "1")
        reviews.approve_plan(boardroom, "crew", LEAD, "1")
        board.complete(boardroom, "crew", "ann", "1")

    def test_a_task_that_must_be_reviewed_is_not_completed_before(self, boardroom):
        add(boardroom, "a", reviewer="bob")
        claim(boardroom, "ann")
        with pytest.raises(AtmError, match="must be reviewed"):
            board.complete(boardroom, "crew", "ann", "1")
        reviews.request_review(boardroom, "crew", "ann", "1")
        with pytest.raises(AtmError, match="in review"):
            board.complete(boardroom, "crew", "ann", "1")
        reviews.request_changes(boardroom, "crew", "bob", "1", "not so")
        with pytest.raises(AtmError, match="changes were asked for"):
            board.complete(boardroom, "crew", "ann", "1")
        reviews.request_review(boardroom, "crew", "ann", "1")
        reviews.approve(boardroom, "crew", "bob", "1")
        board.complete(boardroom, "crew", "ann", "1")

    def test_what_claude_code_completed_is_not_completed_again(self, boardroom):
        foreign(boardroom, 1, status="completed", owner="ann")
        with pytest.raises(TaskClosed):
            board.complete(boardroom, "crew", "ann", "1")

    def test_a_result_that_is_too_long_is_refused(self, boardroom):
        add(boardroom, "a")
        claim(boardroom, "ann")
        with pytest.raises(BadTask):
            board.complete(boardroom, "crew", "ann", "1", result="x" * 100_001)
        assert state(boardroom, "1") == "in_progress"

    @pytest.mark.parametrize(("who", "may"), [("ann", False), (LEAD, True), ("hugo", True), (HUMAN, True)])
    def test_only_the_lead_and_humans_complete_without_the_checks(self, boardroom, who, may):
        add(boardroom, "a", acceptance=[{"kind": "file", "path": "nowhere"}])
        claim(boardroom, who)
        if not may:
            with pytest.raises(NotAllowed):
                board.complete(boardroom, "crew", who, "1", verify=False)
            return
        done = board.complete(boardroom, "crew", who, "1", verify=False)
        assert done.task.part("unverified")["by"] == who
        assert boardroom.programs.ran == []

    def test_without_checks_there_is_nothing_to_skip_and_nothing_is_noted(self, boardroom):
        add(boardroom, "a")
        claim(boardroom, LEAD)
        assert board.complete(boardroom, "crew", LEAD, "1", verify=False).task.part("unverified") == {}

    def test_all_dependants_are_freed_by_one_completion(self, boardroom):
        add(boardroom, "a")
        count = 1000 if LONG else 100
        wishes = [NewTask(f"b{number}", depends_on=["#1"]) for number in range(count)]
        planning.add(boardroom, "crew", LEAD, wishes)
        claim(boardroom, "ann")
        assert len(board.complete(boardroom, "crew", "ann", "1").unblocked) == count


class TestFail:
    @proves("R004-task-system-T8", "R004-task-system-T8b", "R004-defects-04", "R004-defects-08")
    def test_two_retries_are_three_attempts_and_then_what_waits_is_unreachable(self, boardroom):
        add(boardroom, "a")
        add(boardroom, "b", depends_on=["1"])
        add(boardroom, "c", depends_on=["2"])
        for attempt in (1, 2, 3):
            assert claim(boardroom, "ann") == "1"
            failed = board.fail(boardroom, "crew", "ann", "1", f"boom {attempt}")
            assert failed.failures == attempt
        assert [state(boardroom, id) for id in "123"] == ["failed", "unreachable", "unreachable"]
        assert why(boardroom, "ann") == "all-finished"
        assert boardroom.tasks.board("crew").is_resolved
        assert history(boardroom, "1") == ["task_created"] + ["in_progress", "pending"] * 2 + ["in_progress", "failed"]

    @proves("R004-task-system-T8")
    @pytest.mark.parametrize(("retries", "attempts"), [(0, 1), (4, 5)])
    def test_a_task_may_say_how_often(self, boardroom, retries, attempts):
        add(boardroom, "a", max_retries=retries)
        for _ in range(attempts):
            assert claim(boardroom, "ann") == "1"
            board.fail(boardroom, "crew", "ann", "1", "x")
        assert state(boardroom, "1") == "failed"

    def test_a_failure_can_be_final(self, boardroom):
        add(boardroom, "a")
        claim(boardroom, "ann")
        assert board.fail(boardroom, "crew", "ann", "1", "never", final=True).outcome == "failed"

    @pytest.mark.parametrize("who", ["bob", LEAD])
    def test_only_the_claimant_fails(self, boardroom, who):
        add(boardroom, "a")
        claim(boardroom, "ann")
        with pytest.raises(NotClaimant):
            board.fail(boardroom, "crew", who, "1", "x")

    def test_what_has_failed_is_not_failed_again(self, boardroom):
        add(boardroom, "a", max_retries=0)
        claim(boardroom, "ann")
        board.fail(boardroom, "crew", "ann", "1", "x")
        with pytest.raises(TaskClosed):
            board.fail(boardroom, "crew", "ann", "1", "x")

    def test_on_disk_a_failed_task_is_one_of_claude_codes_three(self, boardroom):
        add(boardroom, "a", max_retries=0)
        claim(boardroom, "ann")
        board.fail(boardroom, "crew", "ann", "1", "x")
        record = json.loads(twin(boardroom).files["crew"][1])
        assert (record["status"], record["owner"]) == ("in_progress", "")


class TestRelease:
    def test_a_task_is_given_back_without_blame(self, boardroom):
        add(boardroom, "a")
        claim(boardroom, "ann")
        assert board.release(boardroom, "crew", "ann", "1", reason="lunch").failures == 0
        assert claim(boardroom, "bob") == "1"

    @pytest.mark.parametrize(
        ("who", "may"), [("bob", False), (LEAD, True), ("hugo", True), (HUMAN, True), ("stranger", False)]
    )
    def test_only_the_lead_and_humans_take_back_from_others(self, boardroom, who, may):
        add(boardroom, "a")
        claim(boardroom, "ann")
        if may:
            assert board.release(boardroom, "crew", who, "1").status == "pending"
        else:
            with pytest.raises(NotClaimant):
                board.release(boardroom, "crew", who, "1")

    def test_what_is_not_claimed_is_not_released(self, boardroom):
        add(boardroom, "a")
        with pytest.raises(NotClaimant):
            board.release(boardroom, "crew", LEAD, "1")

    def test_what_is_finished_is_not_released_but_reopened(self, boardroom):
        add(boardroom, "a")
        claim(boardroom, "ann")
        board.complete(boardroom, "crew", "ann", "1")
        with pytest.raises(TaskClosed):
            board.release(boardroom, "crew", LEAD, "1")
        assert board.reopen(boardroom, "crew", LEAD, "1", "not good")[0].status == "pending"
        assert claim(boardroom, "bob") == "1"

    def test_agents_do_not_reopen(self, boardroom):
        add(boardroom, "a")
        claim(boardroom, "ann")
        board.complete(boardroom, "crew", "ann", "1")
        with pytest.raises(NotAllowed):
            board.reopen(boardroom, "crew", "ann", "1", "x")

    def test_what_is_open_is_not_reopened_and_nothing_happens(self, boardroom):
        add(boardroom, "a")
        with pytest.raises(TaskClosed, match="not finished"):
            board.reopen(boardroom, "crew", LEAD, "1", "x")
        assert history(boardroom, "1") == ["task_created"]

    def test_a_failed_task_that_is_reopened_brings_back_what_waits_for_it(self, boardroom):
        add(boardroom, "a", max_retries=0)
        add(boardroom, "b", depends_on=["1"])
        claim(boardroom, "ann")
        board.fail(boardroom, "crew", "ann", "1", "x")
        assert state(boardroom, "2") == "unreachable"
        board.reopen(boardroom, "crew", LEAD, "1", "once more")
        assert [state(boardroom, id) for id in "12"] == ["pending", "blocked"]

    def test_everything_of_somebody_who_leaves_is_free_again(self, boardroom):
        add(boardroom, "a", "b")
        add(boardroom, "c", owner="ann")
        claim(boardroom, "ann", "1")
        claim(boardroom, "bob", "2")
        assert leaving.release_all(boardroom, "crew", LEAD, "ANN") == ["1", "3"]
        assert [read(boardroom, id).owner for id in "123"] == ["", "bob", ""]

    @pytest.mark.parametrize("verb", ["release", "fail", "assign", "reopen"])
    def test_a_new_claimant_does_not_inherit_an_approval_of_somebody_elses_work(self, boardroom, verb):
        add(boardroom, "a", reviewer="bob")
        claim(boardroom, "ann")
        reviews.request_review(boardroom, "crew", "ann", "1")
        reviews.approve(boardroom, "crew", "bob", "1")
        if verb == "release":
            board.release(boardroom, "crew", "ann", "1")
        elif verb == "fail":
            board.fail(boardroom, "crew", "ann", "1", "after all")
        elif verb == "assign":
            board.assign(boardroom, "crew", LEAD, "1", "cleo")
        else:
            board.complete(boardroom, "crew", "ann", "1")
            board.reopen(boardroom, "crew", LEAD, "1", "it is wrong")
        assert claim(boardroom, "cleo") == "1"
        with pytest.raises(AtmError, match="review"):
            board.complete(boardroom, "crew", "cleo", "1")

    @pytest.mark.parametrize("verb", ["release", "assign", "fail"])
    def test_a_task_that_was_in_review_is_in_progress_for_its_new_claimant(self, boardroom, verb):
        add(boardroom, "a")
        claim(boardroom, "ann")
        reviews.request_review(boardroom, "crew", "ann", "1", "bob")
        if verb == "release":
            board.release(boardroom, "crew", LEAD, "1")
        elif verb == "assign":
            board.assign(boardroom, "crew", LEAD, "1", "cleo")
        else:
            board.fail(boardroom, "crew", "ann", "1", "x")
        assert claim(boardroom, "cleo") == "1"
        assert state(boardroom, "1") == "in_progress"


class TestSilence:
    @proves("R003-8-03", "R004-task-system-T9")
    def test_ten_minutes_are_no_silence_and_one_second_more_is(self, boardroom):
        add(boardroom, "a")
        claim(boardroom, "ann")
        pass_time(boardroom, 600)
        assert board.claim(boardroom, "crew", "bob").released == []
        pass_time(boardroom, 1)
        done = board.claim(boardroom, "crew", "bob")
        assert done.released == ["1"]
        assert done.task is not None
        assert (done.task.id, done.task.owner, done.task.failures) == ("1", "bob", 1)

    @proves("R004-defects-05b")
    def test_somebody_who_went_silent_and_comes_back_cannot_finish_what_is_somebody_elses_now(self, boardroom):
        add(boardroom, "a")
        old = board.claim(boardroom, "crew", "ann").task
        assert old is not None
        pass_time(boardroom, 601)
        assert claim(boardroom, "bob") == "1"
        with pytest.raises(NotClaimant):
            board.complete(boardroom, "crew", "ann", "1", claim_id=old.claim_id)
        assert why(boardroom, "ann") == "all-claimed"

    @proves("R004-task-system-T9", "R004-defects-05")
    def test_somebody_who_beats_keeps_their_task_however_long_it_takes(self, boardroom):
        add(boardroom, "a")
        claim(boardroom, "ann")
        for _ in range(20):
            pass_time(boardroom, 599)
            beat(boardroom.presence, "crew", "ann", boardroom.clock.now(), "test")
            assert board.claim(boardroom, "crew", "bob").released == []

    @proves("R004-agent-lifecycle-L9")
    def test_a_process_that_is_gone_is_silent_at_once(self, boardroom):
        add(boardroom, "a")
        claim(boardroom, "ann")
        boardroom.presence.running.add(77)
        beat(boardroom.presence, "crew", "ann", boardroom.clock.now(), "test", pid=77)
        assert board.claim(boardroom, "crew", "bob").released == []
        boardroom.presence.running.clear()
        assert board.claim(boardroom, "crew", "bob").released == ["1"]

    @proves("R004-defects-05")
    @pytest.mark.parametrize("jump", [3600, 86_400 * 365, -3600, -86_400 * 365])
    def test_a_wall_clock_that_jumps_takes_nobodys_work_away(self, boardroom, jump):
        add(boardroom, "a")
        claim(boardroom, "ann")
        boardroom.clock.jump(jump)
        assert board.claim(boardroom, "crew", "bob").released == []
        pass_time(boardroom, 601)
        assert board.claim(boardroom, "crew", "bob").released == ["1"]

    def test_somebody_whom_nobody_ever_heard_of_is_unknown_and_keeps_their_task(self, boardroom):
        add(boardroom, "a")
        claim(boardroom, "ann")
        boardroom.presence.forget("crew", "ann")
        pass_time(boardroom, 10**6)
        assert board.claim(boardroom, "crew", "bob").released == []

    def test_claims_of_claude_code_are_its_own_business(self, boardroom):
        foreign(boardroom, 1, status="in_progress", owner="ann")
        beat(boardroom.presence, "crew", "ann", boardroom.clock.now(), "test")
        pass_time(boardroom, 10**6)
        assert leaving.release_silent(boardroom, "crew") == []

    @pytest.mark.parametrize("wait", ["review", "question", "plan"])
    def test_somebody_who_waits_for_an_answer_is_not_silent_by_waiting(self, boardroom, wait):
        add(boardroom, "a", needs_plan=wait == "plan")
        claim(boardroom, "ann")
        if wait == "review":
            reviews.request_review(boardroom, "crew", "ann", "1", "bob")
        elif wait == "question":
            reviews.ask(boardroom, "crew", "ann", "1", "user", "which?")
        else:
            reviews.submit_plan(boardroom, "crew", "ann", "1", "so")
        pass_time(boardroom, 10**5)
        assert leaving.release_silent(boardroom, "crew") == []

    def test_silence_uses_up_attempts_so_that_a_run_ends(self, boardroom):
        add(boardroom, "a")
        for who in ("ann", "bob", "cleo"):
            assert claim(boardroom, who) == "1"
            pass_time(boardroom, 601)
            assert leaving.release_silent(boardroom, "crew") == ["1"]
        assert state(boardroom, "1") == "failed"
        assert history(boardroom, "1")[-1] == "failed"

    def test_ones_own_task_is_not_released_by_asking_for_it(self, boardroom):
        add(boardroom, "a")
        claim(boardroom, "ann")
        pass_time(boardroom, 10**5)
        assert claim(boardroom, "ann") == "1"
        assert read(boardroom, "1").failures == 0

    @pytest.mark.parametrize("who", ["hugo", HUMAN])
    def test_humans_leave_no_heartbeats_and_are_not_expected_to(self, boardroom, who):
        add(boardroom, "a")
        claim(boardroom, who)
        pass_time(boardroom, 3600)
        assert leaving.release_silent(boardroom, "crew") == []


class TestAssign:
    @proves("R003-4.2-07", "R004-orchestration-O3b", "R004-defects-11")
    def test_the_old_claim_ends_before_the_new_one_begins(self, boardroom):
        add(boardroom, "a")
        claim(boardroom, "ann")
        task, warnings = board.assign(boardroom, "crew", LEAD, "1", "bob")
        assert (task.status, task.owner, task.claim_id, warnings) == ("pending", "bob", "", [])
        with pytest.raises(NotClaimant):
            board.complete(boardroom, "crew", "ann", "1")
        assert why(boardroom, "ann", "1") == "assigned"
        assert claim(boardroom, "bob") == "1"

    def test_the_new_owner_is_told_as_claude_code_tells_them(self, boardroom):
        add(boardroom, "a", description="in detail")
        board.assign(boardroom, "crew", LEAD, "1", "bob")
        said = json.loads(boardroom.room.inboxes.rows("crew", "bob")[0].text)
        assert (said["type"], said["taskId"], said["subject"], said["assignedBy"]) == (
            "task_assignment",
            "1",
            "a",
            LEAD,
        )

    def test_assigning_to_the_one_who_has_it_changes_nothing_and_tells_nobody(self, boardroom):
        add(boardroom, "a")
        board.assign(boardroom, "crew", LEAD, "1", "bob")
        board.assign(boardroom, "crew", LEAD, "1", "BOB")
        claim(boardroom, "bob")
        board.assign(boardroom, "crew", LEAD, "1", "bob")
        assert read(boardroom, "1").is_claimed
        assert len(boardroom.room.inboxes.rows("crew", "bob")) == 1

    def test_a_letter_that_cannot_be_sent_is_a_warning(self, boardroom):
        add(boardroom, "a")
        boardroom.room.inboxes.refuse = BadTask("disk full")
        _, warnings = board.assign(boardroom, "crew", LEAD, "1", "bob")
        assert read(boardroom, "1").owner == "bob"
        assert warnings == ["bob could not be told: disk full"]

    @pytest.mark.parametrize(
        ("who", "may"), [("ann", True), ("bob", False), (LEAD, True), (HUMAN, True), ("cleo", True)]
    )
    def test_work_is_taken_away_by_its_claimant_its_maker_the_lead_or_a_human(self, boardroom, who, may):
        planning.add(boardroom, "crew", "cleo", [NewTask("a")])
        claim(boardroom, "ann")
        if may:
            assert board.assign(boardroom, "crew", who, "1", "bob")[0].owner == "bob"
        else:
            with pytest.raises(NotAllowed):
                board.assign(boardroom, "crew", who, "1", "bob")

    def test_what_is_finished_is_not_assigned(self, boardroom):
        add(boardroom, "a")
        claim(boardroom, "ann")
        board.complete(boardroom, "crew", "ann", "1")
        with pytest.raises(TaskClosed):
            board.assign(boardroom, "crew", LEAD, "1", "bob")


class TestCancel:
    @proves("R004-orchestration-O3d")
    def test_what_waits_for_it_can_never_be_done_and_is_named(self, boardroom):
        add(boardroom, "a")
        add(boardroom, "b", depends_on=["1"])
        add(boardroom, "c", depends_on=["2"])
        claim(boardroom, "ann")
        task, lost = board.cancel(boardroom, "crew", LEAD, "1", "not wanted")
        assert (task.outcome, lost) == ("cancelled", ["2", "3"])
        with pytest.raises(TaskClosed):
            board.complete(boardroom, "crew", "ann", "1")

    def test_only_what_this_made_unreachable_is_named(self, boardroom):
        add(boardroom, "a", "b")
        add(boardroom, "c", depends_on=["1"])
        add(boardroom, "d", depends_on=["2"])
        board.cancel(boardroom, "crew", LEAD, "1", "x")
        assert board.cancel(boardroom, "crew", LEAD, "2", "x")[1] == ["4"]

    def test_cancelling_twice_is_cancelling_once(self, boardroom):
        add(boardroom, "a")
        board.cancel(boardroom, "crew", LEAD, "1", "x")
        board.cancel(boardroom, "crew", LEAD, "1", "y")
        assert history(boardroom, "1") == ["task_created", "cancelled"]

    def test_a_completed_task_is_not_cancelled(self, boardroom):
        add(boardroom, "a")
        claim(boardroom, "ann")
        board.complete(boardroom, "crew", "ann", "1")
        with pytest.raises(TaskClosed):
            board.cancel(boardroom, "crew", LEAD, "1", "x")

    def test_nobody_cancels_what_another_works_on(self, boardroom):
        add(boardroom, "a")
        claim(boardroom, "ann")
        with pytest.raises(NotAllowed):
            board.cancel(boardroom, "crew", "bob", "1", "x")


class TestComments:
    def test_a_comment_has_an_id_and_stands_with_the_task(self, boardroom):
        add(boardroom, "a")
        task, id = board.comment(boardroom, "crew", "ann", "1", "look\nhere \x1b[31m")
        assert task.comments == [{"id": id, "by": "ann", "at": task.comments[0]["at"], "text": "look\nhere \x1b[31m"}]
        assert history(boardroom, "1") == ["task_created", "commented"]

    def test_only_the_newest_comments_stand_in_the_file(self, boardroom):
        add(boardroom, "a")
        task = json.loads(read(boardroom, "1").raw)
        task["metadata"]["atm"]["comments"] = [
            {"id": f"c{n}", "by": "ann", "text": str(n)} for n in range(MOST_COMMENTS)
        ]
        boardroom.tasks.write_as_others_do("crew", 1, json.dumps(task).encode())
        for number in range(MOST_COMMENTS, MOST_COMMENTS + 3):
            board.comment(boardroom, "crew", "ann", "1", str(number))
        comments = read(boardroom, "1").comments
        assert [comments[0]["text"], comments[-1]["text"], len(comments)] == [
            "3",
            str(MOST_COMMENTS + 2),
            MOST_COMMENTS,
        ]

    def test_a_comment_changes_neither_status_nor_owner(self, boardroom):
        add(boardroom, "a")
        claim(boardroom, "ann")
        board.comment(boardroom, "crew", "bob", "1", "ok")
        board.complete(boardroom, "crew", "ann", "1")
        board.comment(boardroom, "crew", "bob", "1", "thanks")
        assert (read(boardroom, "1").status, read(boardroom, "1").owner) == ("completed", "ann")

    @pytest.mark.parametrize("text", ["x" * 100_001, "a\0b"])
    def test_a_comment_that_cannot_be_kept_is_refused(self, boardroom, text):
        add(boardroom, "a")
        with pytest.raises(BadTask):
            board.comment(boardroom, "crew", "ann", "1", text)


class TestRoles:
    @pytest.mark.parametrize(
        ("who", "expected"),
        [
            (LEAD, True),
            ("TEAM-LEAD", True),
            ("human", True),
            ("hugo", True),
            ("HUGO", True),
            ("ann", False),
            ("x", False),
            ("", False),
        ],
    )
    def test_the_lead_and_humans_decide_and_agents_do_not(self, boardroom, who, expected):
        assert is_boss(boardroom.room.rosters.load("crew"), who) is expected

    def test_an_agent_that_is_called_human_is_no_human(self, boardroom):
        add_member(boardroom.room, "crew", Member("human"))
        assert not is_boss(boardroom.room.rosters.load("crew"), "human")

    def test_a_list_without_a_team_can_still_be_read(self, boardroom):
        twin(boardroom).write_as_others_do("session-1", 1, b"{}")
        assert (list_name(boardroom, "CREW"), list_name(boardroom, "session-1")) == ("crew", "session-1")
        with pytest.raises(AtmError):
            list_name(boardroom, "nobody")


class TestIdleMembers:
    def test_being_refused_one_task_makes_nobody_idle_who_works_on_another(self, boardroom):
        add(boardroom, "a", "b")
        claim(boardroom, "ann", "1")
        claim(boardroom, "bob", "2")
        assert why(boardroom, "ann", "2") == "claimed"
        assert boardroom.presence.last("crew", "ann").state == "working"

    @proves("R004-gap-p0-04")
    def test_state_follows_claims(self, boardroom):
        add(boardroom, "a")
        assert claim(boardroom, "ann") == "1"
        assert boardroom.presence.last("crew", "ann").state == "working"
        why(boardroom, "bob")
        assert boardroom.presence.last("crew", "bob").state == "idle"


WHO = ["ann", "bob", "cleo", LEAD]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "claim",
                "claim",
                "claim",
                "complete",
                "complete",
                "fail",
                "release",
                "cancel",
                "split",
                "depend",
                "assign",
                "silence",
                "comment",
            ]
        ),
        st.sampled_from(WHO),
        st.integers(1, 9),
        st.integers(1, 9),
    ),
    max_size=30,
)
DAGS = st.lists(st.lists(st.integers(0, 5), max_size=3), min_size=1, max_size=6)


def build(boardroom: FullBoardroom, needs: list[list[int]]) -> None:
    for place, others in enumerate(needs):
        add(boardroom, f"t{place}", depends_on=[str(other + 1) for other in {*others} if other < place])


def take_step(boardroom: FullBoardroom, verb: str, who: str, one: int, other: int) -> None:
    id, second = str(one), str(other)
    if verb == "claim":
        before = boardroom.tasks.board("crew")
        done = board.claim(boardroom, "crew", who, None if other % 2 else id)
        assert (done.task is None) == (done.refusal is not None)
        if done.task is not None and not done.is_resumed:
            assert before.open_blockers(before.card(done.task.id)) == []
            if done.task.id not in done.released:
                assert before.card(done.task.id).status == "pending"
            assert done.task.owner == who
    elif verb == "complete":
        board.complete(boardroom, "crew", who, id)
    elif verb == "fail":
        board.fail(boardroom, "crew", who, id, "boom", final=other == 9)
    elif verb == "release":
        board.release(boardroom, "crew", who, id)
    elif verb == "cancel":
        board.cancel(boardroom, "crew", who, id, "no")
    elif verb == "split":
        planning.split(boardroom, "crew", who, id, [NewTask("part"), NewTask("part")])
    elif verb == "depend":
        planning.depend(boardroom, "crew", who, id, [second])
    elif verb == "assign":
        board.assign(boardroom, "crew", who, id, "bob")
    elif verb == "silence":
        pass_time(boardroom, 601 * one)
    else:
        board.comment(boardroom, "crew", who, id, "hm")


def check_consistent(boardroom: FullBoardroom) -> None:
    now = boardroom.tasks.board("crew")
    for card in now.cards.values():
        assert card.status in ("pending", "in_progress", "completed")
        assert card.is_claimed == bool(card.claim_id)
        assert (now.state(card) == "pending") == (card.status == "pending" and not now.open_blockers(card))
        for blocker in now.blockers(card):
            assert card.id in now.cards[int(blocker)].blocks  # both sides are kept
            assert blocker in card.blocked_by
    assert not [number for number, why in now.lost().items() if "circle" in why]


def check_history(boardroom: FullBoardroom) -> None:
    """One claimant at a time, finished once unless reopened, and everything that is so was told."""
    holder: dict[str, str] = {}
    for past in boardroom.tasks.past("crew")[0]:
        to = past.word("to")
        if past.word("type") == "status_changed" and to == "in_progress":
            assert past.task not in holder, "two claimants"
            holder[past.task] = str(past.event["id"])
        elif past.word("type") in ("status_changed", "owner_changed", "split"):
            if past.word("claim"):
                assert holder[past.task] == past.word("claim"), "not the current claim"
            holder.pop(past.task, None)
    now = boardroom.tasks.board("crew")
    assert holder == {card.id: card.claim_id for card in now.cards.values() if card.claim_id}


@settings(max_examples=examples(40))
@given(DAGS, STEPS)
def test_whatever_anybody_does_in_whatever_order_the_rules_hold_and_a_run_ends(needs, steps):
    boardroom = make_desk()
    build(boardroom, needs)
    for step in steps:
        try:
            take_step(boardroom, *step)
        except AtmError:
            pass
        check_consistent(boardroom)
    check_history(boardroom)
    for who in itertools.islice(itertools.cycle(["ann", "bob", "cleo", LEAD]), 400):
        done = board.claim(boardroom, "crew", who)
        if done.task is not None:
            board.complete(boardroom, "crew", who, done.task.id)
        elif boardroom.tasks.board("crew").is_resolved:
            break
    check_consistent(boardroom)
    check_history(boardroom)
    assert boardroom.tasks.board("crew").is_resolved
    completed = [past.task for past in boardroom.tasks.past("crew")[0] if past.word("to") == "completed"]
    assert len(completed) == len({*completed})


def test_a_claimant_is_heard_of_before_the_claim_can_be_seen(boardroom, monkeypatch):
    """Else whoever looks in between takes the task back from somebody who was never heard of."""
    add(boardroom, "a")
    real, heard = claims.claim, []

    def spy(*args, **named):
        heard.append(boardroom.presence.last("crew", "stranger"))
        return real(*args, **named)

    monkeypatch.setattr(claims, "claim", spy)
    claim(boardroom, "stranger")
    assert [beat.state for beat in heard] == ["working"]


class TestSignsOfAClaim:
    """Each wakes whoever waits for signs of life: one is enough, and it says what the claimant does from now on."""

    @pytest.fixture
    def signs(self, boardroom, monkeypatch):
        real, left = boardroom.presence.beat, []

        def spy(team, member, beat):
            left.append((member, beat.state))
            real(team, member, beat)

        monkeypatch.setattr(boardroom.presence, "beat", spy)
        return left

    def test_who_gets_a_task_leaves_one(self, boardroom, signs):
        add(boardroom, "a", "b")
        signs.clear()
        claim(boardroom, "ann")
        assert signs == [("ann", "working")]

    def test_who_goes_on_with_a_task_leaves_one(self, boardroom, signs):
        add(boardroom, "a")
        claim(boardroom, "ann")
        signs.clear()
        assert board.claim(boardroom, "crew", "ann").is_resumed
        assert signs == [("ann", "working")]

    def test_who_finds_nothing_leaves_one(self, boardroom, signs):
        why(boardroom, "ann")
        assert signs == [("ann", "idle")]

    def test_who_is_refused_a_task_leaves_one_and_is_what_they_were(self, boardroom, signs):
        add(boardroom, "a", "b")
        claim(boardroom, "bob", "1")
        claim(boardroom, "ann", "2")
        signs.clear()
        assert why(boardroom, "ann", "1") == "claimed"
        assert signs == [("ann", "working")]

    def test_who_was_too_late_for_a_task_says_so_after_all(self, boardroom, signs, monkeypatch):
        """Another program took it between our look and our lock: only then there are two."""
        add(boardroom, "a")
        signs.clear()
        monkeypatch.setattr(claims, "claim", lambda *_, **__: None)
        assert claim(boardroom, "ann") is None
        assert signs == [("ann", "working"), ("ann", "idle")]

    def test_who_was_too_late_for_a_second_task_goes_on_with_the_first(self, boardroom, signs, monkeypatch):
        add(boardroom, "a", "b")
        claim(boardroom, "ann", "1")
        signs.clear()
        monkeypatch.setattr(claims, "claim", lambda *_, **__: None)
        assert claim(boardroom, "ann", "2") is None
        assert signs == [("ann", "working")]


def test_what_was_given_to_somebody_who_was_removed_is_free_again_also_if_the_removal_was_cut_off(boardroom):
    planning.add(boardroom, "crew", LEAD, [NewTask("a", owner="bob"), NewTask("b", owner="not-yet-here")])

    def killed(name: str) -> None:
        leaving.release_all(boardroom, "crew", "", name)
        raise Crash

    with pytest.raises(Crash):
        remove_member(boardroom.room, "crew", "bob", force=True, first=killed)
    assert claim(boardroom, "ann") == "1"
    assert boardroom.tasks.read("crew", "2").owner == "not-yet-here"


def test_checks_that_were_changed_while_they_ran_prove_nothing(boardroom):
    add(boardroom, "a", acceptance=[{"kind": "command", "command": "true"}])
    claim(boardroom, "ann")

    def change(*_: object, **__: object) -> Ran:
        data = boardroom.tasks.read("crew", "1").raw.replace('"true"', '"false"')
        boardroom.tasks.write_as_others_do("crew", 1, data.encode())
        return Ran(0)

    boardroom.programs.run = change
    with pytest.raises(ChecksFailed, match="changed while"):
        board.complete(boardroom, "crew", "ann", "1")
    assert boardroom.tasks.read("crew", "1").status == "in_progress"


CHANGES: dict[str, Any] = {
    "add": lambda boardroom: planning.add(boardroom, "crew", "ann", [NewTask("more")]),
    "split": lambda boardroom: planning.split(boardroom, "crew", "ann", "1", [NewTask("a part")]),
    "depend": lambda boardroom: planning.depend(boardroom, "crew", "ann", "2", ["1"]),
    "claim": lambda boardroom: board.claim(boardroom, "crew", "ann", "2"),
    "complete": lambda boardroom: board.complete(boardroom, "crew", "ann", "1"),
    "release": lambda boardroom: board.release(boardroom, "crew", "ann", "1"),
    "cancel": lambda boardroom: board.cancel(boardroom, "crew", "ann", "2", "not needed"),
    "comment": lambda boardroom: board.comment(boardroom, "crew", "ann", "2", "a remark"),
    "ask for a review": lambda boardroom: reviews.request_review(boardroom, "crew", "ann", "1", "bob"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_whoever_changes_something_on_the_board_is_there(boardroom, change):
    add(boardroom, "one", "two")
    claim(boardroom, "ann", "1")
    boardroom.presence.forget("crew", "ann")
    CHANGES[change](boardroom)
    last = boardroom.presence.last("crew", "ann")
    assert last is not None
    assert (last.at, last.source.partition("atm tasks")[:2]) == (boardroom.clock.now(), ("", "atm tasks"))


def test_somebody_who_is_not_in_the_roster_leaves_no_sign_of_life(boardroom):
    add(boardroom, "one")
    board.comment(boardroom, "crew", HUMAN, "1", "a remark")
    assert HUMAN not in boardroom.presence.heard_of("crew")
