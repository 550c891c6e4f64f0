"""One answer, in time, by somebody who may, is good for one execution; everything else is a no."""

from __future__ import annotations

import pytest

from atm.approvals.rules.policy import HUMAN, LEAD
from atm.approvals.rules.requests import (
    APPROVED,
    CANCELLED,
    DENIED,
    EXPIRED,
    SKEW,
    WAITING,
    Approval,
    GivenAnswer,
    audit_objection,
    is_meant,
    why_not_answer,
)

ASKED, EXPIRES, VALID = 1000.0, 2800.0, 600.0


def request(tier: str = HUMAN, answer: GivenAnswer | None = None, id: str = "abc123def456") -> Approval:
    made = Approval(
        id,
        team="crew",
        requester="bob",
        tier=tier,
        operation="git_push",
        tool="Bash",
        asked_at=ASKED,
        expires_at=EXPIRES,
    )
    made.answer = answer
    return made


def answered(state: str, at: float = 1100.0) -> Approval:
    return request(answer=GivenAnswer(state, by="ann", how="", pid=1, at=at))


@pytest.mark.parametrize(
    ("now", "state"), [(ASKED, WAITING), (EXPIRES - 0.001, WAITING), (EXPIRES, EXPIRED), (EXPIRES + 1e9, EXPIRED)]
)
def test_a_request_waits_until_its_time_is_over(now, state):
    assert request().state(now) == state
    assert not request().may_be_used(now, VALID)


@pytest.mark.parametrize("state", [APPROVED, DENIED, CANCELLED, EXPIRED])
def test_an_answer_is_its_state_also_when_its_time_is_over(state):
    assert answered(state).state(1200.0) == state
    assert answered(state).state(EXPIRES + 1) == state


@pytest.mark.parametrize("at", [EXPIRES, EXPIRES + 1])
def test_a_yes_that_came_too_late_is_none(at):
    late = answered(APPROVED, at)
    assert late.state(at) == EXPIRED
    assert not late.may_be_used(at, VALID)


def test_a_no_that_came_too_late_is_still_a_no():
    assert answered(DENIED, EXPIRES + 1).state(EXPIRES + 2) == DENIED


@pytest.mark.parametrize(
    ("now", "is_good"),
    [(1100.0, True), (1700.0, True), (1700.1, False), (1100.0 - SKEW, True), (1100.0 - SKEW - 0.1, False)],
)
def test_a_yes_is_good_for_a_while_and_a_no_holds_as_long(now, is_good):
    assert answered(APPROVED).may_be_used(now, VALID) == is_good
    assert answered(DENIED).still_denies(now, VALID) == is_good


@pytest.mark.parametrize("state", [DENIED, CANCELLED, EXPIRED])
def test_only_a_yes_may_be_used(state):
    assert not answered(state).may_be_used(1100.0, VALID)


@pytest.mark.parametrize("state", [APPROVED, CANCELLED, EXPIRED])
def test_only_a_no_denies_the_next_call_too(state):
    assert not answered(state).still_denies(1100.0, VALID)


def test_a_yes_that_was_used_is_good_for_the_same_call_alone():
    one = answered(APPROVED)
    one.used_at, one.used_by = 1101.0, "call-1"
    assert one.may_be_used(1102.0, VALID, "call-1")
    assert not one.may_be_used(1102.0, VALID, "call-2")
    assert not one.may_be_used(1102.0, VALID)


def test_a_use_without_a_number_is_used_up_for_everybody():
    one = answered(APPROVED)
    one.used_at = 1101.0
    assert not one.may_be_used(1102.0, VALID, "")
    assert not one.may_be_used(1102.0, VALID, "call-1")


def test_what_somebody_changed_may_not_be_used():
    one = answered(APPROVED)
    one.problem = "somebody changed it"
    assert not one.may_be_used(1102.0, VALID)


@pytest.mark.parametrize(
    ("tier", "who", "is_human", "is_lead", "may"),
    [
        (LEAD, "lead", False, True, True),
        (LEAD, "human", True, False, True),
        (LEAD, "ann", False, False, False),
        (HUMAN, "human", True, False, True),
        (HUMAN, "lead", False, True, False),
        (HUMAN, "ann", False, False, False),
        (LEAD, "bob", False, True, False),
        (HUMAN, "bob", True, False, False),
        (HUMAN, "BOB", True, True, False),
        (LEAD, "Bob", True, True, False),
    ],
)
def test_who_may_answer_is_a_matter_of_tiers_and_nobody_answers_for_themselves(tier, who, is_human, is_lead, may):
    assert (why_not_answer(request(tier), who, is_human=is_human, is_lead=is_lead) == "") == may


@pytest.mark.parametrize(
    ("given", "meant"),
    [("abc123def456", True), ("abc", True), ("ABC", True), ("", False), ("bc", False), ("abc2", False)],
)
def test_a_request_is_meant_by_the_beginning_of_its_id(given, meant):
    assert is_meant(request(), given) == meant


# What the audit says against the files.


@pytest.mark.parametrize(
    ("events", "state", "objection"),
    [
        (["asked"], WAITING, ""),
        (["asked", "left"], WAITING, ""),
        (["asked", "approved"], APPROVED, ""),
        (["asked", "left", "approved"], APPROVED, ""),
        ([], WAITING, "no line about who asked"),
        (["approved"], APPROVED, "no line about who asked"),
        (["asked"], APPROVED, "no line about who approved"),
        (["asked", "approved"], WAITING, "approved before"),
        (["asked", "denied"], WAITING, "denied before"),
        (["asked", "denied", "approved"], APPROVED, "denied before"),
        (["asked", "cancelled", "approved"], APPROVED, "cancelled before"),
        (["asked", "expired", "approved"], APPROVED, "expired before"),
        (["asked", "approved", "used"], APPROVED, "used before"),
    ],
)
def test_the_audit_decides_where_files_of_a_request_were_deleted(events, state, objection):
    found = audit_objection(events, state)
    assert objection in found
    assert bool(found) == bool(objection)
