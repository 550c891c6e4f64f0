"""Mail that was shown over MCP counts as read when the client goes on after the answer was sent to it, not before."""

from __future__ import annotations

import json

import pytest
from tests.mcp.crew import Crew

from atm.services.mail import Letter, send
from atm.ui.mcp.catalog import not_delivered, seen


@pytest.fixture
def crew(layout) -> Crew:
    return Crew(layout)


def state_of(crew: Crew, id: str) -> str:
    [journey] = crew.call("bob", "mail_receipts", id=id)["recipients"]
    found: str = journey["state"]
    return found


def test_what_the_client_went_on_with_is_read(crew):
    sent = crew.call("bob", "mail_send", to="ann", text="one")["message_id"]
    result = crew.call("ann", "mail_read")
    assert state_of(crew, sent) == "surfaced"
    seen(crew.caller("ann"), "mail_read", result, "the client went on with board_list after it")
    [journey] = crew.call("bob", "mail_receipts", id=sent)["recipients"]
    assert journey["state"] == "read"
    assert journey["steps"][-1]["evidence"] == "the client went on with board_list after it"


def test_it_is_entered_once(crew):
    sent = crew.call("bob", "mail_send", to="ann", text="one")["message_id"]
    result = crew.call("ann", "mail_read")
    for _ in range(3):
        seen(crew.caller("ann"), "mail_read", result, "went on")
    [journey] = crew.call("bob", "mail_receipts", id=sent)["recipients"]
    assert [step["state"] for step in journey["steps"]].count("read") == 1


def test_what_was_given_back_is_not_read(crew):
    sent = crew.call("bob", "mail_send", to="ann", text="one")["message_id"]
    result = crew.call("ann", "mail_read")
    not_delivered(crew.caller("ann"), "mail_read", result, "the client had gone")
    assert state_of(crew, sent) != "read"


def test_mail_of_another_program_without_an_id_gets_no_receipt(crew):
    path = crew.layout.inbox("crew", "ann")
    with open(path, "w", encoding="utf-8") as file:
        json.dump([{"from": "bob", "text": "hi", "timestamp": "2026-11-15T10:00:00.000Z", "read": False}], file)
    result = crew.call("ann", "mail_read")
    assert len(result["messages"]) == 1
    before = crew.room.ledger.entries("crew")
    seen(crew.caller("ann"), "mail_read", result, "went on")
    assert len(crew.room.ledger.entries("crew")[0]) == len(before[0])


@pytest.mark.parametrize("tool", ["mail_inbox", "board_list", "mail_request"])
def test_answers_without_mail_say_nothing_about_mail(crew, tool):
    sent = crew.call("bob", "mail_send", to="ann", text="one")["message_id"]
    result = crew.call("ann", "mail_read")
    seen(crew.caller("ann"), tool, result, "went on")
    assert state_of(crew, sent) == "surfaced"


def test_an_agent_that_calls_again_has_read_what_it_got_and_one_that_leaves_has_not(daemon, room, speak):
    first = send(room, "crew", "ann", Letter(sender="bob", text="one")).message_id
    spoken = speak("--as", "ann")
    spoken.shake_hands()
    assert "one" in json.dumps(spoken.call("mail_read"))
    second = send(room, "crew", "ann", Letter(sender="bob", text="two")).message_id
    assert "two" in json.dumps(spoken.call("mail_read"))  # the call that shows this one is the proof for the former
    assert spoken.end() == 0
    daemon.until(lambda: daemon.status()["surfaces"][0]["connections"] == 0)
    entries = room.ledger.entries("crew")[0]
    read = {id: entry.evidence for entry in entries if entry.state == "read" for id in entry.ids}
    assert read == {first: "the client went on with mail_read after it"}
    assert second not in read
