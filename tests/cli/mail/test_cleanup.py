"""`atm cleanup`: a dry run first, nothing unread ever, and an archive before anything goes."""

from __future__ import annotations

import json
import time

import pytest
from tests.proving import proves

OLD = time.time() - 30 * 86_400
IDLE = json.dumps({"type": "idle_notification", "from": "bob"})


@pytest.fixture
def old_mail(crew, write_rows, foreign_row, configure):
    """Ten old read messages, two old unread ones; the settings keep three read ones."""
    rows = [foreign_row(f"read {n}", at=OLD + n, read=True, message_id=f"r-{n}") for n in range(10)]
    rows += [foreign_row(f"unread {n}", at=OLD + n, message_id=f"u-{n}") for n in range(2)]
    write_rows("ann", *rows)
    configure(retention={"keep_read": 3})
    return crew


def texts(atm, agent="ann"):
    return [row["text"] for row in atm.rows(agent)]


def one_inbox(result, agent="ann"):
    return next(inbox for inbox in result.json["inboxes"] if inbox["agent"] == agent)


@proves("R001-4.1-13")
def test_by_default_it_only_shows_what_would_go(old_mail, contents):
    before = contents(old_mail.home)
    result = old_mail("cleanup")
    assert ["ann@crew", "7", "5"] in [line.split() for line in result.out.splitlines()]
    assert "Would archive" in result.out
    assert "add --yes" in result.out
    assert contents(old_mail.home) == before


def test_yes_with_dry_run_is_a_dry_run(old_mail):
    assert old_mail("cleanup", "--yes", "--dry-run", "--json").json["dry_run"] is True
    assert len(texts(old_mail)) == 12


@proves("R000-compaction-02", "R001-4.1-13", "R001-8.6-01", "R001-8.6-04")
def test_with_yes_old_read_mail_goes_to_the_archive_and_unread_stays(old_mail):
    done = one_inbox(old_mail("cleanup", "--yes", "--json"))
    assert (done["removed"], done["kept"]) == (7, 5)
    assert texts(old_mail) == ["read 7", "read 8", "read 9", "unread 0", "unread 1"]
    with open(done["archive_path"]) as file:
        assert [row["text"] for row in json.load(file)] == [f"read {n}" for n in range(7)]


def test_a_second_time_there_is_nothing_left_to_do(old_mail):
    old_mail("cleanup", "--yes")
    assert one_inbox(old_mail("cleanup", "--yes", "--json"))["removed"] == 0


@proves("R001-8.6-06")
def test_recent_read_mail_stays_however_much_there_is(crew, write_rows, foreign_row, configure):
    write_rows("ann", *[foreign_row(f"m{n}", read=True) for n in range(20)])
    configure(retention={"keep_read": 3})
    assert one_inbox(crew("cleanup", "--yes", "--json"))["removed"] == 0


@proves("R000-compaction-04")
def test_however_old_and_many_unread_messages_stay(crew, write_rows, foreign_row, configure):
    write_rows("ann", *[foreign_row(f"m{n}", at=OLD) for n in range(2000)])
    configure(retention={"keep_read": 0})
    assert one_inbox(crew("cleanup", "--yes", "--json"))["removed"] == 0
    assert len(texts(crew)) == 2000


def test_rows_that_are_no_messages_stay(crew, write_rows, foreign_row, configure):
    write_rows("ann", 17, {"read": True, "x": 1}, *[foreign_row("x", at=OLD, read=True)] * 2)
    configure(retention={"keep_read": 0})
    crew("cleanup", "--yes")
    assert crew.rows("ann") == [17, {"read": True, "x": 1}]


@proves("R000-compaction-06")
def test_of_read_idle_notices_the_last_few_of_each_sender_stay(crew, write_rows, foreign_row):
    notices = [foreign_row(IDLE, sender=who, read=True) for who in ("bob", "cat") for _ in range(15)]
    write_rows("ann", *notices, foreign_row("the words idle_notification", read=True))
    assert one_inbox(crew("cleanup", "--yes", "--json"))["removed"] == 10
    assert len(crew.rows("ann")) == 21


@proves("R001-8.6-05", "R003-2.3-06")
def test_what_was_cleaned_up_is_not_put_back(crew, configure):
    configure(retention={"keep_read": 0, "keep_days": 0})
    id = crew("send", "ann", "hello", "--json").json["message_id"]
    crew("read", env={"ATM_IDENTITY": "ann"})
    assert one_inbox(crew("cleanup", "--yes", "--json"))["removed"] == 1
    crew("inbox")
    crew("doctor", "--fix")
    assert crew.rows("ann") == []
    (trace,) = crew("receipts", id, "--json").json["recipients"]
    assert "archived" in [event["state"] for event in trace["events"]]


def test_one_member_can_be_meant(old_mail):
    result = old_mail("cleanup", "--agent", "BOB", "--yes", "--json")
    assert [inbox["agent"] for inbox in result.json["inboxes"]] == ["bob"]
    assert len(texts(old_mail)) == 12


def test_all_teams_can_be_meant(old_mail):
    old_mail("teams", "create", "other", "--lead", "zoe")
    teams = {inbox["team"] for inbox in old_mail("cleanup", "--all-teams", "--json").json["inboxes"]}
    assert teams == {"crew", "other"}


def test_one_member_of_all_teams_gets_no_inbox_where_it_is_no_member(old_mail):
    old_mail("teams", "create", "other", "--lead", "zoe")
    old_mail("cleanup", "--all-teams", "--agent", "ann", "--yes")
    assert not old_mail.inbox("ann", "other").exists(), "a phantom inbox was made"
    assert len(texts(old_mail)) == 5


def test_one_member_of_no_teams_is_said_in_words(atm):
    assert "bug in atm" not in atm("cleanup", "--all-teams", "--agent", "ann", code=None).err


def test_one_broken_team_does_not_stop_the_others(old_mail):
    broken = old_mail.home / ".claude/teams/broken"
    broken.mkdir()
    (broken / "config.json").write_text("{")
    old_mail("cleanup", "--all-teams", "--yes", code=None)
    assert len(texts(old_mail)) == 5


def test_an_inbox_that_cannot_be_read_is_reported_and_the_others_are_done(old_mail):
    old_mail.inbox("bob").write_text("{")
    result = old_mail("cleanup", "--yes", "--json", code=2)
    assert one_inbox(result, "bob")["error"]["code"] == "unreadable-file"
    assert one_inbox(result)["removed"] == 7


@proves("R001-8.6-03")
def test_inboxes_that_claude_code_prunes_are_left_to_it_unless_configured(crew, write_rows, foreign_row, configure):
    crew("teams", "add-member", "crew", "cat", "--backend-type", "claude-code")
    write_rows("cat", *[foreign_row("x", at=OLD + n, read=True) for n in range(4)])
    configure(retention={"keep_read": 1})
    assert "Claude Code" in one_inbox(crew("cleanup", "--yes", "--json"), "cat")["skipped"]
    assert len(crew.rows("cat")) == 4
    configure(retention={"keep_read": 1, "claude_inboxes": True})
    assert one_inbox(crew("cleanup", "--yes", "--json"), "cat")["removed"] == 3


@proves("R000-compaction-01", "R000-compaction-08", "R001-8.6-01", "R001-8.6-02")
def test_a_send_past_the_limit_cleans_up_by_itself(crew, write_rows, foreign_row, configure):
    write_rows("ann", *[foreign_row(f"m{n}", at=OLD + n, read=True) for n in range(30)])
    configure(retention={"keep_read": 5, "compact_above": 20})
    crew("send", "ann", "one more")
    assert len(texts(crew)) == 6
    assert texts(crew)[-1] == "one more"
    assert len(list((crew.home / ".config/atm/archive/crew/ann").iterdir())) == 1
