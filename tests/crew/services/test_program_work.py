"""Whoever must plan first works as soon as the plan of its task is approved on the board, and not before."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.approvals.services.stage import LEAD, ApprovalStage

from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import add
from atm.board.services.reviews import approve_plan, reject_plan, submit_plan
from atm.board.services.working import claim
from atm.core.errors import UnreadableFile
from atm.crew.rules.states import SPAWNING
from atm.crew.services.program_work import MAY_WORK, PLAN_EVERY, ProgramWork
from atm.mail.rules.surfacing import SERVER
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.mail.services.surfacing import Surfacing
from atm.team.rules import liveness
from atm.team.services.presence import beat
from atm.vendors import driver as drivers
from atm.vendors.driver import Heard


class Planner:
    """Bob's host; what his program was told."""

    def __init__(self, stage: ApprovalStage, *, requires_plan: bool = True) -> None:
        self.stage = stage
        self.begun = 0
        self.log: list[str] = []
        self.beats: list[str] = []
        self.record = SimpleNamespace(team="crew", member="bob", requires_plan=requires_plan, has_task_for_life=False)
        crew = SimpleNamespace(clock=stage.clock, room=stage.board.room, boardroom=stage.board)
        machine = SimpleNamespace(log=self.log.append)
        host = SimpleNamespace(
            record=self.record,
            crew=crew,
            team=stage.team,
            machine=machine,
            approvals=stage.room,
            beat=lambda state, **_: self.beats.append(state),
        )
        self.work = ProgramWork(host)  # type: ignore[arg-type]
        self.work._driver = SimpleNamespace(go_to_work=self._begin)

    def _begin(self) -> None:
        self.begun += 1

    def looks(self) -> int:
        self.stage.clock.sleep(PLAN_EVERY)
        self.work._look_for_plan()
        return self.begun


@pytest.fixture
def stage() -> ApprovalStage:
    made = ApprovalStage()
    add(made.board, "crew", LEAD, [NewTask("sort the letters", needs_plan=True)])
    claim(made.board, "crew", "bob", "1")
    return made


def test_a_plan_that_is_approved_lets_it_begin_once(stage):
    bob = Planner(stage)
    assert bob.looks() == 0
    submit_plan(stage.board, "crew", "bob", "1", "I will touch one file.")
    assert bob.looks() == 0
    approve_plan(stage.board, "crew", LEAD, "1")
    assert bob.looks() == 1
    assert bob.looks() == 1


def test_who_was_told_of_the_approval_while_it_could_only_plan_is_told_again_when_it_may_work(stage):
    bob = Planner(stage)
    submit_plan(stage.board, "crew", "bob", "1", "I will touch one file.")
    approve_plan(stage.board, "crew", LEAD, "1")
    turn = Surfacing(stage.board.room, "crew", "bob", SERVER, where="a hook")
    with turn as unread:
        turn.take(unread or [])
        turn.shown("by a hook")
    assert bob.looks() == 1
    assert bob.work._waiting == [MAY_WORK]


def test_another_letter_that_waits_is_not_the_answer_to_its_plan(stage):
    bob = Planner(stage)
    submit_plan(stage.board, "crew", "bob", "1", "I will touch one file.")
    approve_plan(stage.board, "crew", LEAD, "1")
    turn = Surfacing(stage.board.room, "crew", "bob", SERVER, where="a hook")
    with turn as unread:
        turn.take(unread or [])
        turn.shown("by a hook")
    send(stage.board.room, "crew", "bob", Draft(sender=LEAD, text="lunch?"))
    assert bob.looks() == 1
    assert bob.work._waiting == [MAY_WORK]


def test_an_inbox_that_cannot_be_read_keeps_nobody_from_work(stage, monkeypatch):
    def broken(*_: object) -> None:
        raise UnreadableFile("no JSON", "mend it", "/inboxes/bob.json")

    bob = Planner(stage)
    submit_plan(stage.board, "crew", "bob", "1", "I will touch one file.")
    approve_plan(stage.board, "crew", LEAD, "1")
    monkeypatch.setattr(stage.board.room.inboxes, "unread", broken)
    assert bob.looks() == 1
    assert bob.work._waiting == [MAY_WORK]


def test_who_is_told_by_its_mail_next_is_told_once(stage):
    bob = Planner(stage)
    submit_plan(stage.board, "crew", "bob", "1", "I will touch one file.")
    approve_plan(stage.board, "crew", LEAD, "1")
    assert bob.looks() == 1
    assert bob.work._waiting == []


def test_a_plan_that_is_rejected_does_not(stage):
    submit_plan(stage.board, "crew", "bob", "1", "I will touch all files.")
    reject_plan(stage.board, "crew", LEAD, "1", "too many")
    assert Planner(stage).looks() == 0


def test_a_board_that_cannot_be_read_keeps_it_planning_and_ends_nobody(stage, monkeypatch):
    def broken(*_: object) -> None:
        raise UnreadableFile("no JSON", "mend it", "/tasks/1.json")

    monkeypatch.setattr(stage.board.tasks, "board", broken)
    bob = Planner(stage)
    assert bob.looks() == 0
    assert bob.log == ["its plan cannot be looked up: no JSON"]


def test_who_never_had_to_plan_is_told_nothing(stage):
    submit_plan(stage.board, "crew", "bob", "1", "I will touch one file.")
    approve_plan(stage.board, "crew", LEAD, "1")
    assert Planner(stage, requires_plan=False).looks() == 0


def test_a_turn_that_ends_before_it_was_there_is_the_reason_of_its_end(stage):
    """As Claude Code ends that has no conversation of the wanted id."""
    bob = Planner(stage)
    bob.record.state, bob.record.session, bob.record.heard_at = SPAWNING, "", stage.clock.now()
    bob.work._take(Heard(drivers.IDLE, error="No conversation found"))
    assert bob.work._why == "No conversation found"
    assert bob.record.state == SPAWNING


def test_whose_task_was_checked_in_a_window_is_idle_again(stage):
    """Unless it has given a sign of its own since."""
    bob = Planner(stage)
    team, presence = stage.team, stage.board.presence
    for source, beats in ((stage.board.source("complete"), [liveness.IDLE]), ("claude hook", [])):
        beat(presence, team, "bob", stage.clock.now(), "claude hook", state=liveness.IDLE)
        beat(presence, team, "bob", stage.clock.now(), source, state=liveness.WORKING)
        bob.beats.clear()
        bob.work._rests_again()
        assert bob.beats == beats


def test_the_last_words_of_a_turn_stand_in_the_log_once(stage):
    """Every driver tells them twice: while the turn runs, and with its end."""
    bob = Planner(stage)
    bob.record.state, bob.record.session, bob.record.heard_at = SPAWNING, "", stage.clock.now()
    for heard in (
        Heard(drivers.OUTPUT, "I look at it"),
        Heard(drivers.OUTPUT, "All done.\nDONE: it works"),
        Heard(drivers.IDLE, "All done.\nDONE: it works"),
    ):
        bob.work._take(heard)
    assert bob.log == ["I look at it", "All done.\nDONE: it works"]
