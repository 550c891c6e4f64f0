"""A session that lost the lead hears of it through its own hook, with every prompt, until it leads again."""

from __future__ import annotations

from typing import Any

import pytest
from tests.sessions.services.stage import SessionStage

from atm.delivery.services.agent_hooks import HookVisit, attend
from atm.sessions.services.resuming import resume
from atm.team.rules.endpoints import Endpoint
from atm.vendors.moments import PROMPT, START, TOOL, HookCall


@pytest.fixture
def stage() -> SessionStage:
    made = SessionStage()
    made.task("parse", owner="bob")
    resume(made.as_session("old-session"), "crew")
    resume(made.as_session("new-session"), "crew", force=True)
    made.room.inboxes.change("crew", "ann", lambda _: [])
    return made


def hears(stage: Any, session: str, moment: str = PROMPT, me: str = "ann") -> str:
    heard: list[str] = []
    call = HookCall(vendor="claude", event="E", moment=moment, session=session)
    attend(
        HookVisit(
            stage.room,
            stage.room.rosters.load("crew"),
            me,
            call,
            carries="context",
            say=lambda answer: heard.append(answer.context),
            stop_on="urgent",
            brief=lambda: "briefing",
            locate=lambda: Endpoint(vendor="claude", session=session, at=0.0),
        )
    )
    return "".join(heard)


def test_the_former_lead_is_told_when_it_begins_and_with_every_prompt(stage):
    for moment in (START, PROMPT, PROMPT):
        assert "does not lead team crew any more: session new-session has taken over" in hears(
            stage, "old-session", moment
        )
    assert hears(stage, "old-session", TOOL) == ""


def test_nobody_else_is(stage):
    assert hears(stage, "new-session") == ""
    assert hears(stage, "old-session", me="bob").find("lead team") == -1


def test_and_no_more_when_it_has_the_lead_back(stage):
    resume(stage.as_session("old-session"), "crew", force=True)
    stage.room.inboxes.change("crew", "ann", lambda _: [])
    assert hears(stage, "old-session") == ""
