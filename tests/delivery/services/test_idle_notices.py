"""Idle notices: one for each idle time, and one unread one for each sender in the lead's inbox."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from atm.core.errors import WriteRefused
from atm.core.names import same_name
from atm.delivery.services.idle_notices import goes_idle, idle_notice, put_notice
from atm.files.formats.json_record import decode_object, encode
from atm.mail.formats.inbox import decode_row
from atm.mail.formats.protocol_message import idle_sender
from atm.mail.rules.messages import Message
from atm.mail.services.posting import Draft
from atm.mail.services.putting_back import put_back_dropped
from atm.mail.services.reading import Filter, take
from atm.mail.services.sending import send
from atm.roster.services.members import add_member
from atm.team.formats.team_config import new_team
from atm.team.rules.liveness import IDLE, WORKING
from atm.team.rules.team import Member
from atm.team.services.presence import beat
from atm.testing import FakeClock

LEAD = "team-lead"


@pytest.fixture
def crew(boardroom):
    add_member(boardroom, "crew", Member(LEAD))
    return boardroom


def idles(room, member="ann"):
    return goes_idle(room, room.rosters.load("crew"), member, "a test")


def works(room, member="ann"):
    beat(room.presence, "crew", member, room.clock.now(), "a test", state=WORKING)


def a_while(room, member="ann"):
    """Works, and is idle again a minute later."""
    works(room, member)
    room.clock.pass_time(60)
    return idles(room, member)


def rows(room):
    return room.inboxes.rows("crew", LEAD)


def foreign(text: str, *, sender: str = "ann", read: bool = False, **more: object) -> Message:
    row = decode_row(
        encode({"from": sender, "text": text, "timestamp": "2026-08-27T10:15:30.123Z", **more, "read": read})
    )
    assert row is not None
    return row


IDLE_TEXT = encode({"type": "idle_notification", "from": "ann", "idleReason": "available"})


def test_the_lead_is_told_and_the_notice_is_one_that_claude_code_knows(crew):
    notice = idles(crew)
    assert notice is not None
    (row,) = rows(crew)
    assert (row.id, row.sender, row.read, row.summary) == (notice.id, "ann", False, "ann is idle")
    said = decode_object(row.text)
    assert (said["type"], said["from"], said["idleReason"]) == ("idle_notification", "ann", "available")
    assert idle_sender(row) == "ann"
    assert crew.presence.last("crew", "ann").state == IDLE


def test_the_notice_is_in_the_ledger(crew):
    notice = idles(crew)
    entry = crew.ledger.entries("crew")[0][-1]
    assert (entry.ids, entry.agent, entry.state, entry.message.text) == ([notice.id], LEAD, "written", notice.text)


def test_one_idle_time_makes_one_notice(crew):
    assert idles(crew) is not None
    for _ in range(5):
        crew.clock.pass_time(600)
        assert idles(crew) is None
    assert len(rows(crew)) == 1


def test_a_new_idle_time_makes_a_new_notice_in_the_place_of_the_unread_former_one(crew):
    first = idles(crew)
    second = a_while(crew)
    assert [row.id for row in rows(crew)] == [second.id]
    past = [(entry.state, entry.ids) for entry in crew.ledger.entries("crew")[0]]
    assert past == [("written", [first.id]), ("archived", [first.id]), ("written", [second.id])]


def test_a_hundred_idle_times_leave_one_unread_notice(crew):
    for _ in range(100):
        a_while(crew)
    assert len(rows(crew)) == 1


def test_a_notice_that_was_read_stays(crew):
    first = idles(crew)
    take(crew, "crew", LEAD, Filter())
    second = a_while(crew)
    assert [(row.id, row.read) for row in rows(crew)] == [(first.id, True), (second.id, False)]


def test_each_sender_has_a_notice_of_its_own(crew):
    for name in ("ann", "bob", "ann", "bob"):
        a_while(crew, name)
    assert sorted(row.sender for row in rows(crew)) == ["ann", "bob"]


def test_nothing_else_in_the_inbox_is_touched(crew):
    send(crew, "crew", LEAD, Draft(sender="ann", text="I am not idle_notification, I write"))
    others = [
        foreign("hello"),
        foreign(IDLE_TEXT, sender="bob"),
        foreign(IDLE_TEXT, read=True),
        foreign('{"type": "task_completed", "from": "ann"}'),
        foreign('{"type": "idle_notification"'),
    ]
    crew.inboxes.append("crew", LEAD, others, fresh=True)
    before = [row.raw for row in rows(crew)]
    idles(crew)
    a_while(crew)
    assert [row.raw for row in rows(crew)][:-1] == before
    assert len(rows(crew)) == len(before) + 1


def test_a_malformed_row_keeps_its_place(room, layout):
    """On real files, where such rows can lie."""
    add_member(room, "crew", Member(LEAD))
    Path(layout.inbox("crew", LEAD)).write_text('[\n  42,\n  {"from": "ann"},\n  "idle_notification"\n]\n')
    room.clock = FakeClock(time.time())
    idles(room)
    a_while(room)
    assert [row.raw for row in rows(room)][:3] == ["42", '{"from": "ann"}', '"idle_notification"']
    assert len(rows(room)) == 4


def test_a_replaced_notice_is_not_put_back(crew):
    idles(crew)
    a_while(crew)
    crew.inboxes.foreign_rewrite("crew", LEAD, rows(crew))
    assert put_back_dropped(crew, crew.rosters.load("crew"), everything=True) == 0
    assert len(rows(crew)) == 1


def test_a_notice_that_somebodys_stale_rewrite_dropped_is_put_back_once(crew):
    notice = idles(crew)
    crew.inboxes.foreign_rewrite("crew", LEAD, [])
    assert put_back_dropped(crew, crew.rosters.load("crew"), everything=True) == 1
    assert [row.id for row in rows(crew)] == [notice.id]


def test_a_name_in_another_case_is_the_same_sender(crew):
    crew.inboxes.append("crew", LEAD, [foreign(IDLE_TEXT, sender="Ann", msg_id="m-1")], fresh=True)
    notice = idles(crew)
    assert same_name("Ann", "ann")
    assert [row.id for row in rows(crew)] == [notice.id]


def test_the_lead_tells_nobody_that_it_is_idle(crew):
    assert idles(crew, LEAD) is None
    assert rows(crew) == []
    assert crew.presence.last("crew", LEAD).state == IDLE


def test_without_a_lead_nobody_is_told_and_no_inbox_is_made(boardroom):
    assert idles(boardroom) is None
    assert LEAD not in boardroom.inboxes.owners("crew")


def test_a_completed_team_is_left_alone(crew):
    crew.states.complete("crew", b"{}")
    assert idles(crew) is None
    assert rows(crew) == []


def test_in_its_own_teams_claude_code_tells_the_lead_itself(boardroom):
    team = "session-12345678"
    boardroom.rosters.create(team, new_team(team, description="", lead=LEAD, now=0.0))
    assert goes_idle(boardroom, boardroom.rosters.load(team), "ann", "a test") is None
    assert boardroom.inboxes.owners(team) == []


@pytest.mark.parametrize("part", ["inboxes", "ledger"])
def test_a_notice_that_cannot_be_written_is_nobodys_failure(crew, part):
    getattr(crew, part).refuse = WriteRefused("full")
    assert idles(crew) is None
    assert crew.presence.last("crew", "ann").state == IDLE


def test_without_the_ledger_no_former_notice_is_taken_away(crew):
    """A row that goes without a reason in the ledger would be put back as lost, again and again."""
    first = idles(crew)
    crew.ledger.refuse = WriteRefused("full")
    a_while(crew)
    crew.ledger.refuse = None
    assert first.id in [row.id for row in rows(crew)]


def test_a_notice_never_takes_its_own_place(crew):
    """The change of an inbox is made again when a foreign writer was quicker: its own row is no former one."""
    notice = idle_notice(crew, "ann")
    change = crew.inboxes.change

    def twice(team, agent, make):
        change(team, agent, make)
        return change(team, agent, make)

    crew.inboxes.change = twice
    put_notice(crew, "crew", LEAD, notice)
    assert [row.id for row in rows(crew)] == [notice.id]
    assert [entry.state for entry in crew.ledger.entries("crew")[0]] == ["written"]
