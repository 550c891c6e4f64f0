"""Asking: a request is made or found again; nothing but a yes that came in time lets anything happen, and once."""

from __future__ import annotations

import pytest
from tests.approvals.services.stage import LEAD, ApprovalStage, rule

from atm.approvals.rules.policy import Policy, PolicyLayer, Rule
from atm.approvals.rules.requests import APPROVED, CANCELLED, DENIED, EXPIRED, WAITING
from atm.approvals.services.answering import give_answer
from atm.approvals.services.approvalroom import fresh
from atm.approvals.services.asking import await_answer, cancel, leave, use
from atm.approvals.services.looking import everything_in, tidy, waiting_in
from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import add
from atm.board.services.working import claim
from atm.core.errors import AtmError
from atm.core.work_errors import ApprovalClosed


@pytest.fixture
def stage() -> ApprovalStage:
    return ApprovalStage()


def test_a_request_says_what_who_where_and_until_when(stage):
    one = stage.ask()
    assert (one.requester, one.tier, one.operation, one.tool, one.command, one.folder) == (
        *("bob", "human", "git_push", "Bash", "git push", "/w"),
    )
    assert one.expires_at - one.asked_at == 1800
    assert one.state(stage.clock.now()) == WAITING
    assert stage.events == ["asked"]


def test_whoever_asks_again_gets_the_same_request(stage):
    first = stage.ask()
    assert stage.ask().id == first.id
    assert stage.ask(who="ann").id != first.id
    assert stage.ask("git push --force").id != first.id
    assert stage.events == ["asked"] * 3


def test_the_people_are_told_or_the_lead_and_never_whoever_asked(stage):
    one = stage.ask()
    assert [one.id in text for text in stage.inbox("hugo")] == [True]
    assert stage.inbox(LEAD) == stage.inbox("bob") == []
    lead = ApprovalStage(rule("ask-lead", command="make"))
    lead.ask("make")
    assert (len(lead.inbox(LEAD)), lead.inbox("hugo")) == (1, [])
    lead.ask("make", who=LEAD)
    assert len(lead.inbox(LEAD)) == 1


def test_a_rule_that_decides_is_an_answer_of_the_policy():
    stage = ApprovalStage(rule("deny", command="rm *"), rule("allow", 2, command="make"))
    yes, no = stage.ask("make"), stage.ask("rm x")
    assert [(one.answer.by, one.answer.state) for one in (yes, no) if one.answer] == [
        *(("policy", APPROVED), ("policy", DENIED)),
    ]
    assert stage.events == ["asked", APPROVED, "asked", DENIED]
    assert stage.inbox("hugo") == []


def test_an_allow_that_is_nobodys_asks_a_person(stage):
    theirs = PolicyLayer("theirs", [Rule("allow", {}, "theirs", 1)], "allow")
    stage.room.policy = Policy(PolicyLayer(""), [theirs])
    assert stage.ask("make").state(stage.clock.now()) == WAITING


def test_an_answer_ends_the_waiting(stage):
    one = stage.ask()
    stage.while_waiting(lambda: give_answer(stage.room, one, "hugo", APPROVED, "", "h"))
    begun = stage.clock.monotonic()
    assert await_answer(stage.room, one, 60).state(stage.clock.now()) == APPROVED
    assert stage.clock.monotonic() - begun < 1


def test_without_an_answer_the_waiting_ends_in_time(stage):
    one = stage.ask()
    begun = stage.clock.monotonic()
    assert await_answer(stage.room, one, 20).state(stage.clock.now()) == WAITING
    assert 20 <= stage.clock.monotonic() - begun < 21


def test_silence_is_a_no_and_is_noted_once(stage):
    one = stage.ask(minutes=1)
    assert await_answer(stage.room, one, 600).state(stage.clock.now()) == EXPIRED
    for _ in range(2):
        everything_in(stage.room, "crew")
    assert stage.events == ["asked", EXPIRED]
    assert not use(stage.room, fresh(stage.room, one))
    with pytest.raises(ApprovalClosed):
        give_answer(stage.room, fresh(stage.room, one), "hugo", APPROVED, "", "h")


def test_a_yes_is_good_for_one_execution(stage):
    one = stage.ask()
    done = give_answer(stage.room, one, "hugo", APPROVED, "", "h")
    assert use(stage.room, done, "call-1")
    after = fresh(stage.room, one)
    assert use(stage.room, after, "call-1"), "the same call, asked about by another way"
    assert not use(stage.room, after, "call-2")
    assert not use(stage.room, done, "call-2"), "nor with what was read before"
    assert stage.events == ["asked", APPROVED, "used"]
    assert stage.ask().id != one.id


def test_a_yes_is_good_for_ten_minutes(stage):
    one = stage.ask()
    done = give_answer(stage.room, one, "hugo", APPROVED, "", "h")
    stage.clock.pass_time(600)
    assert stage.ask().id == one.id
    stage.clock.pass_time(1)
    assert not use(stage.room, done)
    assert stage.ask().id != one.id


def test_a_no_holds_for_ten_minutes(stage):
    one = stage.ask()
    give_answer(stage.room, one, "hugo", DENIED, "not now", "h")
    stage.clock.pass_time(600)
    assert stage.ask().id == one.id
    stage.clock.pass_time(1)
    assert stage.ask().id != one.id


def test_what_is_cancelled_cannot_be_answered_and_is_asked_anew(stage):
    one = stage.ask()
    cancel(stage.room, one, "the agent has ended")
    cancel(stage.room, one, "twice")
    assert fresh(stage.room, one).state(stage.clock.now()) == CANCELLED
    with pytest.raises(ApprovalClosed):
        give_answer(stage.room, fresh(stage.room, one), "hugo", APPROVED, "", "h")
    assert stage.ask().id != one.id
    assert stage.events == ["asked", CANCELLED, "asked"]


def test_an_answer_to_somebody_who_left_is_told_without_its_content(stage):
    one = stage.ask()
    leave(stage.room, one)
    give_answer(stage.room, fresh(stage.room, one), "hugo", APPROVED, "go on", "h")
    (letter,) = stage.inbox("bob")
    assert one.id in letter
    for word in ("approved", "go on", "hugo", "denied"):
        assert word not in letter
    assert stage.events == ["asked", "left", APPROVED]


def test_who_waits_is_not_written_to(stage):
    one = stage.ask()
    give_answer(stage.room, one, "hugo", DENIED, "no", "h")
    assert stage.inbox("bob") == []


def test_a_request_for_a_task_stands_in_its_history(stage):
    id = add(stage.board, "crew", LEAD, [NewTask("work")]).tasks[0].id
    claim(stage.board, "crew", "bob", id)
    one = stage.ask(task=id)
    give_answer(stage.room, one, "hugo", APPROVED, "", "h")
    kinds = [past.word("type") for past in stage.board.tasks.past("crew")[0] if past.task == id]
    assert [kind for kind in kinds if kind.startswith("approval_")] == ["approval_asked", "approval_approved"]


def test_who_cannot_be_noted_in_the_audit_is_not_let_through(stage, monkeypatch):
    one = stage.ask()
    done = give_answer(stage.room, one, "hugo", APPROVED, "", "h")

    def fail(*_: object) -> None:
        raise AtmError("the disk is full", "make room")

    monkeypatch.setattr(stage.store, "note", fail)
    with pytest.raises(AtmError):
        use(stage.room, done)
    with pytest.raises(AtmError):
        stage.ask("git push x")


def test_only_what_waits_is_listed_unless_all_is_wanted(stage):
    one = stage.ask()
    stage.clock.pass_time(1)
    two = stage.ask("curl x")
    give_answer(stage.room, one, "hugo", DENIED, "no", "h")
    assert [each.id for each in waiting_in(stage.room, "crew")] == [two.id]
    assert [each.id for each in everything_in(stage.room, "crew")] == [one.id, two.id]


def test_closed_requests_go_after_a_month_and_the_audit_stays(stage):
    one = stage.ask()
    give_answer(stage.room, one, "hugo", DENIED, "no", "h")
    stage.clock.pass_time(29 * 86_400)
    assert tidy(stage.room, "crew") == 0
    stage.clock.pass_time(2 * 86_400)
    assert tidy(stage.room, "crew") == 1
    assert stage.store.all("crew") == []
    assert stage.events == ["asked", DENIED]
