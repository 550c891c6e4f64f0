"""Hooks of the user's: 0 passes, 2 blocks with feedback, anything else warns and stops nobody."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.proving import proves

from atm.board.adapters.programs import RealPrograms
from atm.board.rules.acceptance import Ran
from atm.board.services import planning
from atm.board.services import working as board
from atm.board.services.hooks import KEPT, HookVerdict, check_not_blocked, run_hooks
from atm.board.services.new_tasks import NewTask
from atm.core.work_errors import HookBlocked
from atm.roster.services.full_boardroom import FullBoardroom
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.testing import MemoryPrograms, memory_boardroom, memory_room

LEAD = "team-lead"


def make_desk(**hooks: list[str]) -> FullBoardroom:
    room = memory_room()
    create_team(room, "crew", lead=LEAD)
    for member in (Member("ann", cwd="/work/ann"), Member("bob")):
        add_member(room, "crew", member)
    return memory_boardroom(room, hooks=hooks)


def programs(boardroom: FullBoardroom) -> MemoryPrograms:
    assert isinstance(boardroom.programs, MemoryPrograms)
    return boardroom.programs


def ask(ran: Ran, event: str = "TaskCompleted") -> HookVerdict:
    boardroom = make_desk(**{event: ["hook"]})
    programs(boardroom).results["hook"] = ran
    return run_hooks(boardroom, event, "crew", "ann")


def said(**fields: Any) -> Ran:
    return Ran(0, json.dumps(fields))


EVENTS = ["TaskCreated", "TaskCompleted", "TeammateIdle"]


class TestVerdicts:
    @pytest.mark.parametrize("event", EVENTS)
    @pytest.mark.parametrize(
        "output", ["", "hello", "{not json", "[1]", "{}", '{"decision": "approve"}', '{"continue": true}']
    )
    def test_zero_lets_it_pass_whatever_else_it_says(self, event, output):
        verdict = ask(Ran(0, output), event)
        assert (verdict.is_blocked, verdict.stop_reason, verdict.warnings) == (False, None, [])

    @pytest.mark.parametrize("event", EVENTS)
    @pytest.mark.parametrize(
        ("ran", "feedback"),
        [
            (Ran(2, errors="say why\n"), "say why"),
            (Ran(2, "on stdout"), "on stdout"),
            (Ran(2), ""),
            (Ran(2, "out", errors="err"), "err"),
        ],
    )
    def test_two_blocks_with_what_was_written_to_standard_error(self, event, ran, feedback):
        verdict = ask(ran, event)
        assert (verdict.is_blocked, verdict.feedback, verdict.warnings) == (True, feedback, [])

    @pytest.mark.parametrize("event", EVENTS)
    @pytest.mark.parametrize(
        "ran",
        [
            Ran(1, errors="boom"),
            Ran(127),
            Ran(-9),
            Ran(None, "no shell"),
            Ran(None, timed_out=True),
            Ran(3, '{"decision": "block"}'),
        ],
    )
    def test_anything_else_is_a_warning_and_stops_nobody(self, event, ran):
        verdict = ask(ran, event)
        assert not verdict.is_blocked
        assert len(verdict.warnings) == 1
        assert "stops nobody" in verdict.warnings[0]

    def test_a_hook_that_hangs_is_named_with_its_limit(self):
        assert "did not end within 60 s" in ask(Ran(None, timed_out=True)).warnings[0]

    def test_a_hook_that_could_not_be_started_did_not_end_with_none(self):
        assert "None" not in ask(Ran(None, "no such folder")).warnings[0]

    @pytest.mark.parametrize(
        ("event", "is_blocked"), [("TaskCreated", True), ("TaskCompleted", True), ("TeammateIdle", False)]
    )
    def test_a_decision_to_block_counts_where_claude_code_lets_it_count(self, event, is_blocked):
        verdict = ask(said(decision="block", reason="not yet"), event)
        assert (verdict.is_blocked, verdict.feedback) == (is_blocked, "not yet" if is_blocked else "")

    @pytest.mark.parametrize(
        ("event", "reason"), [("TaskCreated", None), ("TaskCompleted", "enough"), ("TeammateIdle", "enough")]
    )
    def test_continue_false_asks_the_member_to_stop(self, event, reason):
        verdict = ask(Ran(0, '{"continue": false, "stopReason": "enough"}'), event)
        assert (verdict.stop_reason, verdict.is_blocked) == (reason, False)

    def test_a_stop_without_a_reason_is_a_stop(self):
        assert ask(Ran(0, '{"continue": false}')).stop_reason == ""

    @pytest.mark.parametrize("fields", [{"decision": 5}, {"continue": "false"}, {"continue": 0}])
    def test_fields_of_another_kind_break_nothing(self, fields):
        verdict = ask(said(**fields))
        assert (verdict.is_blocked, verdict.stop_reason, verdict.warnings) == (False, None, [])

    def test_a_reason_of_another_kind_is_shown_as_it_is(self):
        verdict = ask(said(decision="block", reason=["x"]))
        assert (verdict.is_blocked, verdict.feedback) == (True, "['x']")

    def test_feedback_is_bounded(self):
        assert len(ask(Ran(2, errors="x" * 4000)).feedback) == KEPT
        assert len(ask(said(decision="block", reason="x" * 3000)).feedback) == KEPT

    def test_no_hooks_are_no_verdict_at_all(self):
        verdict = run_hooks(make_desk(), "TaskCompleted", "crew", "ann")
        assert (verdict.is_blocked, verdict.warnings) == (False, [])

    def test_a_block_without_words_says_at_least_who_it_was(self):
        with pytest.raises(HookBlocked, match="a hook said no"):
            check_not_blocked(ask(Ran(2)), "nothing was done")

    def test_a_decision_with_a_long_reason_is_a_decision_all_the_same(self, layout):
        boardroom = make_desk(TaskCompleted=["""printf '{"decision": "block", "reason": "%05000d"}' 1"""])
        real = RealPrograms(layout)
        boardroom._programs = lambda: real
        boardroom.hook_seconds = 10.0
        assert run_hooks(boardroom, "TaskCompleted", "crew", "bob").is_blocked


class TestOrder:
    def test_hooks_run_in_order_until_one_says_no(self):
        boardroom = make_desk(TaskCompleted=["one", "two", "three"])
        programs(boardroom).results = {"one": Ran(1), "two": Ran(2, errors="no")}
        verdict = run_hooks(boardroom, "TaskCompleted", "crew", "ann")
        assert [command for command, _, _ in programs(boardroom).ran] == ["one", "two"]
        assert (verdict.is_blocked, len(verdict.warnings)) == (True, 1)

    def test_every_run_is_logged(self):
        boardroom = make_desk(TaskCompleted=["one", "two"])
        programs(boardroom).results = {"one": Ran(0, "fine", seconds=1.23456), "two": Ran(None, timed_out=True)}
        run_hooks(boardroom, "TaskCompleted", "crew", "ann")
        first, second = programs(boardroom).logged
        assert (first["event"], first["team"], first["command"], first["code"]) == ("TaskCompleted", "crew", "one", 0)
        assert (first["output"], first["seconds"], first["blocked"]) == ("fine", 1.235, False)
        assert (second["code"], second["timedOut"]) == (None, True)

    def test_a_hook_reads_what_claude_codes_hooks_read_and_runs_where_the_member_works(self):
        boardroom = make_desk(TeammateIdle=["hook"])
        programs(boardroom).at = "/work/ann/src"
        run_hooks(boardroom, "TeammateIdle", "crew", "ann")
        _, folder, stdin = programs(boardroom).ran[0]
        assert folder == "/work/ann"
        assert json.loads(stdin) == {
            "session_id": "",
            "transcript_path": "",
            "cwd": "/work/ann",
            "permission_mode": "default",
            "hook_event_name": "TeammateIdle",
            "teammate_name": "ann",
            "team_name": "crew",
        }

    @pytest.mark.parametrize("who", ["bob", "stranger"])
    def test_somebody_without_a_folder_runs_it_where_we_are(self, who):
        boardroom = make_desk(TeammateIdle=["hook"])
        run_hooks(boardroom, "TeammateIdle", "crew", who)
        assert programs(boardroom).ran[0][1] == ""


class TestCompletion:
    def start(self, boardroom: FullBoardroom) -> None:
        planning.add(boardroom, "crew", LEAD, [NewTask("a", description="é\x1b")])
        board.claim(boardroom, "crew", "ann")

    @proves("R004-gap-p3-05")
    def test_a_hook_that_says_no_leaves_the_task_in_progress(self):
        boardroom = make_desk(TaskCompleted=["hook"])
        self.start(boardroom)
        programs(boardroom).results["hook"] = Ran(2, errors="tests first")
        with pytest.raises(HookBlocked, match="#1 was not completed: tests first"):
            board.complete(boardroom, "crew", "ann", "1")
        assert boardroom.tasks.read("crew", "1").is_claimed
        programs(boardroom).results.clear()
        board.complete(boardroom, "crew", "ann", "1")

    def test_the_hook_is_told_of_the_task(self):
        boardroom = make_desk(TaskCompleted=["hook"])
        self.start(boardroom)
        board.complete(boardroom, "crew", "ann", "1")
        told = json.loads(programs(boardroom).ran[0][2])
        assert (told["task_id"], told["task_subject"], told["task_description"]) == ("1", "a", "é\x1b")

    def test_a_hook_that_crashes_or_hangs_stops_nobody_and_is_told(self):
        boardroom = make_desk(TaskCompleted=["hook"])
        self.start(boardroom)
        programs(boardroom).results["hook"] = Ran(None, timed_out=True)
        done = board.complete(boardroom, "crew", "ann", "1")
        assert done.verdict is not None
        assert (done.task.status, len(done.verdict.warnings)) == ("completed", 1)

    def test_a_wish_to_stop_comes_with_the_completion(self):
        boardroom = make_desk(TaskCompleted=["hook"])
        self.start(boardroom)
        programs(boardroom).results["hook"] = Ran(0, '{"continue": false, "stopReason": "enough"}')
        done = board.complete(boardroom, "crew", "ann", "1")
        assert done.verdict is not None
        assert done.verdict.stop_reason == "enough"

    def test_hooks_are_asked_after_the_checks(self):
        boardroom = make_desk(TaskCompleted=["hook"])
        planning.add(boardroom, "crew", LEAD, [NewTask("a", acceptance=[{"kind": "command", "command": "make"}])])
        board.claim(boardroom, "crew", "ann")
        board.complete(boardroom, "crew", "ann", "1")
        assert [command for command, _, _ in programs(boardroom).ran] == ["make", "hook"]

    def test_nobody_asks_hooks_about_what_may_not_be_completed_anyway(self):
        boardroom = make_desk(TaskCompleted=["hook"])
        self.start(boardroom)
        with pytest.raises(Exception, match="works on"):
            board.complete(boardroom, "crew", "bob", "1")
        assert programs(boardroom).ran == []


class TestIdle:
    @proves("R004-defects-06b")
    def test_a_hook_is_told_once_in_each_idle_time(self):
        boardroom = make_desk(TeammateIdle=["hook"])
        for _ in range(5):
            board.claim(boardroom, "crew", "ann")
        assert len(programs(boardroom).ran) == 1
        planning.add(boardroom, "crew", LEAD, [NewTask("a")])
        board.claim(boardroom, "crew", "ann")
        board.complete(boardroom, "crew", "ann", "1")
        assert len(programs(boardroom).ran) == 1
        for _ in range(5):
            board.claim(boardroom, "crew", "ann")
        assert len(programs(boardroom).ran) == 2

    def test_each_member_has_idle_times_of_their_own(self):
        boardroom = make_desk(TeammateIdle=["hook"])
        for who in ("ann", "bob", "ann", "bob"):
            board.claim(boardroom, "crew", who)
        assert len(programs(boardroom).ran) == 2

    @proves("R004-gap-p3-04")
    def test_feedback_comes_back_with_the_empty_hand(self):
        boardroom = make_desk(TeammateIdle=["hook"])
        programs(boardroom).results["hook"] = Ran(2, errors="look at the docs")
        done = board.claim(boardroom, "crew", "ann")
        assert done.verdict is not None
        assert (done.task, done.verdict.is_blocked, done.verdict.feedback) == (None, True, "look at the docs")

    def test_somebody_with_a_task_is_not_idle(self):
        boardroom = make_desk(TeammateIdle=["hook"])
        planning.add(boardroom, "crew", LEAD, [NewTask("a")])
        board.claim(boardroom, "crew", "ann")
        board.claim(boardroom, "crew", "ann")
        assert programs(boardroom).ran == []

    def test_being_refused_one_task_does_not_swallow_the_hook_of_the_idle_time(self):
        boardroom = make_desk(TeammateIdle=["hook"])
        planning.add(boardroom, "crew", LEAD, [NewTask("a")])
        board.claim(boardroom, "crew", "bob")
        board.claim(boardroom, "crew", "ann", "1")
        board.claim(boardroom, "crew", "ann")
        assert len(programs(boardroom).ran) == 1
