"""Payloads that the vendors' real programs gave to our hooks, as they were recorded: each is read as what it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from atm.vendors.hook_call import known_events, parse_call
from atm.vendors.moments import (
    END,
    IDLE,
    MAIL,
    NOTICE,
    PROMPT,
    START,
    STOP,
    TASK_CREATED,
    TOOL,
    TURN_DONE,
)

RECORDED = Path(__file__).parents[2] / "corpus" / "recorded_hooks"

MOMENTS = {
    "Notification": NOTICE,
    "PermissionRequest": NOTICE,
    "PostToolUse": TOOL,
    "SessionEnd": END,
    "SessionStart": START,
    "Stop": STOP,
    "TaskCreated": TASK_CREATED,
    "TeammateIdle": IDLE,
    "UserPromptSubmit": PROMPT,
    "Interrupt": TURN_DONE,
    "notify": TURN_DONE,
    "AfterAgent": STOP,
    "AfterTool": TOOL,
    "BeforeAgent": PROMPT,
    "chat.message": PROMPT,
    "mail.waiting": MAIL,
    "session.created": START,
    "session.idle": TURN_DONE,
    "tool.execute.after": TOOL,
}
NAMES = sorted(path.name for path in RECORDED.iterdir())


def event_of(name: str, said: dict[str, object]) -> str:
    return str(said.get("hook_event_name") or said.get("event") or name.partition("-")[2].partition(".")[0])


@pytest.mark.parametrize("name", NAMES)
def test_what_a_real_program_said_is_read_as_what_it_is(name):
    data = (RECORDED / name).read_bytes()
    said, vendor = json.loads(data), name.partition("-")[0]
    event = event_of(name, said)
    call = parse_call(vendor, event, data)
    assert (call.vendor, call.event, call.moment) == (vendor, event, MOMENTS[event])
    assert call.session
    assert call.folder == "/home/you/proj"
    assert call.is_subagent == bool(said.get("agent_id"))
    assert (call.member, call.team) == (said.get("teammate_name", ""), said.get("team_name", ""))
    assert event in known_events(vendor)


def test_a_teammate_in_a_pane_is_told_from_a_subagent():
    in_process = parse_call("claude", "PostToolUse", (RECORDED / "claude-PostToolUse-2.json").read_bytes())
    in_a_pane = parse_call("claude", "SessionStart", (RECORDED / "claude-SessionStart.json").read_bytes())
    assert (in_process.is_subagent, in_a_pane.is_subagent, in_a_pane.has_agent_type) == (True, False, True)
