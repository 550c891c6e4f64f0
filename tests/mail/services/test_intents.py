"""What a message is meant as: in the rows of our teams, in the ledger of all, never in `type`."""

from __future__ import annotations

import json

from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.roster.services.members import add_member, create_team
from atm.team.formats.team_config import new_member, new_team, with_member
from atm.team.rules.team import Member
from atm.testing import memory_room


def test_a_question_is_one_in_its_row_and_in_the_ledger():
    room = memory_room()
    create_team(room, "crew", lead="ann")
    add_member(room, "crew", Member("bob"))
    for kind in ("question", "info"):
        send(room, "crew", "bob", Draft(sender="ann", text="which one?", intent=kind))
    asked, told = (json.loads(row.raw) for row in room.inboxes.rows("crew", "bob"))
    assert (asked["kind"], asked["type"], "kind" in told) == ("question", "message", False)
    assert [entry.message.intent for entry in room.ledger.entries("crew")[0] if entry.message] == ["question", "info"]


def test_in_a_team_of_claude_codes_only_the_ledger_knows():
    room = memory_room()
    roster = new_team("session-1", description="", lead="team-lead", now=0.0)
    room.rosters.create("session-1", with_member(roster, new_member(Member("bob"), "session-1", 0.0)))
    send(room, "session-1", "bob", Draft(sender="x", text="no!", intent="challenge"))
    (row,) = room.inboxes.rows("session-1", "bob")
    assert "kind" not in json.loads(row.raw)
    assert [entry.intent for entry in room.ledger.entries("session-1")[0]] == ["challenge"]
