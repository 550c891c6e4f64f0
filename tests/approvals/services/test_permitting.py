"""One call, decided before it runs: allowed, denied with words for the agent, or left to others."""

from __future__ import annotations

import pytest
from tests.approvals.services.stage import LEAD, ApprovalStage, rule

from atm.approvals.rules.policy import Policy, PolicyLayer, Rule
from atm.approvals.rules.requests import APPROVED, DENIED
from atm.approvals.services.answering import give_answer
from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import add
from atm.board.services.reviews import approve_plan, submit_plan
from atm.board.services.working import claim, start


@pytest.fixture
def stage() -> ApprovalStage:
    return ApprovalStage(rule("deny", command="rm *"), rule("allow", 2, command="make *"), default="ask-human")


def answer(stage: ApprovalStage, state: str, who: str = "hugo", reason: str = "because") -> None:
    (one,) = [each for each in stage.store.all("crew") if each.answer is None]
    give_answer(stage.room, one, who, state, reason, "h")


def test_what_a_rule_allows_is_a_yes_and_writes_nothing(stage):
    said = stage.permit(stage.call("make"))
    assert (said.is_yes, said.is_no) == (True, False)
    assert (stage.events, stage.store.all("crew")) == ([], [])


def test_what_a_rule_denies_is_a_no_with_the_rule_and_stands_in_the_audit(stage):
    said = stage.permit(stage.call("rm x"))
    assert (said.is_yes, said.is_no) == (False, True)
    assert "rule 1 of mine" in said.reason
    (line,) = stage.store.audit("crew")
    assert (line["event"], line["by"]) == (DENIED, "policy")
    assert "rm x" in str(line["reason"])
    assert stage.store.all("crew") == []


def test_a_yes_while_it_waits_lets_it_through(stage):
    stage.while_waiting(lambda: answer(stage, APPROVED))
    said = stage.permit()
    assert said.is_yes
    assert "hugo approved it" in said.reason
    assert stage.events == ["asked", APPROVED, "used"]


def test_a_no_while_it_waits_is_told_with_its_reason(stage):
    stage.while_waiting(lambda: answer(stage, DENIED, reason="push after the review"))
    said = stage.permit()
    assert said.is_no
    assert "push after the review" in said.reason


def test_without_an_answer_it_is_a_no_for_now_with_the_id_and_the_answer_is_found_later(stage):
    begun = stage.clock.monotonic()
    said = stage.permit()
    assert 20 <= stage.clock.monotonic() - begun < 21
    assert said.is_no
    assert said.waits is not None
    assert said.waits.id in said.reason
    assert stage.events == ["asked", "left"]
    answer(stage, APPROVED)
    assert stage.permit().is_yes
    assert stage.events == ["asked", "left", APPROVED, "used"]
    assert stage.permit().is_no, "it was good for one execution"


def test_the_same_call_may_pass_twice_and_another_of_the_same_words_may_not(stage):
    stage.while_waiting(lambda: answer(stage, APPROVED))
    assert stage.permit(stage.call(call_id="1")).is_yes
    assert stage.permit(stage.call(call_id="1")).is_yes
    assert stage.permit(stage.call(call_id="2")).is_no


def test_its_program_may_ask_once_more_about_what_was_let_through(stage):
    stage.while_waiting(lambda: answer(stage, APPROVED))
    assert stage.permit(stage.call(call_id="1", session="s")).is_yes
    assert stage.permit(stage.call(session="s"), is_second=True).is_yes
    assert stage.permit(stage.call(session="other"), is_second=True).is_no
    assert stage.permit(stage.call("git push --force", session="s"), is_second=True).is_no
    stage.clock.pass_time(601)
    assert stage.permit(stage.call(session="s"), is_second=True).is_no


def test_a_yes_to_one_is_none_to_another(stage):
    stage.while_waiting(lambda: answer(stage, APPROVED))
    assert stage.permit(who="ann").is_yes
    assert stage.permit(who="bob").is_no


def test_what_its_host_asks_for_is_left_to_it_but_never_a_no(stage):
    left = stage.permit(is_asked_for=lambda _: True)
    assert (left.is_left, left.is_yes, left.is_no) == (True, False, False)
    assert stage.store.all("crew") == []
    assert stage.permit(stage.call("rm x"), is_asked_for=lambda _: True).is_no


def test_without_a_policy_there_is_no_opinion(stage):
    stage.room.policy = Policy(PolicyLayer(""))
    said = stage.permit()
    assert (said.is_yes, said.is_no, said.is_left) == (False, False, False)


def test_a_policy_of_others_alone_denies_and_grants_nothing(stage):
    theirs = PolicyLayer("theirs", [Rule("deny", {"command": ["rm *"]}, "theirs", 1), Rule("allow", {}, "theirs", 2)])
    stage.room.policy = Policy(PolicyLayer(""), [theirs])
    assert stage.permit(stage.call("rm x")).is_no
    said = stage.permit(stage.call("make"))
    assert (said.is_yes, said.is_no) == (False, False)


def test_a_policy_that_cannot_be_read_denies_everything(stage):
    stage.room.policy = Policy(PolicyLayer("mine", unreadable="rule 3 is none"))
    said = stage.permit(stage.call("ls"))
    assert said.is_no
    assert "rule 3 is none" in said.reason


def test_an_unclear_line_waits_for_a_person(stage):
    said = stage.permit(stage.call("make $x"))
    assert said.is_no
    assert said.waits is not None
    assert said.waits.tier == "human"


# Roles.


def planned(stage: ApprovalStage) -> str:
    id = add(stage.board, "crew", LEAD, [NewTask("work", needs_plan=True)]).tasks[0].id
    claim(stage.board, "crew", "bob", id)
    return id


def test_who_must_plan_only_looks_until_the_plan_is_approved(stage):
    stage.room.policy = Policy(PolicyLayer("mine", [rule("allow", command="make")], "allow"))
    id = planned(stage)
    assert not stage.permit(stage.call("ls"), plans=True).is_no
    for call in (stage.call("make"), stage.call("", tool="Write", paths=["a"])):
        said = stage.permit(call, plans=True)
        assert said.is_no
        assert "plan" in said.reason
    submit_plan(stage.board, "crew", "bob", id, "I shall")
    assert stage.permit(stage.call("make"), plans=True).is_no, "no answer means no"
    approve_plan(stage.board, "crew", LEAD, id)
    start(stage.board, "crew", "bob", id)
    assert stage.permit(stage.call("make"), plans=True).is_yes
    assert stage.permit(stage.call("make"), who="ann", plans=True).is_no


def test_a_role_binds_also_where_there_is_no_policy(stage):
    stage.room.policy = Policy(PolicyLayer(""))
    assert stage.permit(stage.call("make"), plans=True).is_no
    assert stage.permit(stage.call("make"), who=LEAD, delegates=True).is_no
    assert stage.events == [DENIED, DENIED]


def test_delegate_mode_binds_the_lead_alone(stage):
    assert stage.permit(stage.call("make"), who=LEAD, delegates=True).is_no
    assert stage.permit(stage.call("make"), who="bob", delegates=True).is_yes
    looks = stage.permit(stage.call("ls"), who=LEAD, delegates=True)
    assert "delegate mode" not in looks.reason
