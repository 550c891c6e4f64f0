"""The board's verbs over twins: claim, start, complete, fail, release, assign, cancel, comment."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chaos import LONG, examples

from atm.domain.board.acceptance import Ran
from atm.domain.board.tasks import MOST_COMMENTS, Task
from atm.domain.errors import (
    AtmError,
    BadTask,
    ChecksFailed,
    NoSuchTask,
    NotAllowed,
    NotClaimant,
    TaskClosed,
    TeamCompleted,
)
from atm.domain.team.authority import is_boss
from atm.domain.team.team import Member
from atm.services.board import planning, reviews
from atm.services.board import working as board
from atm.services.board.boardroom import list_name
from atm.services.board.planning import NewTask
from atm.services.roster.full_boardroom import FullBoardroom
from atm.services.roster.members import add_member, create_team, remove_member
from atm.services.team.presence import beat
from atm.testing import Crash, MemoryTasks, memory_desk, memory_room
from atm.testing.board import MemoryTurn

LEAD, HUMAN = "team-lead", "human"


def make_desk(**fields: Any) -> FullBoardroom:
    """A board in memory for a crew of ann, bob, cleo, the human hugo and their lead."""
    room = memory_room()
    create_team(room, "crew", lead=LEAD)
    for member in (Member("ann"), Member("bob"), Member("cleo"), Member("hugo", backend="human")):
        add_member(room, "crew", member)
    return memory_desk(room, **fields)


@pytest.fixture
def desk() -> FullBoardroom:
    return make_desk()


def add(desk: FullBoardroom, *subjects: str, **fields: Any) -> list[str]:
    return [
        task.id for task in planning.add(desk, "crew", LEAD, [NewTask(subject, **fields) for subject in subjects]).tasks
    ]


def claim(desk: FullBoardroom, who: str, id: str | None = None) -> str | None:
    done = board.claim(desk, "crew", who, id)
    return done.task.id if done.task else None


def why(desk: FullBoardroom, who: str, id: str | None = None) -> str:
    done = board.claim(desk, "crew", who, id)
    assert done.task is None
    assert done.refusal is not None, "neither a task nor a reason"
    return done.refusal.code


def state(desk: FullBoardroom, id: str) -> str:
    now = desk.tasks.board("crew")
    return now.state(now.card(id))


def read(desk: FullBoardroom, id: str) -> Task:
    return desk.tasks.read("crew", id)


def history(desk: FullBoardroom, id: str) -> list[str]:
    return [past.word("to") or past.word("type") for past in desk.tasks.past("crew")[0] if past.task == id]


def twin(desk: FullBoardroom) -> MemoryTasks:
    assert isinstance(desk.tasks, MemoryTasks)
    return desk.tasks


def foreign(desk: FullBoardroom, number: int, **record: Any) -> None:
    """What Claude Code writes."""
    twin(desk).write_as_others_do(
        "crew", number, json.dumps({"id": str(number), "subject": "theirs", **record}).encode()
    )


def pass_time(desk: FullBoardroom, seconds: float) -> None:
    desk.clock.pass_time(seconds)  # type: ignore[attr-defined]
    desk.presence.up_for += seconds  # type: ignore[attr-defined]


class TestClaim:
    def test_the_most_urgent_free_task_comes_first_and_then_the_lowest_id(self, desk):
        add(desk, "low", priority="low")
        add(desk, "a", "b")
        add(desk, "critical", priority="critical")
        assert [claim(desk, who) for who in ("ann", "bob", "cleo", "dan")] == ["4", "2", "3", "1"]
        assert why(desk, "eve") == "all-claimed"

    def test_ones_own_task_is_gone_on_with_before_anything_else(self, desk):
        add(desk, "a", "b")
        first = board.claim(desk, "crew", "ann")
        add(desk, "urgent", priority="critical")
        again = board.claim(desk, "crew", "ann")
        assert again.is_resumed
        assert again.task is not None
        assert first.task is not None
        assert (again.task.id, again.task.claim_id) == (first.task.id, first.task.claim_id)
        assert history(desk, "1") == ["task_created", "in_progress"]

    def test_a_particular_task_can_be_asked_for(self, desk):
        add(desk, "a", "b")
        assert claim(desk, "ann", "#2") == "2"
        assert claim(desk, "ann", "2") == "2"
        assert claim(desk, "ann") == "2"
        assert why(desk, "bob", "2") == "claimed"

    @pytest.mark.parametrize(("id", "error"), [("99", NoSuchTask), ("x", BadTask), ("-1", BadTask)])
    def test_a_task_that_is_not_there_is_an_error_and_no_refusal(self, desk, id, error):
        with pytest.raises(error):
            board.claim(desk, "crew", "ann", id)

    def test_a_task_is_not_had_while_something_it_needs_is_open(self, desk):
        add(desk, "a")
        add(desk, "b", depends_on=["1"])
        assert why(desk, "ann", "2") == "blocked"
        claim(desk, "bob")
        assert why(desk, "ann") == "all-claimed"
        assert board.complete(desk, "crew", "bob", "1").unblocked == ["2"]
        assert claim(desk, "ann") == "2"

    def test_a_task_that_was_given_to_another_is_refused(self, desk):
        add(desk, "a", owner="bob")
        assert (why(desk, "ann", "1"), why(desk, "ann")) == ("assigned", "all-blocked")
        assert claim(desk, "BOB") == "1"

    def test_somebody_who_waits_for_an_answer_may_take_another_task(self, desk):
        add(desk, "a", "b", "c")
        claim(desk, "ann")
        reviews.request_review(desk, "crew", "ann", "1", "bob")
        assert claim(desk, "ann") == "2"
        reviews.ask(desk, "crew", "ann", "2", "lead", "how?")
        assert claim(desk, "ann") == "3"
        reviews.answer(desk, "crew", LEAD, "2", "so")
        assert claim(desk, "ann") == "2"

    def test_an_empty_board_and_a_finished_one_say_so(self, desk):
        assert why(desk, "ann") == "empty"
        add(desk, "a")
        claim(desk, "ann")
        board.complete(desk, "crew", "ann", "1")
        assert why(desk, "ann") == "all-finished"

    def test_files_that_overlap_with_work_in_progress_are_named(self, desk):
        add(desk, "a", files=["src/*.py"])
        add(desk, "b", files=["src/x.py", "doc/y"])
        add(desk, "c", files=["test/*"])
        claim(desk, "ann")
        assert board.claim(desk, "crew", "bob").overlaps == {"1": ["src/*.py"]}
        assert board.claim(desk, "crew", "cleo").overlaps == {}

    def test_somebody_who_must_plan_gets_a_task_that_needs_a_plan(self, desk):
        desk.room.rosters.change(
            "crew", lambda data: data.replace(b'"name": "ann"', b'"name": "ann", "planModeRequired": true')
        )
        add(desk, "a", "b")
        claim(desk, "ann")
        claim(desk, "bob")
        assert (read(desk, "1").plan, read(desk, "2").plan) == ("required", "")

    def test_what_claude_code_is_at_work_on_is_not_had_and_what_it_freed_is(self, desk):
        foreign(desk, 1, status="in_progress", owner="fixer")
        foreign(desk, 2, status="pending", blockedBy=["1"])
        foreign(desk, 3, status="pending", metadata={"_internal": True})
        assert why(desk, "ann") == "all-claimed"
        foreign(desk, 1, status="completed", owner="fixer")
        assert claim(desk, "ann") == "2"

    @pytest.mark.parametrize("record", [{"status": "in_progress"}, {"status": "deleted"}])
    def test_a_task_that_nobody_can_take_is_refused_with_a_reason_that_is_true(self, desk, record):
        foreign(desk, 1, **record)
        assert why(desk, "ann", "1") != "blocked"

    def test_a_completed_team_takes_no_claims(self, desk):
        add(desk, "a")
        desk.room.rosters.marks["crew"] = b""
        with pytest.raises(TeamCompleted):
            board.claim(desk, "crew", "ann")
        assert desk.tasks.board("crew").cards

    def test_a_file_that_cannot_be_read_keeps_nobody_from_other_tasks(self, desk):
        add(desk, "a", "b")
        twin(desk).write_as_others_do("crew", 1, b"not json")
        assert why(desk, "ann", "1") == "unreadable"
        assert claim(desk, "ann") == "2"

    def test_a_task_with_metadata_that_has_no_place_for_ours_keeps_nobody_from_other_tasks(self, desk):
        foreign(desk, 1, status="pending", metadata=[])
        foreign(desk, 2, status="pending")
        assert claim(desk, "ann") == "2"

    def test_a_task_that_another_program_takes_at_the_last_moment_is_passed_over(self):
        desk = make_desk()
        add(desk, "a", "b")

        class LateTurn(MemoryTurn):
            def __enter__(self) -> MemoryTurn:
                super().__enter__()
                foreign(desk, 1, status="in_progress", owner="fixer")
                return self

        twin(desk).turn = lambda team: LateTurn(twin(desk), team)  # type: ignore[method-assign]
        assert claim(desk, "ann") == "2"

    @pytest.mark.parametrize(
        "theirs",
        [{"status": "in_progress"}, {"status": "pending", "owner": "fixer"}],
        ids=["begun without a name", "given to somebody"],
    )
    def test_a_task_that_another_program_begins_or_gives_away_at_the_last_moment_is_passed_over(self, theirs):
        desk = make_desk()
        add(desk, "a", "b")

        class LateTurn(MemoryTurn):
            def __enter__(self) -> MemoryTurn:
                super().__enter__()
                foreign(desk, 1, **theirs)
                return self

        twin(desk).turn = lambda team: LateTurn(twin(desk), team)  # type: ignore[method-assign]
        assert claim(desk, "ann") == "2"
        assert read(desk, "1").owner == theirs.get("owner", "")


class TestStart:
    def test_a_task_is_claimed_if_need_be(self, desk):
        add(desk, "a")
        assert board.start(desk, "crew", "ann", "1").task is not None
        assert state(desk, "1") == "in_progress"

    def test_work_does_not_begin_before_the_plan_is_approved(self, desk):
        add(desk, "a", needs_plan=True)
        with pytest.raises(AtmError, match="needs a plan"):
            board.start(desk, "crew", "ann", "1")
        assert state(desk, "1") == "planning"

    def test_somebody_elses_task_is_refused(self, desk):
        add(desk, "a")
        claim(desk, "bob")
        done = board.start(desk, "crew", "ann", "1")
        assert done.task is None
        assert done.refusal is not None


class TestComplete:
    def test_a_completion_says_what_it_unblocked(self, desk):
        add(desk, "a", "b")
        add(desk, "c", depends_on=["1"])
        add(desk, "d", depends_on=["1", "2"])
        claim(desk, "ann")
        done = board.complete(desk, "crew", "ann", "1", result="it works")
        assert (done.unblocked, done.was_done, done.task.text("result")) == (["3"], False, "it works")
        assert (done.task.owner, done.task.text("finishedBy"), done.task.claim_id) == ("ann", "ann", "")

    def test_completing_twice_is_completing_once(self, desk):
        add(desk, "a")
        add(desk, "b", depends_on=["1"])
        claim(desk, "ann")
        board.complete(desk, "crew", "ann", "1")
        again = board.complete(desk, "crew", "ANN", "1", result="other")
        assert (again.was_done, again.unblocked, again.task.text("result")) == (True, ["2"], "")
        assert history(desk, "1") == ["task_created", "in_progress", "completed"]

    @pytest.mark.parametrize("who", ["bob", LEAD, HUMAN])
    def test_only_the_claimant_completes_also_if_another_is_the_lead(self, desk, who):
        add(desk, "a")
        claim(desk, "ann")
        with pytest.raises(NotClaimant):
            board.complete(desk, "crew", who, "1")
        board.complete(desk, "crew", "ann", "1")
        with pytest.raises(TaskClosed):
            board.complete(desk, "crew", who, "1")

    def test_a_task_that_nobody_claimed_is_not_completed(self, desk):
        add(desk, "a", owner="ann")
        with pytest.raises(NotClaimant):
            board.complete(desk, "crew", "ann", "1")

    def test_a_claim_that_is_not_in_force_any_more_completes_nothing(self, desk):
        add(desk, "a")
        old = board.claim(desk, "crew", "ann").task
        assert old is not None
        board.release(desk, "crew", LEAD, "1")
        new = board.claim(desk, "crew", "ann").task
        assert new is not None
        for verb in (
            lambda id: board.complete(desk, "crew", "ann", "1", claim_id=id),
            lambda id: board.fail(desk, "crew", "ann", "1", "x", claim_id=id),
            lambda id: board.release(desk, "crew", "ann", "1", claim_id=id),
        ):
            with pytest.raises(NotClaimant, match="not in force"):
                verb(old.claim_id)
        board.complete(desk, "crew", "ann", "1", claim_id=new.claim_id)

    def test_somebody_whose_claim_was_released_completes_nothing(self, desk):
        add(desk, "a")
        claim(desk, "ann")
        board.release(desk, "crew", LEAD, "1")
        with pytest.raises(NotClaimant):
            board.complete(desk, "crew", "ann", "1")
        claim(desk, "bob")
        with pytest.raises(NotClaimant, match="bob works on"):
            board.complete(desk, "crew", "ann", "1")

    def test_a_task_that_is_lost_while_its_checks_run_is_not_completed(self, desk):
        add(desk, "a", acceptance=[{"kind": "command", "command": "slow"}])
        claim(desk, "ann")
        programs = desk.programs
        run = programs.run

        def meanwhile_it_is_reassigned(command: str, **rest: Any):
            board.assign(desk, "crew", LEAD, "1", "ann")
            board.release(desk, "crew", LEAD, "1")
            claim(desk, "ann", "1")
            return run(command, **rest)

        programs.run = meanwhile_it_is_reassigned
        with pytest.raises(NotClaimant, match="not in force"):
            board.complete(desk, "crew", "ann", "1")
        assert state(desk, "1") == "in_progress"

    def test_a_plan_that_nobody_approved_lets_nothing_be_completed(self, desk):
        add(desk, "a", needs_plan=True)
        claim(desk, "ann")
        for step in (lambda: None, lambda: reviews.submit_plan(desk, "crew", "ann", "1", "so")):
            step()
            with pytest.raises(AtmError, match="plan"):
                board.complete(desk, "crew", "ann", "1")
        reviews.approve_plan(desk, "crew", LEAD, "1")
        board.complete(desk, "crew", "ann", "1")

    def test_a_task_that_must_be_reviewed_is_not_completed_before(self, desk):
        add(desk, "a", reviewer="bob")
        claim(desk, "ann")
        with pytest.raises(AtmError, match="must be reviewed"):
            board.complete(desk, "crew", "ann", "1")
        reviews.request_review(desk, "crew", "ann", "1")
        with pytest.raises(AtmError, match="in review"):
            board.complete(desk, "crew", "ann", "1")
        reviews.request_changes(desk, "crew", "bob", "1", "not so")
        with pytest.raises(AtmError, match="changes were asked for"):
            board.complete(desk, "crew", "ann", "1")
        reviews.request_review(desk, "crew", "ann", "1")
        reviews.approve(desk, "crew", "bob", "1")
        board.complete(desk, "crew", "ann", "1")

    def test_what_claude_code_completed_is_not_completed_again(self, desk):
        foreign(desk, 1, status="completed", owner="ann")
        with pytest.raises(TaskClosed):
            board.complete(desk, "crew", "ann", "1")

    def test_a_result_that_is_too_long_is_refused(self, desk):
        add(desk, "a")
        claim(desk, "ann")
        with pytest.raises(BadTask):
            board.complete(desk, "crew", "ann", "1", result="x" * 100_001)
        assert state(desk, "1") == "in_progress"

    @pytest.mark.parametrize(("who", "may"), [("ann", False), (LEAD, True), ("hugo", True), (HUMAN, True)])
    def test_only_the_lead_and_humans_complete_without_the_checks(self, desk, who, may):
        add(desk, "a", acceptance=[{"kind": "file", "path": "nowhere"}])
        claim(desk, who)
        if not may:
            with pytest.raises(NotAllowed):
                board.complete(desk, "crew", who, "1", verify=False)
            return
        done = board.complete(desk, "crew", who, "1", verify=False)
        assert done.task.part("unverified")["by"] == who
        assert desk.programs.ran == []

    def test_without_checks_there_is_nothing_to_skip_and_nothing_is_noted(self, desk):
        add(desk, "a")
        claim(desk, LEAD)
        assert board.complete(desk, "crew", LEAD, "1", verify=False).task.part("unverified") == {}

    def test_all_dependants_are_freed_by_one_completion(self, desk):
        add(desk, "a")
        count = 1000 if LONG else 100
        wishes = [NewTask(f"b{number}", depends_on=["#1"]) for number in range(count)]
        planning.add(desk, "crew", LEAD, wishes)
        claim(desk, "ann")
        assert len(board.complete(desk, "crew", "ann", "1").unblocked) == count


class TestFail:
    def test_two_retries_are_three_attempts_and_then_what_waits_is_unreachable(self, desk):
        add(desk, "a")
        add(desk, "b", depends_on=["1"])
        add(desk, "c", depends_on=["2"])
        for attempt in (1, 2, 3):
            assert claim(desk, "ann") == "1"
            failed = board.fail(desk, "crew", "ann", "1", f"boom {attempt}")
            assert failed.failures == attempt
        assert [state(desk, id) for id in "123"] == ["failed", "unreachable", "unreachable"]
        assert why(desk, "ann") == "all-finished"
        assert desk.tasks.board("crew").is_resolved
        assert history(desk, "1") == ["task_created"] + ["in_progress", "pending"] * 2 + ["in_progress", "failed"]

    @pytest.mark.parametrize(("retries", "attempts"), [(0, 1), (4, 5)])
    def test_a_task_may_say_how_often(self, desk, retries, attempts):
        add(desk, "a", max_retries=retries)
        for _ in range(attempts):
            assert claim(desk, "ann") == "1"
            board.fail(desk, "crew", "ann", "1", "x")
        assert state(desk, "1") == "failed"

    def test_a_failure_can_be_final(self, desk):
        add(desk, "a")
        claim(desk, "ann")
        assert board.fail(desk, "crew", "ann", "1", "never", final=True).outcome == "failed"

    @pytest.mark.parametrize("who", ["bob", LEAD])
    def test_only_the_claimant_fails(self, desk, who):
        add(desk, "a")
        claim(desk, "ann")
        with pytest.raises(NotClaimant):
            board.fail(desk, "crew", who, "1", "x")

    def test_what_has_failed_is_not_failed_again(self, desk):
        add(desk, "a", max_retries=0)
        claim(desk, "ann")
        board.fail(desk, "crew", "ann", "1", "x")
        with pytest.raises(TaskClosed):
            board.fail(desk, "crew", "ann", "1", "x")

    def test_on_disk_a_failed_task_is_one_of_claude_codes_three(self, desk):
        add(desk, "a", max_retries=0)
        claim(desk, "ann")
        board.fail(desk, "crew", "ann", "1", "x")
        record = json.loads(twin(desk).files["crew"][1])
        assert (record["status"], record["owner"]) == ("in_progress", "")


class TestRelease:
    def test_a_task_is_given_back_without_blame(self, desk):
        add(desk, "a")
        claim(desk, "ann")
        assert board.release(desk, "crew", "ann", "1", reason="lunch").failures == 0
        assert claim(desk, "bob") == "1"

    @pytest.mark.parametrize(
        ("who", "may"), [("bob", False), (LEAD, True), ("hugo", True), (HUMAN, True), ("stranger", False)]
    )
    def test_only_the_lead_and_humans_take_back_from_others(self, desk, who, may):
        add(desk, "a")
        claim(desk, "ann")
        if may:
            assert board.release(desk, "crew", who, "1").status == "pending"
        else:
            with pytest.raises(NotClaimant):
                board.release(desk, "crew", who, "1")

    def test_what_is_not_claimed_is_not_released(self, desk):
        add(desk, "a")
        with pytest.raises(NotClaimant):
            board.release(desk, "crew", LEAD, "1")

    def test_what_is_finished_is_not_released_but_reopened(self, desk):
        add(desk, "a")
        claim(desk, "ann")
        board.complete(desk, "crew", "ann", "1")
        with pytest.raises(TaskClosed):
            board.release(desk, "crew", LEAD, "1")
        assert board.reopen(desk, "crew", LEAD, "1", "not good").status == "pending"
        assert claim(desk, "bob") == "1"

    def test_agents_do_not_reopen(self, desk):
        add(desk, "a")
        claim(desk, "ann")
        board.complete(desk, "crew", "ann", "1")
        with pytest.raises(NotAllowed):
            board.reopen(desk, "crew", "ann", "1", "x")

    def test_what_is_open_is_not_reopened_and_nothing_happens(self, desk):
        add(desk, "a")
        with pytest.raises(TaskClosed, match="not finished"):
            board.reopen(desk, "crew", LEAD, "1", "x")
        assert history(desk, "1") == ["task_created"]

    def test_a_failed_task_that_is_reopened_brings_back_what_waits_for_it(self, desk):
        add(desk, "a", max_retries=0)
        add(desk, "b", depends_on=["1"])
        claim(desk, "ann")
        board.fail(desk, "crew", "ann", "1", "x")
        assert state(desk, "2") == "unreachable"
        board.reopen(desk, "crew", LEAD, "1", "once more")
        assert [state(desk, id) for id in "12"] == ["pending", "blocked"]

    def test_everything_of_somebody_who_leaves_is_free_again(self, desk):
        add(desk, "a", "b")
        add(desk, "c", owner="ann")
        claim(desk, "ann", "1")
        claim(desk, "bob", "2")
        assert board.release_all(desk, "crew", LEAD, "ANN") == ["1", "3"]
        assert [read(desk, id).owner for id in "123"] == ["", "bob", ""]

    @pytest.mark.parametrize("verb", ["release", "fail", "assign", "reopen"])
    def test_a_new_claimant_does_not_inherit_an_approval_of_somebody_elses_work(self, desk, verb):
        add(desk, "a", reviewer="bob")
        claim(desk, "ann")
        reviews.request_review(desk, "crew", "ann", "1")
        reviews.approve(desk, "crew", "bob", "1")
        if verb == "release":
            board.release(desk, "crew", "ann", "1")
        elif verb == "fail":
            board.fail(desk, "crew", "ann", "1", "after all")
        elif verb == "assign":
            board.assign(desk, "crew", LEAD, "1", "cleo")
        else:
            board.complete(desk, "crew", "ann", "1")
            board.reopen(desk, "crew", LEAD, "1", "it is wrong")
        assert claim(desk, "cleo") == "1"
        with pytest.raises(AtmError, match="review"):
            board.complete(desk, "crew", "cleo", "1")

    @pytest.mark.parametrize("verb", ["release", "assign", "fail"])
    def test_a_task_that_was_in_review_is_in_progress_for_its_new_claimant(self, desk, verb):
        add(desk, "a")
        claim(desk, "ann")
        reviews.request_review(desk, "crew", "ann", "1", "bob")
        if verb == "release":
            board.release(desk, "crew", LEAD, "1")
        elif verb == "assign":
            board.assign(desk, "crew", LEAD, "1", "cleo")
        else:
            board.fail(desk, "crew", "ann", "1", "x")
        assert claim(desk, "cleo") == "1"
        assert state(desk, "1") == "in_progress"


class TestSilence:
    def test_ten_minutes_are_no_silence_and_one_second_more_is(self, desk):
        add(desk, "a")
        claim(desk, "ann")
        pass_time(desk, 600)
        assert board.claim(desk, "crew", "bob").released == []
        pass_time(desk, 1)
        done = board.claim(desk, "crew", "bob")
        assert done.released == ["1"]
        assert done.task is not None
        assert (done.task.id, done.task.owner, done.task.failures) == ("1", "bob", 1)

    def test_somebody_who_went_silent_and_comes_back_cannot_finish_what_is_somebody_elses_now(self, desk):
        add(desk, "a")
        old = board.claim(desk, "crew", "ann").task
        assert old is not None
        pass_time(desk, 601)
        assert claim(desk, "bob") == "1"
        with pytest.raises(NotClaimant):
            board.complete(desk, "crew", "ann", "1", claim_id=old.claim_id)
        assert why(desk, "ann") == "all-claimed"

    def test_somebody_who_beats_keeps_their_task_however_long_it_takes(self, desk):
        add(desk, "a")
        claim(desk, "ann")
        for _ in range(20):
            pass_time(desk, 599)
            beat(desk.presence, "crew", "ann", desk.clock.now(), "test")
            assert board.claim(desk, "crew", "bob").released == []

    def test_a_process_that_is_gone_is_silent_at_once(self, desk):
        add(desk, "a")
        claim(desk, "ann")
        desk.presence.running.add(77)
        beat(desk.presence, "crew", "ann", desk.clock.now(), "test", pid=77)
        assert board.claim(desk, "crew", "bob").released == []
        desk.presence.running.clear()
        assert board.claim(desk, "crew", "bob").released == ["1"]

    @pytest.mark.parametrize("jump", [3600, 86_400 * 365, -3600, -86_400 * 365])
    def test_a_wall_clock_that_jumps_takes_nobodys_work_away(self, desk, jump):
        add(desk, "a")
        claim(desk, "ann")
        desk.clock.jump(jump)
        assert board.claim(desk, "crew", "bob").released == []
        pass_time(desk, 601)
        assert board.claim(desk, "crew", "bob").released == ["1"]

    def test_somebody_whom_nobody_ever_heard_of_is_unknown_and_keeps_their_task(self, desk):
        add(desk, "a")
        claim(desk, "ann")
        desk.presence.forget("crew", "ann")
        pass_time(desk, 10**6)
        assert board.claim(desk, "crew", "bob").released == []

    def test_claims_of_claude_code_are_its_own_business(self, desk):
        foreign(desk, 1, status="in_progress", owner="ann")
        beat(desk.presence, "crew", "ann", desk.clock.now(), "test")
        pass_time(desk, 10**6)
        assert board.release_silent(desk, "crew") == []

    @pytest.mark.parametrize("wait", ["review", "question", "plan"])
    def test_somebody_who_waits_for_an_answer_is_not_silent_by_waiting(self, desk, wait):
        add(desk, "a", needs_plan=wait == "plan")
        claim(desk, "ann")
        if wait == "review":
            reviews.request_review(desk, "crew", "ann", "1", "bob")
        elif wait == "question":
            reviews.ask(desk, "crew", "ann", "1", "user", "which?")
        else:
            reviews.submit_plan(desk, "crew", "ann", "1", "so")
        pass_time(desk, 10**5)
        assert board.release_silent(desk, "crew") == []

    def test_silence_uses_up_attempts_so_that_a_run_ends(self, desk):
        add(desk, "a")
        for who in ("ann", "bob", "cleo"):
            assert claim(desk, who) == "1"
            pass_time(desk, 601)
            assert board.release_silent(desk, "crew") == ["1"]
        assert state(desk, "1") == "failed"
        assert history(desk, "1")[-1] == "failed"

    def test_ones_own_task_is_not_released_by_asking_for_it(self, desk):
        add(desk, "a")
        claim(desk, "ann")
        pass_time(desk, 10**5)
        assert claim(desk, "ann") == "1"
        assert read(desk, "1").failures == 0

    @pytest.mark.parametrize("who", ["hugo", HUMAN])
    def test_humans_leave_no_heartbeats_and_are_not_expected_to(self, desk, who):
        add(desk, "a")
        claim(desk, who)
        pass_time(desk, 3600)
        assert board.release_silent(desk, "crew") == []


class TestAssign:
    def test_the_old_claim_ends_before_the_new_one_begins(self, desk):
        add(desk, "a")
        claim(desk, "ann")
        task, warnings = board.assign(desk, "crew", LEAD, "1", "bob")
        assert (task.status, task.owner, task.claim_id, warnings) == ("pending", "bob", "", [])
        with pytest.raises(NotClaimant):
            board.complete(desk, "crew", "ann", "1")
        assert why(desk, "ann", "1") == "assigned"
        assert claim(desk, "bob") == "1"

    def test_the_new_owner_is_told_as_claude_code_tells_them(self, desk):
        add(desk, "a", description="in detail")
        board.assign(desk, "crew", LEAD, "1", "bob")
        said = json.loads(desk.room.inboxes.rows("crew", "bob")[0].text)
        assert (said["type"], said["taskId"], said["subject"], said["assignedBy"]) == (
            "task_assignment",
            "1",
            "a",
            LEAD,
        )

    def test_assigning_to_the_one_who_has_it_changes_nothing_and_tells_nobody(self, desk):
        add(desk, "a")
        board.assign(desk, "crew", LEAD, "1", "bob")
        board.assign(desk, "crew", LEAD, "1", "BOB")
        claim(desk, "bob")
        board.assign(desk, "crew", LEAD, "1", "bob")
        assert read(desk, "1").is_claimed
        assert len(desk.room.inboxes.rows("crew", "bob")) == 1

    def test_a_letter_that_cannot_be_sent_is_a_warning(self, desk):
        add(desk, "a")
        desk.room.inboxes.refuse = BadTask("disk full")
        _, warnings = board.assign(desk, "crew", LEAD, "1", "bob")
        assert read(desk, "1").owner == "bob"
        assert warnings == ["bob could not be told: disk full"]

    @pytest.mark.parametrize(
        ("who", "may"), [("ann", True), ("bob", False), (LEAD, True), (HUMAN, True), ("cleo", True)]
    )
    def test_work_is_taken_away_by_its_claimant_its_maker_the_lead_or_a_human(self, desk, who, may):
        planning.add(desk, "crew", "cleo", [NewTask("a")])
        claim(desk, "ann")
        if may:
            assert board.assign(desk, "crew", who, "1", "bob")[0].owner == "bob"
        else:
            with pytest.raises(NotAllowed):
                board.assign(desk, "crew", who, "1", "bob")

    def test_what_is_finished_is_not_assigned(self, desk):
        add(desk, "a")
        claim(desk, "ann")
        board.complete(desk, "crew", "ann", "1")
        with pytest.raises(TaskClosed):
            board.assign(desk, "crew", LEAD, "1", "bob")


class TestCancel:
    def test_what_waits_for_it_can_never_be_done_and_is_named(self, desk):
        add(desk, "a")
        add(desk, "b", depends_on=["1"])
        add(desk, "c", depends_on=["2"])
        claim(desk, "ann")
        task, lost = board.cancel(desk, "crew", LEAD, "1", "not wanted")
        assert (task.outcome, lost) == ("cancelled", ["2", "3"])
        with pytest.raises(TaskClosed):
            board.complete(desk, "crew", "ann", "1")

    def test_only_what_this_made_unreachable_is_named(self, desk):
        add(desk, "a", "b")
        add(desk, "c", depends_on=["1"])
        add(desk, "d", depends_on=["2"])
        board.cancel(desk, "crew", LEAD, "1", "x")
        assert board.cancel(desk, "crew", LEAD, "2", "x")[1] == ["4"]

    def test_cancelling_twice_is_cancelling_once(self, desk):
        add(desk, "a")
        board.cancel(desk, "crew", LEAD, "1", "x")
        board.cancel(desk, "crew", LEAD, "1", "y")
        assert history(desk, "1") == ["task_created", "cancelled"]

    def test_a_completed_task_is_not_cancelled(self, desk):
        add(desk, "a")
        claim(desk, "ann")
        board.complete(desk, "crew", "ann", "1")
        with pytest.raises(TaskClosed):
            board.cancel(desk, "crew", LEAD, "1", "x")

    def test_nobody_cancels_what_another_works_on(self, desk):
        add(desk, "a")
        claim(desk, "ann")
        with pytest.raises(NotAllowed):
            board.cancel(desk, "crew", "bob", "1", "x")


class TestComments:
    def test_a_comment_has_an_id_and_stands_with_the_task(self, desk):
        add(desk, "a")
        task, id = board.comment(desk, "crew", "ann", "1", "look\nhere \x1b[31m")
        assert task.comments == [{"id": id, "by": "ann", "at": task.comments[0]["at"], "text": "look\nhere \x1b[31m"}]
        assert history(desk, "1") == ["task_created", "commented"]

    def test_only_the_newest_comments_stand_in_the_file(self, desk):
        add(desk, "a")
        task = json.loads(read(desk, "1").raw)
        task["metadata"]["atm"]["comments"] = [
            {"id": f"c{n}", "by": "ann", "text": str(n)} for n in range(MOST_COMMENTS)
        ]
        desk.tasks.write_as_others_do("crew", 1, json.dumps(task).encode())
        for number in range(MOST_COMMENTS, MOST_COMMENTS + 3):
            board.comment(desk, "crew", "ann", "1", str(number))
        comments = read(desk, "1").comments
        assert [comments[0]["text"], comments[-1]["text"], len(comments)] == [
            "3",
            str(MOST_COMMENTS + 2),
            MOST_COMMENTS,
        ]

    def test_a_comment_changes_neither_status_nor_owner(self, desk):
        add(desk, "a")
        claim(desk, "ann")
        board.comment(desk, "crew", "bob", "1", "ok")
        board.complete(desk, "crew", "ann", "1")
        board.comment(desk, "crew", "bob", "1", "thanks")
        assert (read(desk, "1").status, read(desk, "1").owner) == ("completed", "ann")

    @pytest.mark.parametrize("text", ["x" * 100_001, "a\0b"])
    def test_a_comment_that_cannot_be_kept_is_refused(self, desk, text):
        add(desk, "a")
        with pytest.raises(BadTask):
            board.comment(desk, "crew", "ann", "1", text)


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
    def test_the_lead_and_humans_decide_and_agents_do_not(self, desk, who, expected):
        assert is_boss(desk.room.rosters.load("crew"), who) is expected

    def test_an_agent_that_is_called_human_is_no_human(self, desk):
        add_member(desk.room, "crew", Member("human"))
        assert not is_boss(desk.room.rosters.load("crew"), "human")

    def test_a_list_without_a_team_can_still_be_read(self, desk):
        twin(desk).write_as_others_do("session-1", 1, b"{}")
        assert (list_name(desk, "CREW"), list_name(desk, "session-1")) == ("crew", "session-1")
        with pytest.raises(AtmError):
            list_name(desk, "nobody")


class TestIdleMembers:
    def test_being_refused_one_task_makes_nobody_idle_who_works_on_another(self, desk):
        add(desk, "a", "b")
        claim(desk, "ann", "1")
        claim(desk, "bob", "2")
        assert why(desk, "ann", "2") == "claimed"
        assert desk.presence.last("crew", "ann").state == "working"

    def test_state_follows_claims(self, desk):
        add(desk, "a")
        assert claim(desk, "ann") == "1"
        assert desk.presence.last("crew", "ann").state == "working"
        why(desk, "bob")
        assert desk.presence.last("crew", "bob").state == "idle"


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


def build(desk: FullBoardroom, needs: list[list[int]]) -> None:
    for place, others in enumerate(needs):
        add(desk, f"t{place}", depends_on=[str(other + 1) for other in {*others} if other < place])


def take_step(desk: FullBoardroom, verb: str, who: str, one: int, other: int) -> None:
    id, second = str(one), str(other)
    if verb == "claim":
        before = desk.tasks.board("crew")
        done = board.claim(desk, "crew", who, None if other % 2 else id)
        assert (done.task is None) == (done.refusal is not None)
        if done.task is not None and not done.is_resumed:
            assert before.open_blockers(before.card(done.task.id)) == []
            if done.task.id not in done.released:
                assert before.card(done.task.id).status == "pending"
            assert done.task.owner == who
    elif verb == "complete":
        board.complete(desk, "crew", who, id)
    elif verb == "fail":
        board.fail(desk, "crew", who, id, "boom", final=other == 9)
    elif verb == "release":
        board.release(desk, "crew", who, id)
    elif verb == "cancel":
        board.cancel(desk, "crew", who, id, "no")
    elif verb == "split":
        planning.split(desk, "crew", who, id, [NewTask("part"), NewTask("part")])
    elif verb == "depend":
        planning.depend(desk, "crew", who, id, [second])
    elif verb == "assign":
        board.assign(desk, "crew", who, id, "bob")
    elif verb == "silence":
        pass_time(desk, 601 * one)
    else:
        board.comment(desk, "crew", who, id, "hm")


def check_consistent(desk: FullBoardroom) -> None:
    now = desk.tasks.board("crew")
    for card in now.cards.values():
        assert card.status in ("pending", "in_progress", "completed")
        assert card.is_claimed == bool(card.claim_id)
        assert (now.state(card) == "pending") == (card.status == "pending" and not now.open_blockers(card))
        for blocker in now.blockers(card):
            assert card.id in now.cards[int(blocker)].blocks  # both sides are kept
            assert blocker in card.blocked_by
    assert not [number for number, why in now.lost().items() if "circle" in why]


def check_history(desk: FullBoardroom) -> None:
    """One claimant at a time, finished once unless reopened, and everything that is so was told."""
    holder: dict[str, str] = {}
    for past in desk.tasks.past("crew")[0]:
        to = past.word("to")
        if past.word("type") == "status_changed" and to == "in_progress":
            assert past.task not in holder, "two claimants"
            holder[past.task] = str(past.event["id"])
        elif past.word("type") in ("status_changed", "owner_changed", "split"):
            if past.word("claim"):
                assert holder[past.task] == past.word("claim"), "not the current claim"
            holder.pop(past.task, None)
    now = desk.tasks.board("crew")
    assert holder == {card.id: card.claim_id for card in now.cards.values() if card.claim_id}


@settings(max_examples=examples(40))
@given(DAGS, STEPS)
def test_whatever_anybody_does_in_whatever_order_the_rules_hold_and_a_run_ends(needs, steps):
    desk = make_desk()
    build(desk, needs)
    for step in steps:
        try:
            take_step(desk, *step)
        except AtmError:
            pass
        check_consistent(desk)
    check_history(desk)
    for who in itertools.islice(itertools.cycle(["ann", "bob", "cleo", LEAD]), 400):
        done = board.claim(desk, "crew", who)
        if done.task is not None:
            board.complete(desk, "crew", who, done.task.id)
        elif desk.tasks.board("crew").is_resolved:
            break
    check_consistent(desk)
    check_history(desk)
    assert desk.tasks.board("crew").is_resolved
    completed = [past.task for past in desk.tasks.past("crew")[0] if past.word("to") == "completed"]
    assert len(completed) == len({*completed})


def test_a_claimant_is_heard_of_before_the_claim_can_be_seen(desk):
    """Else whoever looks in between takes the task back from somebody who was never heard of."""
    add(desk, "a")
    real, heard = desk.tasks.turn, []

    def turn(team):
        heard.append(desk.presence.last("crew", "stranger"))
        return real(team)

    desk.tasks.turn = turn
    claim(desk, "stranger")
    assert heard[0] is not None


def test_what_was_given_to_somebody_who_was_removed_is_free_again_also_if_the_removal_was_cut_off(desk):
    planning.add(desk, "crew", LEAD, [NewTask("a", owner="bob"), NewTask("b", owner="not-yet-here")])

    def killed(name: str) -> None:
        board.release_all(desk, "crew", "", name)
        raise Crash

    with pytest.raises(Crash):
        remove_member(desk.room, "crew", "bob", force=True, first=killed)
    assert claim(desk, "ann") == "1"
    assert desk.tasks.read("crew", "2").owner == "not-yet-here"


def test_checks_that_were_changed_while_they_ran_prove_nothing(desk):
    add(desk, "a", acceptance=[{"kind": "command", "command": "true"}])
    claim(desk, "ann")

    def change(*_: object, **__: object) -> Ran:
        data = desk.tasks.read("crew", "1").raw.replace('"true"', '"false"')
        desk.tasks.write_as_others_do("crew", 1, data.encode())
        return Ran(0)

    desk.programs.run = change
    with pytest.raises(ChecksFailed, match="changed while"):
        board.complete(desk, "crew", "ann", "1")
    assert desk.tasks.read("crew", "1").status == "in_progress"
