"""`atm receipts`: where a message is, and how that is known."""

from __future__ import annotations

import json

import pytest
from tests.proving import proves

ANN = {"ATM_IDENTITY": "ann"}


def trace(atm, id, *words):
    (one,) = atm("receipts", id, *words, "--json").json["recipients"]
    return one


def journey(one):
    return {step["state"]: step["evidence"] for step in one["journey"]}


@pytest.fixture
def sent(crew):
    return crew("send", "ann", "hello", "--from", "bob", "--json").json["message_id"]


@proves("R004-messaging-M5")
def test_a_new_message_is_written_and_the_rest_is_unknown(crew, sent):
    one = trace(crew, sent)
    assert (one["team"], one["agent"], one["seq"], one["state"]) == ("crew", "ann", 1, "written")
    assert journey(one) == {
        "queued": "unknown",
        "written": "inbox file",
        "surfaced": "unknown",
        "read": "unknown",
        "answered": "unknown",
    }
    assert one["now"] == "in the inbox, unread"


def test_every_step_has_its_time(crew, sent):
    crew("read", env=ANN)
    times = {step["state"]: step["at"] for step in trace(crew, sent)["journey"]}
    assert times["written"].endswith("Z")
    assert times["read"] >= times["written"]
    assert times["surfaced"] is None


def test_reading_is_a_step_with_evidence(crew, sent):
    crew("read", env=ANN)
    one = trace(crew, sent)
    assert one["state"] == "read"
    assert one["now"] == "in the inbox, read"
    assert "shown" in journey(one)["read"]


def test_a_peek_is_no_step(crew, sent):
    crew("read", "ann")
    assert trace(crew, sent)["state"] == "written"


def test_people_see_each_step_in_order(crew, sent):
    out = crew("receipts", sent[:8]).out
    assert [line.split()[1] for line in out.splitlines()[2:7]] == ["queued", "written", "surfaced", "read", "answered"]
    assert "from bob: hello" in out
    assert "surfaced  unknown" in out
    assert "now: in the inbox, unread" in out


def test_a_queued_message_is_in_the_spool_with_the_reason(crew, block):
    block("ann")
    id = crew("send", "ann", "hello", "--json").json["message_id"]
    one = trace(crew, id)
    assert one["state"] == "queued"
    assert "in the spool (pending" in one["now"]
    assert "directory" in one["now"]


def test_a_message_that_went_through_the_spool_shows_both_steps(crew, block):
    reopen = block("ann")
    id = crew("send", "ann", "hello", "--json").json["message_id"]
    reopen()
    crew("spool", "retry")
    one = trace(crew, id)
    assert one["state"] == "written"
    assert "from the spool" in journey(one)["written"]
    assert journey(one)["queued"] != "unknown"


def test_a_message_that_was_given_up_says_where_it_is_kept(crew, block):
    block("ann")
    id = crew("send", "ann", "hello", "--json").json["message_id"]
    entry = json.loads(crew.pending[0].read_text())
    crew.pending[0].write_text(json.dumps({**entry, "retry_count": 9}))
    crew("spool", "retry", code=2)
    one = trace(crew, id)
    assert one["state"] == "failed"
    assert "in the spool (failed" in one["now"]
    assert any("/spool/failed/" in event["evidence"] for event in one["events"])


def test_a_message_that_was_dropped_from_the_spool_says_so(crew, block):
    reopen = block("ann")
    id = crew("send", "ann", "hello", "--json").json["message_id"]
    crew("spool", "drop", id, "--yes")
    reopen()
    assert "dropped" in json.dumps(trace(crew, id)), "it looks as if it were still queued"


def test_a_broadcast_has_a_journey_for_each_recipient(crew):
    id = crew("broadcast", "hi", "--json").json["message_id"]
    crew("read", env=ANN)
    states = {one["agent"]: one["state"] for one in crew("receipts", id, "--json").json["recipients"]}
    assert states == {"ann": "read", "bob": "written"}


@proves("R001-3.2-28", "R001-3.2-29", "R001-3.2-39", "R001-3.2-40")
def test_a_row_that_somebody_dropped_was_put_back_and_that_is_told(crew, sent, write_rows):
    write_rows("ann")
    crew("inbox")
    one = trace(crew, sent)
    assert one["now"] == "in the inbox, unread"
    assert "restored" in [event["state"] for event in one["events"]]
    assert "restored" in crew("receipts", sent).out


def test_a_message_of_claude_code_is_found_in_its_inbox(crew, write_rows, foreign_row):
    write_rows("ann", foreign_row("hi", msg_id="claude-1"))
    one = trace(crew, "claude-1")
    assert one["seq"] is None
    assert one["state"] == "unknown"
    assert one["now"] == "in the inbox, unread"


def test_an_unreadable_inbox_makes_the_present_unknown(crew, sent):
    crew.inbox("ann").write_text("{")
    assert trace(crew, sent)["now"].startswith("unknown:")


def test_an_id_that_nobody_knows_is_an_error(crew, sent):
    assert "no team here knows" in crew("receipts", "ffffffff", code=1).err


def test_a_beginning_that_fits_two_messages_is_refused(crew, write_rows, foreign_row):
    write_rows("ann", foreign_row("a", message_id="abc-1"), foreign_row("b", message_id="abc-2"))
    assert "2 messages begin with" in crew("receipts", "abc", code=1).err


def test_an_empty_id_means_no_message(crew, sent):
    crew("receipts", "", code=1)


def test_one_team_can_be_meant(crew, sent):
    crew("teams", "create", "other", "--lead", "zoe")
    crew("receipts", sent, "--team", "other", code=1)
    crew("receipts", sent, "--team", "crew")


def test_a_torn_line_in_the_ledger_costs_nothing_else(crew, sent):
    with (crew.home / ".claude/teams/crew/mailbox.log").open("a") as file:
        file.write('{"seq": 2, "id": "torn')
    assert trace(crew, sent)["state"] == "written"
    crew("read", env=ANN)
    assert trace(crew, sent)["state"] == "read"
