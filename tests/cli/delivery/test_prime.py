"""`atm prime`: the briefing that a session begins with. It changes nothing."""

from __future__ import annotations

import json

import pytest

from atm.delivery.rules.briefing import LONGEST_BRIEFING
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.roster.services.members import add_member
from atm.team.rules.team import Member

ANN = {"ATM_IDENTITY": "ann", "ATM_TEAM": "crew"}


def post(room, *texts, sender="bob"):
    for text in texts:
        send(room, "crew", "ann", Draft(sender=sender, text=text))


def test_it_says_who_where_and_what_there_is_to_do(crew, room, tasks):
    post(room, "one", "two")
    tasks("add", "the parser", "--owner", "ann")
    tasks("add", "the lexer")
    text = crew("prime", env=ANN).out
    assert "you are ann in team crew" in text
    assert "Others: bob" in text
    assert "2 from bob" in text
    assert "the parser" in text
    assert "1 task can be claimed" in text


def test_it_marks_nothing_and_leaves_no_trace(crew, room, contents):
    post(room, "one")
    before = contents(crew.home / ".claude")
    crew("prime", env=ANN)
    assert contents(crew.home / ".claude") == before


def test_as_json(crew, room):
    post(room, "one")
    said = crew("prime", "--json", env=ANN).json
    assert (said["action"], said["team"], said["member"], said["lead"]) == ("prime", "crew", "ann", "team-lead")
    assert (said["unread"], said["work"], said["claimable"]) == ({"bob": 1}, [], 0)
    assert said["text"].startswith("# atm: you are ann")


def test_for_somebody_else(crew, room):
    assert "you are bob" in crew("prime", "--as", "bob", "--team", "crew").out


def test_a_name_in_any_case(crew, room):
    assert "you are ann in team crew" in crew("prime", "--as", "ANN", "--team", "CREW").out


def test_in_an_unknown_team_is_an_error(crew, room):
    assert "nowhere" in crew("prime", "--team", "nowhere", env={"ATM_IDENTITY": "ann"}, code=1).err


def test_what_was_shown_by_a_hook_is_not_counted(crew, room):
    post(room, "one")
    crew("hook", "claude", "PostToolUse", stdin=json.dumps({"session_id": "s"}), env=ANN)
    assert "No unread mail." in crew("prime", env=ANN).out


@pytest.mark.parametrize("content", ["{", "", "not json"])
def test_an_inbox_that_cannot_be_read_keeps_no_session_from_beginning(crew, room, content):
    crew.inbox("ann").write_text(content)
    assert "you are ann" in crew("prime", env=ANN).out


def test_a_board_that_cannot_be_read_keeps_no_session_from_beginning(crew, room, tasks):
    tasks("add", "the parser", "--owner", "ann")
    for path in (crew.home / ".claude/tasks/crew").glob("*.json"):
        path.write_text("{")
    assert "you are ann" in crew("prime", env=ANN).out


def test_a_completed_team_can_still_be_asked_about(crew, room):
    (crew.home / ".claude/teams/crew/COMPLETED").write_text("{}")
    assert "you are ann" in crew("prime", env=ANN).out


def test_however_much_there_is_it_stays_short_and_harmless(crew, room, tasks, write_rows, foreign_row):
    for number in range(30):
        add_member(room, "crew", Member(f"member-{number:02d}-{'x' * 50}"))
    rows = [foreign_row(f"{n}", sender=f"\x1b[2J{n}\n" + "s" * 500, msg_id=f"m-{n}") for n in range(200)]
    write_rows("ann", *rows)
    for number in range(15):
        tasks("add", f"{number} " + "long subject " * 20, "--owner", "ann")
    text = crew("prime", env=ANN).out
    assert len(text) <= LONGEST_BRIEFING + 1
    assert "\x1b" not in text
    assert "`atm --help`" in text
