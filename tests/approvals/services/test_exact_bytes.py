"""A yes is good for the very bytes that were shown: whatever stands before, around or behind them is another call."""

from __future__ import annotations

import pytest
from tests.approvals.services.stage import ApprovalStage

from atm.approvals.rules.requests import APPROVED
from atm.approvals.services.answering import give_answer

OTHERS = (
    "BASH_ENV=./evil.sh bash -c 'make one'",
    "bash -c 'make one'",
    "/bin/bash -lc 'make one'",
    "make one > /etc/cron.d/x",
    "PATH=/tmp make one",
    "make one ",
    " make one",
    "make one\n",
    "make  one",
)


@pytest.mark.parametrize("other", OTHERS)
def test_a_yes_for_a_line_runs_no_other_line(other):
    stage = ApprovalStage(default="ask-human")
    stage.room.hook = 0
    asked = stage.ask("make one")
    give_answer(stage.room, asked, "hugo", APPROVED, "", "h")
    refused = stage.permit(stage.call(other, call_id="c1"))
    assert refused.is_no
    assert refused.waits is not None
    assert refused.waits.command == other, "a person sees all of it"
    assert stage.permit(stage.call("make one", call_id="c2")).is_yes


@pytest.mark.parametrize("other", OTHERS)
def test_a_second_question_about_another_line_was_never_let_through(other):
    """Codex asks once more before it runs what its hook let through."""
    stage = ApprovalStage(default="ask-human")
    stage.room.hook = 0
    asked = stage.ask("make one")
    give_answer(stage.room, asked, "hugo", APPROVED, "", "h")
    assert stage.permit(stage.call("make one", call_id="c1")).is_yes
    assert stage.permit(stage.call("make one"), is_second=True).is_yes
    assert stage.permit(stage.call(other), is_second=True).is_no
