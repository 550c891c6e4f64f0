"""What an agent asks its host for: judged by the policy, answered when somebody does, cancelled when it is over."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.approvals.services.stage import LEAD, ApprovalStage, rule
from tests.vendors.names import CLAUDE, CODEX, CODEX_SERVER

from atm.approvals.formats.tool_calls import read_call
from atm.approvals.rules.policy import Policy, PolicyLayer
from atm.approvals.rules.requests import APPROVED, CANCELLED, DENIED
from atm.approvals.services.answering import give_answer
from atm.approvals.services.approvalroom import fresh
from atm.approvals.services.asking import ask, judged, use
from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import add
from atm.board.services.working import claim
from atm.crew.services.questions import HANDED_IN, NOBODY_ASKED, SAY_IT, HostQuestions
from atm.vendors.driver import QUESTION, Heard

IN_ITS_SHELL = "/bin/bash -lc 'git push'"


class Scene:
    """Bob's host, his program, and the questions between them."""

    def __init__(self, stage: ApprovalStage) -> None:
        self.stage = stage
        self.answers: dict[str, tuple[bool, str]] = {}
        self.record = SimpleNamespace(
            team="crew", member="bob", worktree="/w", folder="/w", session="s", task="1", has_task_for_life=False
        )
        host = SimpleNamespace(
            record=self.record,
            crew=SimpleNamespace(boardroom=stage.board),
            team=stage.team,
            machine=SimpleNamespace(log=lambda _: None),
            beat=lambda *_, **__: None,
        )
        driver = SimpleNamespace(answer=lambda id, *, allow, reason: self.answers.update({id: (allow, reason)}))
        self.questions = HostQuestions(host, driver, stage.room)  # type: ignore[arg-type]

    def asks(self, id: str, command: str, tool: str = "Bash", vendor: str = CLAUDE, **more: Any) -> None:
        self.questions.take(Heard(QUESTION, id=id, tool=tool, input={"command": command, **more}, vendor=vendor))

    @property
    def waiting(self) -> Any:
        return self.stage.store.all("crew")[-1]


@pytest.fixture
def stage() -> ApprovalStage:
    return ApprovalStage(rule("allow", 1, command="make *"), rule("deny", 2, command="rm *"), default="ask-human")


@pytest.fixture
def scene(stage) -> Scene:
    return Scene(stage)


def test_the_plan_of_a_task_that_it_was_started_for_is_handed_in_on_the_board(stage, scene):
    scene.record.has_task_for_life = True
    add(stage.board, "crew", LEAD, [NewTask("sort the letters", needs_plan=True)])
    claim(stage.board, "crew", "bob", "1")
    scene.asks("1", "", tool="ExitPlanMode", plan="I will touch one file.")
    assert scene.answers == {"1": (False, HANDED_IN)}
    assert stage.board.tasks.read("crew", "1").plan == "submitted"
    assert stage.store.all("crew") == []
    scene.asks("2", "", tool="exit_plan_mode")
    assert scene.answers["2"] == (False, SAY_IT)


def test_a_rule_answers_at_once(scene):
    scene.asks("1", "make test")
    scene.asks("2", "rm -rf x")
    assert scene.answers["1"] == (True, "")
    allow, reason = scene.answers["2"]
    assert not allow
    assert "rule 2 of mine" in reason


def test_what_is_asked_for_waits_until_somebody_answers(stage, scene):
    scene.asks("1", "git push")
    scene.questions.look()
    assert scene.answers == {}
    give_answer(stage.room, scene.waiting, "hugo", APPROVED, "", "h")
    scene.questions.look()
    assert scene.answers == {"1": (True, "")}
    assert scene.waiting.used_at is not None


def test_a_no_carries_its_reason(stage, scene):
    scene.asks("1", "git push")
    give_answer(stage.room, scene.waiting, "hugo", DENIED, "not before lunch", "h")
    scene.questions.look()
    allow, reason = scene.answers["1"]
    assert not allow
    assert "not before lunch" in reason
    assert scene.questions.unexplained


def test_a_model_that_tries_the_same_again_is_explained_to_once(stage, scene):
    scene.asks("1", "rm -rf x")
    scene.questions.unexplained = False
    scene.asks("2", "rm -rf x")
    assert not scene.questions.unexplained
    assert scene.answers["2"][0] is False


def test_silence_becomes_a_no(stage, scene):
    scene.asks("1", "git push")
    stage.clock.sleep(stage.room.expire + 1)
    scene.questions.look()
    assert scene.answers["1"][0] is False


def test_a_hook_and_a_question_about_one_call_are_one_execution(stage, scene):
    """Codex asks twice about a call that its hook let through: it has one number."""
    codex = {"tool": "shell", "vendor": CODEX_SERVER}
    scene.asks("1", IN_ITS_SHELL, itemId="call-7", **codex)
    give_answer(stage.room, scene.waiting, "hugo", APPROVED, "", "h")
    scene.questions.look()
    scene.asks("2", IN_ITS_SHELL, itemId="call-7", **codex)
    assert scene.answers["2"] == (True, "")
    scene.asks("3", IN_ITS_SHELL, itemId="call-8", **codex)
    assert "3" not in scene.answers


def test_what_codexs_hook_was_allowed_its_server_does_not_ask_for_again(stage, scene):
    hook = read_call(CODEX, "Bash", {"command": "git push"}, folder="/w", root="/w", session="s", call_id="call-7")
    understood, verdict = judged(stage.room, hook)
    asked = ask(stage.room, stage.team, "bob", understood, verdict)
    give_answer(stage.room, asked, "hugo", APPROVED, "", "h")
    assert use(stage.room, fresh(stage.room, asked), "call-7")
    scene.asks("1", IN_ITS_SHELL, itemId="call-7", tool="shell", vendor=CODEX_SERVER)
    assert scene.answers == {"1": (True, "")}
    scene.asks("2", "git push", tool="shell", itemId="call-8", vendor=CODEX_SERVER)
    assert "2" not in scene.answers


def test_a_model_cannot_name_the_call_that_was_executed(stage, scene):
    """A number among the arguments is the model's own, unless the program's protocol puts it there."""
    scene.asks("1", "git push", itemId="call-7", callID="call-7")
    give_answer(stage.room, scene.waiting, "hugo", APPROVED, "", "h")
    scene.questions.look()
    scene.asks("2", "git push", itemId="call-7", callID="call-7")
    assert "2" not in scene.answers


def test_a_field_that_atm_does_not_know_is_asked_for_although_a_rule_allows_the_command(scene):
    scene.asks("1", "make test", rawInput={"command": "git push"})
    assert scene.answers == {}
    assert scene.waiting.command == "make test"
    assert "rawInput" in scene.waiting.why
    assert "git push" in scene.waiting.diff


def test_a_question_that_is_withdrawn_is_cancelled(stage, scene):
    scene.asks("1", "git push")
    scene.questions.withdraw("1")
    assert scene.waiting.answer.state == CANCELLED
    scene.questions.look()
    assert scene.answers == {}


def test_what_is_open_when_the_agent_ends_is_cancelled(stage, scene):
    scene.asks("1", "git push")
    scene.asks("2", "git fetch")
    scene.questions.cancel_all()
    assert [one.answer.state for one in stage.store.all("crew") if one.answer] == [CANCELLED, CANCELLED]


def test_a_store_that_fails_is_a_no(stage, scene, monkeypatch):
    def broken(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(stage.store, "create", broken)
    scene.asks("1", "git push")
    allow, reason = scene.answers["1"]
    assert not allow
    assert "denied" in reason


def test_without_a_policy_nothing_is_asked_of_anybody_but_plans():
    stage = ApprovalStage()
    stage.room.policy = Policy(PolicyLayer(""))
    scene = Scene(stage)
    scene.asks("1", "git push")
    assert scene.answers["1"] == (False, NOBODY_ASKED)
    scene.asks("2", "", tool="mcp__atm__board_claim")
    assert scene.answers["2"] == (True, "")
    scene.asks("3", "", tool="ExitPlanMode", plan="I will touch one file.")
    assert "3" not in scene.answers
    assert (scene.waiting.tier, scene.waiting.operation) == ("lead", "plan")
    assert "one file" in scene.waiting.diff


def test_choices_and_wider_rights_are_for_nobody_to_grant_from_here(scene):
    for id, tool in enumerate(("AskUserQuestion", "permissions", "question"), 1):
        scene.asks(str(id), "", tool=tool)
    assert [allow for allow, _ in scene.answers.values()] == [False, False, False]
