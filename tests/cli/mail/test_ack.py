"""`atm ack`: acknowledge and reply, both or neither."""

from __future__ import annotations

import json
import shutil

import pytest
from tests.proving import proves

ANN = {"ATM_IDENTITY": "ann"}


@pytest.fixture
def question(crew):
    return crew("send", "ann", "which port?", "--from", "bob", "--json").json["message_id"]


def texts(atm, agent):
    return [row["text"] for row in atm.rows(agent)]


def test_a_reply_reaches_the_sender_and_the_message_counts_as_read(crew, question):
    result = crew("ack", question, "8080", "--json", env=ANN).json
    assert texts(crew, "bob") == ["8080"]
    assert crew.rows("bob")[0]["from"] == "ann"
    assert crew.rows("ann")[0]["read"] is True
    assert (result["action"], result["reply_sent"], result["outcome"]) == ("ack", True, "success")
    assert result["reply_id"] == crew.rows("bob")[0]["message_id"]
    assert result["reply_target"] == "bob@crew"


def test_without_a_reply_only_the_message_is_marked(crew, question):
    assert crew("ack", question, "--json", env=ANN).json["reply_sent"] is False
    assert crew.rows("ann")[0]["read"] is True
    assert crew.rows("bob") == []


def test_people_are_told_in_one_line(crew, question):
    out = crew("ack", question, "8080", env=ANN).out
    assert out == f"acknowledged {question[:8]} from bob; reply sent to bob@crew\n"


def test_the_beginning_of_the_id_is_enough(crew, question):
    crew("ack", question[:8], "8080", env=ANN)
    assert texts(crew, "bob") == ["8080"]


def test_other_messages_stay_unread(crew, question):
    crew("send", "ann", "another")
    crew("ack", question, env=ANN)
    assert [row["read"] for row in crew.rows("ann")] == [True, False]


def test_a_beginning_that_fits_two_messages_is_refused(crew, write_rows, foreign_row):
    write_rows("ann", foreign_row("a", message_id="abc-1"), foreign_row("b", message_id="abc-2"))
    assert "2 messages begin with 'abc'" in crew("ack", "abc", "x", env=ANN, code=1).err
    assert [row["read"] for row in crew.rows("ann")] == [False, False]


def test_an_empty_id_means_no_message(crew, question):
    """A script says `atm ack "$ID"`; an empty variable must not acknowledge whatever lies there."""
    crew("ack", "", "yes, delete it", env=ANN, code=1)
    assert crew.rows("ann")[0]["read"] is False
    assert crew.rows("bob") == []


def test_an_unknown_id_is_an_error_that_says_where_ids_are_shown(crew, question):
    assert "atm read --all --json" in crew("ack", "ffffffff", env=ANN, code=1).err


def test_only_the_owners_inbox_is_searched(crew, question):
    crew("ack", question, "8080", env={"ATM_IDENTITY": "bob"}, code=1)
    assert crew.rows("ann")[0]["read"] is False


def test_a_second_acknowledgement_is_refused_and_sends_nothing(crew, question):
    crew("ack", question, "8080", env=ANN)
    assert "answered before" in crew("ack", question, "8081", env=ANN, code=1).err
    assert texts(crew, "bob") == ["8080"]


def test_a_blank_reply_is_refused_and_nothing_is_marked(crew, question):
    crew("ack", question, "  ", env=ANN, code=1)
    assert crew.rows("ann")[0]["read"] is False
    assert crew.pending == []


@pytest.mark.parametrize("sender", ["human", "ci"])
def test_whoever_writes_can_be_answered_also_somebody_who_is_on_no_roster(crew, sender):
    id = crew("send", "ann", "hi", "--from", sender, "--json").json["message_id"]
    crew("ack", id, "hello", env=ANN)
    assert texts(crew, sender) == ["hello"]
    assert "hello" in crew("read", "--as", sender).out
    assert ("phantom-inbox" in crew("doctor", code=None).out) is (sender != "human"), "the person is no phantom"


def test_a_reply_by_send_works_too_and_a_plan_of_it_makes_nothing(crew):
    crew("send", "ann", "hi", "--from", "human")
    crew("send", "human", "hello", "--dry-run", env=ANN)
    assert not crew.inbox("human").exists()
    crew("send", "human", "hello", env=ANN)
    assert crew.rows("human")[0]["from"] == "ann"


def test_who_wrote_to_somebody_else_gets_no_inbox_for_a_slip_of_the_pen(crew):
    crew("send", "ann", "hi", "--from", "ci")
    assert "no member 'ci'" in crew("send", "ci", "hello", "--from", "bob", code=1).err
    assert not crew.inbox("ci").exists()


def test_who_was_removed_gets_no_inbox_back_by_an_answer(crew):
    crew("teams", "add-member", "crew", "cat")
    id = crew("send", "ann", "hi", "--from", "cat", "--json").json["message_id"]
    crew("teams", "remove-member", "crew", "cat", "--force")
    assert "cat" in crew("ack", id, "hello", env=ANN, code=1).err
    assert not crew.inbox("cat").exists()


def test_in_a_team_of_claude_code_a_sender_without_an_inbox_leaves_the_message_unacknowledged(crew):
    shutil.copytree(crew.home / ".claude/teams/crew", crew.home / ".claude/teams/session-12345678")
    there = ("--team", "session-12345678")
    id = crew("send", "ann", "hi", "--from", "human", *there, "--json").json["message_id"]
    assert "human" in crew("ack", id, "hello", *there, env=ANN, code=1).err
    assert crew.rows("ann", "session-12345678")[0]["read"] is False
    assert crew.pending == []


def test_an_answer_that_cannot_be_sent_leaves_the_message_unacknowledged(crew):
    id = crew("send", "ann", "hi", "--from", "zoe@gone", "--json").json["message_id"]
    assert "gone" in crew("ack", id, "hello", env=ANN, code=1).err
    assert crew.rows("ann")[0]["read"] is False
    assert crew.pending == []


def test_the_request_marker_is_carried_over(crew):
    id = crew("send", "ann", "port?\n\nRequest-ID: r-7", "--from", "bob", "--json").json["message_id"]
    crew("ack", id, "8080", env=ANN)
    assert texts(crew, "bob") == ["8080\n\nRequest-ID: r-7"]


@proves("R003-4.3-07")
def test_receipts_show_the_answer(crew, question):
    reply = crew("ack", question, "8080", "--json", env=ANN).json["reply_id"]
    (trace,) = crew("receipts", question, "--json").json["recipients"]
    assert trace["state"] == "answered"
    assert any(reply in event["evidence"] for event in trace["events"])


class TestSenderWhoCannotBeReached:
    def test_the_message_is_marked_and_the_reply_waits(self, crew, question, block):
        block("bob")
        result = crew("ack", question, "8080", "--json", env=ANN)
        assert result.json["outcome"] == "queued"
        assert "Message queued for delivery (could not write to inbox immediately)" in result.err
        assert crew.rows("ann")[0]["read"] is True
        assert [json.loads(path.read_text())["message"]["text"] for path in crew.pending] == ["8080"]

    def test_the_reply_arrives_when_it_can(self, crew, question, block):
        reopen = block("bob")
        crew("ack", question, "8080", env=ANN)
        reopen()
        crew("spool", "retry")
        assert texts(crew, "bob") == ["8080"]
        assert crew("receipts", question, "--json").json["recipients"][0]["state"] == "answered"

    def test_a_second_acknowledgement_does_not_queue_a_second_reply(self, crew, question, block):
        reopen = block("bob")
        crew("ack", question, "8080", env=ANN)
        crew("ack", question, "8081", env=ANN, code=None)
        reopen()
        crew("spool", "retry")
        assert texts(crew, "bob") == ["8080"]


class TestBothOrNeither:
    def test_when_the_message_cannot_be_marked_nothing_is_sent_now_or_later(self, crew, question, immutable):
        immutable(crew.inbox("ann"))
        crew("ack", question, "8080", env=ANN, code=1)
        assert crew.pending == []
        crew("inbox")
        assert crew.rows("bob") == []
        assert crew.rows("ann")[0]["read"] is False

    def test_an_error_about_the_ledger_means_that_nothing_happened(self, crew, question, immutable):
        immutable(crew.home / ".claude/teams/crew/mailbox.log")
        crew("ack", question, "8080", env=ANN)
        assert crew.rows("ann")[0]["read"] is True
        assert (len(crew.pending), len(crew.rows("bob"))) == (0, 1)

    def test_the_same_without_a_reply(self, crew, question, immutable):
        immutable(crew.home / ".claude/teams/crew/mailbox.log")
        result = crew("ack", question, env=ANN, code=None)
        assert crew.rows("ann")[0]["read"] is (result.code == 0)

    def test_of_many_at_once_one_replies(self, crew):
        for attempt in range(3):
            id = crew("send", "ann", f"question {attempt}", "--from", "bob", "--json").json["message_id"]
            racers = [crew.start("ack", id, f"answer {attempt} by {n}", env=ANN) for n in range(6)]
            for racer in racers:
                racer.communicate(timeout=60)
            answers = [text for text in texts(crew, "bob") if text.startswith(f"answer {attempt}")]
            assert len(answers) == 1
