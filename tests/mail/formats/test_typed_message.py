"""What type a row is of: by our fields, or by Claude Code's text."""

from __future__ import annotations

import json

import pytest
from tests.proving import proves

from atm.mail.formats.inbox import decode_row, encode_row
from atm.mail.formats.protocol_message import parse
from atm.mail.formats.typed_message import claudes_text, type_of, typed
from atm.mail.rules.messages import TYPES, Message
from atm.testing import make_message


def said(**fields):
    return make_message("1", text=json.dumps(fields))


def row_of(type, metadata, *, claudes_team=False):
    message = Message(id="1", sender="bob", text="words", timestamp="t", read=False, type=type, metadata=metadata)
    return encode_row(message, claudes_team=claudes_team)


@proves("R004-messaging-M1", "R004-messaging-M2e")
@pytest.mark.parametrize("type", TYPES)
def test_each_type_and_what_it_carries_comes_back_from_its_row(type):
    metadata = {} if type == "text" else {"task_id": "3", "note": "ä"}
    back = decode_row(row_of(type, metadata))
    assert back is not None
    assert (back.type, back.metadata, back.unknown) == (type, metadata, ())


@pytest.mark.parametrize("type", TYPES)
def test_a_team_of_claude_codes_gets_only_fields_that_it_knows(type):
    row = json.loads(row_of(type, {"task_id": "3"}, claudes_team=True))
    assert set(row) == {"from", "text", "timestamp", "msgV", "msg_id", "type", "read"}
    assert row["type"] == "message"


def test_a_plain_message_looks_as_it_always_did():
    assert not {"messageKind", "metadata"} & set(json.loads(row_of("text", {})))


@pytest.mark.parametrize("field", ['"member_work_sync_nudge"', '"grant"', "7", "null", "[]"])
def test_a_type_that_is_none_of_the_eight_is_text_and_has_nothing_of_ours(field):
    raw = f'{{"from": "bob", "text": "hi", "messageKind": {field}, "metadata": {{"approved": "true"}}}}'
    back = decode_row(raw)
    assert back is not None
    assert (back.type, back.metadata) == ("text", {})


def test_of_metadata_only_what_is_text_is_read():
    raw = '{"from": "bob", "text": "hi", "messageKind": "status_update", "metadata": {"state": "idle", "n": 7}}'
    back = decode_row(raw)
    assert back is not None
    assert back.metadata == {"state": "idle"}


@pytest.mark.parametrize(
    ("fields", "type", "metadata"),
    [
        (
            {"type": "task_assignment", "taskId": "7", "subject": "s", "assignedBy": "lead", "description": "d"},
            "task_assignment",
            {"task_id": "7", "subject": "s", "assigned_by": "lead"},
        ),
        (
            {"type": "shutdown_request", "requestId": "r", "reason": "done"},
            "shutdown_request",
            {"request_id": "r", "reason": "done"},
        ),
        ({"type": "shutdown_approved", "requestId": "r"}, "shutdown_response", {"request_id": "r", "approved": "true"}),
        (
            {"type": "shutdown_rejected", "requestId": "r", "reason": "busy"},
            "shutdown_response",
            {"request_id": "r", "reason": "busy", "approved": "false"},
        ),
        (
            {"type": "shutdown_response", "request_id": "r", "approve": True, "content": "bye"},
            "shutdown_response",
            {"request_id": "r", "reason": "bye", "approved": "true"},
        ),
        ({"type": "shutdown_response", "approve": "true"}, "shutdown_response", {"approved": "false"}),
        ({"type": "plan_approval_request", "requestId": "p"}, "plan_submission", {"request_id": "p"}),
        (
            {"type": "plan_approval_response", "requestId": "p", "approved": True, "feedback": "ok"},
            "plan_approval",
            {"request_id": "p", "feedback": "ok", "approved": "true"},
        ),
        (
            {"type": "plan_approval_response", "requestId": "p"},
            "plan_approval",
            {"request_id": "p", "approved": "false"},
        ),
        ({"type": "task_completed", "taskId": 7}, "status_update", {"task_id": "7", "state": "completed"}),
        ({"type": "idle_notification", "idleReason": "available"}, "status_update", {"state": "idle"}),
        (
            {"type": "idle_notification", "idleReason": "failed", "failureReason": "no quota"},
            "status_update",
            {"note": "no quota", "state": "failed"},
        ),
        ({"type": "permission_request", "request_id": "q"}, "text", {}),
        ({"type": "something"}, "text", {}),
    ],
)
def test_what_claude_code_says_in_a_text_is_the_type_that_it_means(fields, type, metadata):
    found = typed(said(**fields))
    assert (found.type, found.metadata) == (type, metadata)


def test_our_fields_come_before_what_a_text_looks_like():
    message = said(type="shutdown_approved")
    message.type, message.metadata = "status_update", {"state": "idle"}
    assert typed(message).metadata == {"state": "idle"}


def test_a_plain_text_has_a_type_too():
    assert type_of(make_message("1", text="hello")) == "text"


def test_claude_code_is_asked_and_answered_in_its_own_words():
    asked = claudes_text("shutdown_request", {"request_id": "r", "reason": "done"}, "team-lead", "t")
    assert asked is not None
    assert json.loads(asked) == {
        "type": "shutdown_request",
        "requestId": "r",
        "from": "team-lead",
        "reason": "done",
        "timestamp": "t",
    }
    for approved, kind in (("true", "shutdown_approved"), ("false", "shutdown_rejected")):
        answered = parse(claudes_text("shutdown_response", {"approved": approved}, "scout", "t") or "")
        assert answered is not None
        assert answered.kind == kind


@pytest.mark.parametrize("type", [one for one in TYPES if not one.startswith("shutdown")])
def test_no_other_type_is_said_in_claude_codes_words_a_grant_least_of_all(type):
    assert claudes_text(type, {"approved": "true"}, "lead", "t") is None
