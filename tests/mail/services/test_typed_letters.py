"""Letters of a type: in our teams fields beside the words, in Claude Code's only what it knows."""

from __future__ import annotations

import json

import pytest

from atm.core.errors import BadMessage
from atm.mail.formats.typed_message import typed
from atm.mail.services.mailroom import find_addressee
from atm.mail.services.posting import Draft
from atm.mail.services.sending import broadcast, send
from atm.mail.services.typed.letters import give_type
from atm.roster.services.members import add_member, create_team
from atm.team.formats.team_config import new_member, new_team, with_member
from atm.team.rules.team import Member
from atm.testing import memory_room

CLAUDES = {"from", "text", "summary", "timestamp", "msgV", "msg_id", "type", "read"}


@pytest.fixture
def claudes():
    room = memory_room()
    roster = new_team("session-1", description="", lead="team-lead", now=0.0)
    room.rosters.create("session-1", with_member(roster, new_member(Member("bob"), "session-1", 0.0)))
    return room


def say(room, team, type, text, *pairs, sender="team-lead", to="bob", **more):
    letter = Draft(sender=sender, text=text, **more)
    give_type(room, team, to, letter, type, pairs)
    return send(room, team, to, letter)


def rows(room, team, agent="bob"):
    return [json.loads(row.raw) for row in room.inboxes.rows(team, agent)]


def test_claude_code_gets_a_status_in_words_and_no_field_that_it_does_not_know(claudes):
    say(claudes, "session-1", "status_update", "all is done", "state=idle")
    (row,) = rows(claudes, "session-1")
    assert set(row) == CLAUDES
    assert (row["type"], row["text"]) == ("message", "Status: idle\nall is done")


@pytest.mark.parametrize("more", [{}, {"is_urgent": True, "action": "later"}])
def test_claude_code_is_asked_to_end_as_it_asks_itself(claudes, more):
    say(claudes, "session-1", "shutdown_request", "the day is over", **more)
    (row,) = rows(claudes, "session-1")
    assert set(row) == CLAUDES
    said = json.loads(row["text"])
    assert (said["type"], said["reason"], said["from"]) == ("shutdown_request", "the day is over", "team-lead")
    assert typed(claudes.inboxes.rows("session-1", "bob")[0]).type == "shutdown_request"


def test_whoever_wants_an_acknowledgement_says_it_in_words(claudes):
    say(claudes, "session-1", "shutdown_response", "", "approved=yes", ack_minutes=5)
    assert "Please acknowledge" in rows(claudes, "session-1")[0]["text"]


def test_in_a_team_of_ours_everybody_is_asked_in_words_whoever_serves_them():
    room = memory_room()
    create_team(room, "crew", lead="ann")
    add_member(room, "crew", Member("bob", backend="claude"))
    say(room, "crew", "shutdown_request", "done", sender="ann")
    (row,) = rows(room, "crew")
    assert row["text"] == "You are asked to end.\ndone"
    assert row["messageKind"] == "shutdown_request"


def test_what_cannot_be_of_that_type_changes_nothing(boardroom):
    letter = Draft(sender="bob", text="go")
    for type, pairs in (("plan_approval", ["approved=true"]), ("grant", []), ("status_update", [])):
        with pytest.raises(BadMessage):
            give_type(boardroom, "crew", "ann", letter, type, pairs)
    assert (letter.type, letter.text, letter.metadata) == ("text", "go", {})


def test_a_status_for_all_is_a_status(boardroom):
    letter = Draft(sender="ann", text="")
    give_type(boardroom, "crew", "*", letter, "status_update", ["state=idle"])
    broadcast(boardroom, "crew", letter)
    assert rows(boardroom, "crew")[0]["messageKind"] == "status_update"


def test_a_copy_for_all_says_that_it_is_one(boardroom):
    broadcast(boardroom, "crew", Draft(sender="ann", text="main is frozen"))
    (row,) = rows(boardroom, "crew")
    assert (row["messageKind"], "metadata" in row) == ("broadcast", False)


def test_the_lead_is_meant_by_its_role_before_somebody_who_left():
    room = memory_room()
    create_team(room, "crew", lead="ann")
    room.inboxes.create("crew", "lead")
    assert find_addressee(room, "crew", "Lead").agent == "ann"
    add_member(room, "crew", Member("lead"))
    assert find_addressee(room, "crew", "Lead").agent == "lead"
