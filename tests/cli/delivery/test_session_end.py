"""A session that has ended: `atm members` does not say that its member is online."""

from __future__ import annotations

import json


def call(crew, event, **more):
    payload = {"session_id": "s-1", "hook_event_name": event, **more}
    crew("hook", "claude", event, stdin=json.dumps(payload), env={"ATM_IDENTITY": "ann", "ATM_TEAM": "crew"})


def ann(crew):
    return next(one for one in crew("members", "crew", "--json").json["members"] if one["name"] == "ann")


def test_members_says_offline_after_the_end_of_a_session_and_online_after_the_next_begins(crew):
    call(crew, "SessionStart")
    assert ann(crew)["liveness"] == "online"
    call(crew, "SessionEnd", reason="prompt_input_exit")
    assert (ann(crew)["state"], ann(crew)["liveness"]) == ("ended", "offline")
    assert "offline (session ended, claude hook SessionEnd" in crew("members", "crew").out
    call(crew, "SessionStart")
    assert ann(crew)["liveness"] == "online"
