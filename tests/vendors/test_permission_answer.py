"""Our word on a call, in the shape that each vendor reads; a no is never silence."""

from __future__ import annotations

import json

import pytest

from atm.vendors.calls import ASK, LATER, NO, NO_OPINION, YES
from atm.vendors.calls import ASKED_ONCE_MORE as REQUEST
from atm.vendors.permission_answer import encode_permission


def said(vendor: str, event: str, verdict: str) -> object:
    text = encode_permission(vendor, event, verdict, "why\n\x1b[2J\u202e")
    assert text.isascii()
    assert "\x1b" not in text
    assert "\n" not in text
    return json.loads(text) if text else None


WHY = json.loads(encode_permission("gemini", "BeforeTool", NO, "why\n\x1b[2J\u202e"))["reason"]


def decided(event: str, verdict: str) -> object:
    decision = {"hookEventName": event, "permissionDecision": verdict, "permissionDecisionReason": WHY}
    return {"hookSpecificOutput": decision}


@pytest.mark.parametrize(
    ("vendor", "event", "verdict", "expected"),
    [
        ("claude", "PreToolUse", YES, decided("PreToolUse", "allow")),
        ("claude", "PreToolUse", NO, decided("PreToolUse", "deny")),
        ("claude", "PreToolUse", ASK, decided("PreToolUse", "ask")),
        ("claude", "PreToolUse", LATER, decided("PreToolUse", "defer")),
        ("codex", "PreToolUse", NO, decided("PreToolUse", "deny")),
        ("codex", "PreToolUse", YES, None),
        ("codex", "PreToolUse", ASK, None),
        ("gemini", "BeforeTool", NO, {"decision": "deny", "reason": WHY}),
        ("gemini", "BeforeTool", YES, {"decision": "allow", "reason": WHY}),
        ("opencode", "tool.execute.before", NO, {"permission": "deny", "reason": WHY}),
        ("opencode", "tool.execute.before", YES, {"permission": "allow", "reason": WHY}),
        *(
            (
                vendor,
                REQUEST,
                YES,
                {"hookSpecificOutput": {"hookEventName": REQUEST, "decision": {"behavior": "allow"}}},
            )
            for vendor in ("claude", "codex")
        ),
        ("agy", "PreToolUse", NO, None),
        ("somebody", "x", NO, None),
    ],
)
def test_every_vendor_is_answered_in_its_own_words(vendor, event, verdict, expected):
    assert said(vendor, event, verdict) == expected


@pytest.mark.parametrize("vendor", ["claude", "codex"])
def test_a_no_to_a_permission_request_carries_the_reason(vendor):
    text = encode_permission(vendor, REQUEST, NO, "because")
    assert json.loads(text)["hookSpecificOutput"]["decision"] == {"behavior": "deny", "message": "because"}


@pytest.mark.parametrize("vendor", ["claude", "codex", "gemini", "opencode", "agy"])
def test_no_opinion_is_silence(vendor):
    assert said(vendor, "PreToolUse", NO_OPINION) is None
