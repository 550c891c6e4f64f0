"""Requests whose asker needs no answer any more are cancelled, and people do not see them."""

from __future__ import annotations

import pytest
from tests.approvals.services.stage import LEAD, ApprovalStage

from atm.approvals.rules.requests import APPROVED, CANCELLED, WAITING
from atm.approvals.services.answering import give_answer
from atm.approvals.services.approvalroom import fresh
from atm.approvals.services.looking import everything_in, waiting_in
from atm.approvals.services.withdrawing import withdraw_all_of, withdraw_moot
from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import add
from atm.board.services.working import assign, cancel, claim, complete, fail
from atm.core.errors import UnreadableFile
from atm.core.work_errors import ApprovalClosed
from atm.roster.services.members import remove_member
from atm.team.rules.liveness import ENDED, WORKING
from atm.team.services.presence import beat

HOST = 4242


@pytest.fixture
def stage() -> ApprovalStage:
    made = ApprovalStage(default="ask-human")
    add(made.board, "crew", LEAD, [NewTask("sort the letters"), NewTask("post them")])
    beat(made.board.presence, "crew", "bob", made.clock.now(), "atm host", pid=HOST, state=WORKING)
    made.board.presence.running.add(HOST)  # type: ignore[attr-defined]
    claim(made.board, "crew", "bob", "1")
    return made


def state(stage: ApprovalStage, approval: object) -> tuple[str, str]:
    now = fresh(stage.room, approval)  # type: ignore[arg-type]
    return now.state(stage.clock.now()), now.answer.reason if now.answer is not None else ""


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (lambda b: cancel(b, "crew", LEAD, "1", "not needed"), "#1 is cancelled"),
        (lambda b: complete(b, "crew", "bob", "1"), "#1 is completed"),
        (lambda b: fail(b, "crew", "bob", "1", "no", final=True), "#1 is failed"),
        (lambda b: assign(b, "crew", LEAD, "1", "ann"), "bob does not work on #1 any more"),
        (lambda b: fail(b, "crew", "bob", "1", "once"), "bob does not work on #1 any more"),
    ],
)
def test_a_request_goes_with_the_claim_that_it_was_made_for(stage, act, why):
    asked = stage.ask(task="1")
    assert [one.id for one in waiting_in(stage.room, "crew")] == [asked.id]
    act(stage.board)
    assert waiting_in(stage.room, "crew") == []
    assert state(stage, asked) == (WAITING, "")  # looking closes nothing
    everything_in(stage.room, "crew")
    assert state(stage, asked) == (CANCELLED, why)
    assert stage.events == ["asked", "cancelled"]


def test_the_next_claim_of_the_same_member_does_not_bring_the_request_back(stage):
    asked = stage.ask(task="1")
    fail(stage.board, "crew", "bob", "1", "once")
    claim(stage.board, "crew", "bob", "1")
    assert waiting_in(stage.room, "crew") == []
    again = stage.ask(task="1")
    assert again.id != asked.id
    assert [one.id for one in waiting_in(stage.room, "crew")] == [again.id]
    assert state(stage, asked)[0] == CANCELLED


def test_a_request_about_a_task_that_its_asker_never_held_stays(stage):
    asked = stage.ask(task="2")
    assert [one.id for one in waiting_in(stage.room, "crew")] == [asked.id]


def test_a_request_ends_with_the_process_that_asked(stage):
    asked = stage.ask()
    stage.board.presence.running.discard(HOST)
    assert waiting_in(stage.room, "crew") == []
    with pytest.raises(ApprovalClosed, match="the process that asked for bob has ended"):
        give_answer(stage.room, asked, "hugo", APPROVED, "", "in a test")
    assert state(stage, asked)[0] == CANCELLED


def test_a_deferred_request_outlives_the_process_and_the_session_that_asked(stage):
    """Its program ends with the call open, and asks again when it is resumed."""
    asked = stage.ask(is_deferred=True)
    stage.board.presence.running.discard(HOST)
    beat(stage.board.presence, "crew", "bob", stage.clock.now(), "claude hook SessionEnd", state=ENDED)
    assert [one.id for one in waiting_in(stage.room, "crew")] == [asked.id]
    give_answer(stage.room, asked, "hugo", APPROVED, "", "in a test")
    assert state(stage, asked)[0] == APPROVED


def test_a_request_ends_with_the_session_that_asked_and_not_with_one_before_it(stage):
    beat(stage.board.presence, "crew", "ann", stage.clock.now(), "claude hook SessionEnd", state=ENDED)
    stage.clock.pass_time(60)
    asked = stage.ask(who="ann")
    assert [one.id for one in waiting_in(stage.room, "crew")] == [asked.id]
    stage.clock.pass_time(60)
    beat(stage.board.presence, "crew", "ann", stage.clock.now(), "claude hook SessionEnd", state=ENDED)
    assert waiting_in(stage.room, "crew") == []


def test_a_request_of_a_member_that_left_waits_for_nobody(stage):
    asked = stage.ask(who="ann")
    remove_member(stage.mail, "crew", "ann", force=True)
    assert [one.id for one in withdraw_moot(stage.room, "crew")] == [asked.id]
    assert state(stage, asked) == (CANCELLED, "ann is not a member of the team any more")


def test_a_board_that_cannot_be_read_denies_nobody(stage, monkeypatch):
    asked = stage.ask(task="1")

    def broken(*_: object) -> None:
        raise UnreadableFile("no JSON", "mend it", "/tasks")

    monkeypatch.setattr(stage.board.tasks, "board", broken)
    assert withdraw_moot(stage.room, "crew") == []
    assert state(stage, asked) == (WAITING, "")


def test_an_answer_that_was_quicker_counts(stage):
    asked = stage.ask(task="1")
    give_answer(stage.room, asked, "hugo", APPROVED, "", "in a test")
    cancel(stage.board, "crew", LEAD, "1", "not needed")
    assert withdraw_moot(stage.room, "crew", [asked]) == []
    assert state(stage, asked)[0] == APPROVED


def test_what_an_agent_asked_in_this_life_is_cancelled_when_it_is_cleared_away(stage):
    before = stage.ask("git push one")
    stage.clock.pass_time(10)
    began = stage.clock.now()
    now, other = stage.ask("git push two"), stage.ask(who="ann")
    assert [one.id for one in withdraw_all_of(stage.room, "crew", "BOB", began, "bob has ended")] == [now.id]
    assert state(stage, now) == (CANCELLED, "bob has ended")
    assert state(stage, before)[0] == state(stage, other)[0] == WAITING


def test_an_agent_whose_request_was_cancelled_hears_why(stage):
    def act() -> None:
        cancel(stage.board, "crew", LEAD, "1", "not needed")
        withdraw_moot(stage.room, "crew")

    stage.while_waiting(act)
    said = stage.permit()
    assert said.is_no
    assert "was cancelled: #1 is cancelled" in said.reason
