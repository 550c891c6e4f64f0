"""Mail that was shown over MCP counts as read when the client goes on after the answer was sent to it, not before."""

from __future__ import annotations

import json

import pytest
from tests.mcp.conftest import claim, run, until
from tests.mcp.crew import Crew

from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.roster.services.teamroom import Teamroom
from atm.team.rules.lifecycle import COMPLETE
from atm.team.services.lifecycle import walk
from atm.ui.mcp.catalog import not_delivered, seen
from atm.ui.mcp.identity import admit
from atm.ui.mcp.serving.client import Client, Handed


@pytest.fixture
def crew(layout) -> Crew:
    return Crew(layout)


def state_of(crew: Crew, id: str) -> str:
    [journey] = crew.call("bob", "mail_inbox", trace=id)["recipients"]
    found: str = journey["state"]
    return found


def states_of(room: Teamroom, id: str, team: str = "crew") -> list[str]:
    return [entry.state for entry in room.ledger.entries(team)[0] if id in entry.ids]


def test_what_the_client_went_on_with_is_read(crew):
    sent = crew.call("bob", "mail_send", to="ann", text="one")["message_id"]
    result = crew.call("ann", "mail_read")
    assert state_of(crew, sent) == "surfaced"
    seen(crew.caller("ann"), "mail_read", result, "the client went on with board_list after it")
    [journey] = crew.call("bob", "mail_inbox", trace=sent)["recipients"]
    assert journey["state"] == "read"
    assert journey["steps"][-1]["evidence"] == "the client went on with board_list after it"


def test_it_is_entered_once(crew):
    sent = crew.call("bob", "mail_send", to="ann", text="one")["message_id"]
    result = crew.call("ann", "mail_read")
    for _ in range(3):
        seen(crew.caller("ann"), "mail_read", result, "went on")
    [journey] = crew.call("bob", "mail_inbox", trace=sent)["recipients"]
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


def test_looking_back_at_a_completed_team_proves_nothing(crew):
    """Nothing is marked there; what was returned to the unread looks like something that was only surfaced."""
    sent = crew.call("bob", "mail_send", to="ann", text="one")["message_id"]
    not_delivered(crew.caller("ann"), "mail_read", crew.call("ann", "mail_read"), "the client had gone")
    walk(crew.room, "crew", COMPLETE, "lena")
    result = crew.call("ann", "mail_read")
    assert len(result["messages"]) == 1
    seen(crew.caller("ann"), "mail_read", result, "went on")
    assert "read" not in states_of(crew.room, sent)


@pytest.mark.parametrize("tool", ["mail_inbox", "board_list", "mail_request"])
def test_answers_without_mail_say_nothing_about_mail(crew, tool):
    sent = crew.call("bob", "mail_send", to="ann", text="one")["message_id"]
    result = crew.call("ann", "mail_read")
    seen(crew.caller("ann"), tool, result, "went on")
    assert state_of(crew, sent) == "surfaced"


def test_an_agent_that_calls_again_has_read_what_it_got_and_one_that_leaves_has_not(shared, speak):
    first = send(shared.room, shared.team, "ann", Draft(sender="bob", text="one")).message_id
    spoken = speak(shared, "--as", "ann")
    spoken.shake_hands()
    assert "one" in json.dumps(spoken.call("mail_read"))
    second = send(shared.room, shared.team, "ann", Draft(sender="bob", text="two")).message_id
    assert "two" in json.dumps(spoken.call("mail_read"))  # the call that shows this one is the proof for the former
    assert spoken.end() == 0
    shared.until(lambda: shared.status()["surfaces"][0]["connections"] == 0)
    entries = shared.room.ledger.entries(shared.team)[0]
    read = {id: entry.evidence for entry in entries if entry.state == "read" for id in entry.ids}
    assert read == {first: "the client went on with mail_read after it"}
    assert second not in read


def test_mail_whose_call_is_cancelled_after_it_was_sent_comes_again(shared, speak):
    """Nobody cancels what he has got: the answer is still on its way, and will not be looked at."""
    sent = send(shared.room, shared.team, "ann", Draft(sender="bob", text="one")).message_id
    spoken = speak(shared, "--as", "ann")
    spoken.shake_hands()
    id = spoken.begin("tools/call", name="mail_read", arguments={})
    shared.until(lambda: "surfaced" in states_of(shared.room, sent, shared.team))
    spoken.ask("ping")
    spoken.say(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}' % id)
    shared.until(lambda: "one" in json.dumps(spoken.call("mail_read")))
    states = states_of(shared.room, sent, shared.team)
    assert "read" not in states[: states.index("returned")]


def test_a_call_that_never_began_leaves_the_proof_to_the_next_one(layout, room):
    client = Client(admit(layout, claim(), has_daemon=True), "", lambda *_: ())
    client.sees_delivery = True
    handed = Handed(lambda: None, lambda _: None)
    client.hand_over(1, handed)
    client.delivered(1)
    arrived = client.goes_on()
    assert arrived == {1: handed}
    assert client.goes_on() == {}
    client.did_not_go_on(arrived)
    assert client.goes_on() == {1: handed}


def test_an_answer_that_became_an_error_is_given_back_and_never_read(layout, room):
    async def talk() -> None:
        given_back: list[int] = []
        client = Client(admit(layout, claim(), has_daemon=True), "", lambda *_: ())
        client.sees_delivery = True
        client.hand_over(1, Handed(lambda: given_back.append(1), lambda _: None))
        client.lost(1)
        client.lost(1)
        await until(lambda: given_back == [1])
        assert client.goes_on() == {}

    run(talk())
