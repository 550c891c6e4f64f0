"""Answering: by somebody who may, once, with everything that is known of how it was given."""

from __future__ import annotations

import pytest
from tests.approvals.services.stage import LEAD, ApprovalStage, rule

from atm.approvals.rules.requests import APPROVED, DENIED
from atm.approvals.services.answering import find_approval, give_answer
from atm.core.errors import NotAllowed, RequestError
from atm.core.work_errors import ApprovalClosed, NoSuchApproval
from atm.team.rules.agent_processes import ProcessOwner

TO_LEAD = rule("ask-lead", command="make *")


@pytest.fixture
def stage() -> ApprovalStage:
    return ApprovalStage(TO_LEAD)


@pytest.mark.parametrize(
    ("command", "asker", "who", "may"),
    [
        ("make", "bob", LEAD, True),
        ("make", "bob", "hugo", True),
        ("make", "bob", "human", True),
        ("make", "bob", "ann", False),
        ("make", "bob", "bob", False),
        ("make", LEAD, LEAD, False),
        ("make", LEAD, "hugo", True),
        ("git push", "bob", "hugo", True),
        ("git push", "bob", "HUMAN", True),
        ("git push", "bob", LEAD, False),
        ("git push", "bob", "ann", False),
        ("git push", "hugo", "hugo", False),
        ("git push", "bob", "stranger", False),
        ("make", "bob", "stranger", False),
    ],
)
def test_who_may_answer_depends_on_the_tier_and_never_is_the_requester(stage, command, asker, who, may):
    one = stage.ask(command, who=asker)
    if may:
        assert give_answer(stage.room, one, who, APPROVED, "", "h").answer is not None
        return
    with pytest.raises(NotAllowed):
        give_answer(stage.room, one, who, APPROVED, "", "h")
    assert stage.store.all("crew")[0].answer is None
    assert stage.events == ["asked"]


@pytest.mark.parametrize("who", ["hugo", "human"])
def test_nobody_is_a_person_under_the_process_of_an_agent(stage, who):
    one = stage.ask()
    stage.mail.acting_pid = 50
    stage.mail.processes.parents = {50: 40, 40: 1}
    stage.mail.processes.record(40, ProcessOwner("crew", "ann", None))
    with pytest.raises(NotAllowed):
        give_answer(stage.room, one, who, APPROVED, "", "h")


def test_a_no_says_why(stage):
    one = stage.ask()
    with pytest.raises(RequestError):
        give_answer(stage.room, one, "hugo", DENIED, "  ", "h")
    done = give_answer(stage.room, one, "hugo", DENIED, " not now ", "h")
    assert done.answer is not None
    assert done.answer.reason == "not now"


def test_the_first_answer_counts_and_the_second_is_told_so(stage):
    one = stage.ask()
    give_answer(stage.room, one, "hugo", DENIED, "no", "h")
    with pytest.raises(ApprovalClosed, match="denied by hugo"):
        give_answer(stage.room, one, "human", APPROVED, "", "h")
    assert stage.events == ["asked", DENIED]


def test_what_somebody_changed_is_not_answered(stage):
    one = stage.ask()
    one.problem = "somebody changed it"
    with pytest.raises(ApprovalClosed):
        give_answer(stage.room, one, "hugo", APPROVED, "", "h")


def test_the_audit_has_who_how_and_which_rule(stage):
    one = stage.ask("make")
    give_answer(stage.room, one, LEAD, APPROVED, "fine", "by terminal")
    line = stage.store.audit("crew")[-1]
    assert {key: line[key] for key in ("id", "event", "by", "how", "pid", "reason", "rule")} == {
        "id": one.id,
        "event": APPROVED,
        "by": LEAD,
        "how": "by terminal",
        "pid": 7,
        "reason": "fine",
        "rule": {"file": "mine", "number": 1, "text": TO_LEAD.text},
    }


def test_a_request_is_found_by_the_beginning_of_its_id_if_that_is_one(stage):
    one, two = stage.ask(), stage.ask("curl x")
    assert find_approval(stage.room, ["crew"], one.id[:11]).id == one.id
    assert find_approval(stage.room, ["crew"], two.id).id == two.id
    with pytest.raises(NoSuchApproval):
        find_approval(stage.room, ["crew"], "nothing")
    shared = one.id[: next(at for at in range(12) if one.id[at] != two.id[at])]
    with pytest.raises(NoSuchApproval):
        find_approval(stage.room, ["crew"], shared)


def unread(stage: ApprovalStage, name: str) -> list[str]:
    return [row.summary or "" for row in stage.mail.inboxes.unread("crew", name)]


@pytest.mark.parametrize("state", [APPROVED, DENIED])
def test_an_answered_request_is_no_news_in_the_mail_of_any_person(stage, state):
    asked = stage.ask("git push")
    assert any("asks for" in one for one in unread(stage, "hugo"))
    give_answer(stage.room, asked, "human", state, "because", "here")
    assert unread(stage, "hugo") == []
    assert any(asked.id in text for text in stage.inbox("hugo")), "it stays where it is"


def test_a_request_of_which_the_time_is_over_is_no_news_either(stage):
    from atm.approvals.services.looking import everything_in

    stage.ask("git push")
    stage.clock.pass_time(10_000_000)
    everything_in(stage.room, "crew")
    assert unread(stage, "hugo") == []


def test_other_mail_and_other_requests_stay_unread(stage):
    first, second = stage.ask("git push"), stage.ask("git push --tags")
    give_answer(stage.room, first, "hugo", APPROVED, "", "here")
    left = stage.mail.inboxes.unread("crew", "hugo")
    assert len(left) == 1
    assert second.id in left[0].text


def test_a_letter_that_was_read_already_keeps_its_receipt(stage):
    from atm.mail.services.reading import Filter, take

    asked = stage.ask("git push")
    take(stage.mail, "crew", "hugo", Filter())
    give_answer(stage.room, asked, "hugo", APPROVED, "", "here")
    letters = [entry for entry in stage.mail.ledger.entries("crew")[0] if entry.state == "answered"]
    assert letters == []
