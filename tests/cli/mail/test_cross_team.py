"""Mail between teams on one machine: it goes straight there, and a reply finds its way back."""

from __future__ import annotations

import json

import pytest
from tests.proving import proves

BOB = {"ATM_TEAM": "crew", "ATM_IDENTITY": "bob"}
ZOE = {"ATM_TEAM": "other", "ATM_IDENTITY": "zoe"}


@pytest.fixture
def two(crew):
    """Teams `crew` (ann, bob) and `other` (zoe, and an ann of its own)."""
    crew("teams", "create", "other", "--lead", "zoe", env={"ATM_IDENTITY": "zoe"})
    crew("teams", "add-member", "other", "ann")
    return crew


@proves("R001-4.2-send-02", "R001-4.2-send-11", "R001-7.1-01", "R001-7.1-02", "R001-10-09")
def test_the_message_lies_in_the_other_teams_inbox_and_nowhere_else(two):
    sent = two("send", "ann@other", "hello", "--json", env=BOB).json
    assert (sent["team"], sent["agent"]) == ("other", "ann")
    assert len(two.rows("ann", "other")) == 1
    assert two.rows("ann", "crew") == []


def test_the_sender_carries_the_home_team_across_and_not_at_home(two):
    two("send", "zoe@other", "hello", env=BOB)
    two("send", "ann", "hello", env=BOB)
    assert two.rows("zoe", "other")[0]["from"] == "bob@crew"
    assert two.rows("ann")[0]["from"] == "bob"


def test_at_home_is_at_home_however_the_team_is_written(two):
    two("send", "ann@crew", "hello", env={**BOB, "ATM_TEAM": "CREW"})
    assert two.rows("ann")[0]["from"] == "bob"


def test_somebody_who_is_no_member_at_home_stays_a_bare_name(two):
    two("send", "zoe@other", "hello", env={"ATM_TEAM": "crew"})
    assert two.rows("zoe", "other")[0]["from"] == "human"


def test_the_ledger_of_the_receiving_team_has_it(two):
    sent = two("send", "zoe@other", "hello", "--json", env=BOB).json
    assert [line["id"] for line in two.ledger("other")] == [sent["message_id"]]
    assert two.ledger("crew") == []


def test_an_acknowledgement_goes_back_to_the_senders_team(two):
    id = two("send", "zoe@other", "ready?", "--json", env=BOB).json["message_id"]
    result = two("ack", id, "yes", "--json", env=ZOE).json
    assert result["reply_target"] == "bob@crew"
    (reply,) = two.rows("bob")
    assert (reply["from"], reply["text"]) == ("zoe@other", "yes")
    assert two.rows("zoe", "other")[0]["read"] is True


def test_the_answered_message_is_answered_in_its_own_team(two):
    id = two("send", "zoe@other", "ready?", "--json", env=BOB).json["message_id"]
    two("ack", id, "yes", env=ZOE)
    (trace,) = two("receipts", id, "--json").json["recipients"]
    assert (trace["team"], trace["agent"], trace["state"]) == ("other", "zoe", "answered")


def test_a_reply_by_send_is_the_same(two):
    id = two("send", "zoe@other", "ready?\n\nRequest-ID: r-9", "--json", env=BOB).json["message_id"]
    two("send", "bob@crew", "yes", "--reply-to", id, env=ZOE)
    assert "Request-ID: r-9" in two.rows("bob")[0]["text"]
    traces = two("receipts", id, "--json").json["recipients"]
    assert [(t["team"], t["agent"], t["state"]) for t in traces] == [("other", "zoe", "answered")]


def test_a_request_between_teams_is_answered_by_ack(two, eventually):
    process = two.start("request", "bob@crew", "zoe@other", "port?", "--json", "--timeout", "60")
    eventually(lambda: two.rows("zoe", "other"))
    two("ack", two.rows("zoe", "other")[0]["message_id"], "8080", env=ZOE)
    out, _ = process.communicate(timeout=90)
    assert process.returncode == 0
    assert json.loads(out)["response"]["from"] == "zoe@other"


def test_a_request_between_teams_is_answered_by_send_with_reply_to(two, eventually):
    process = two.start("request", "bob@crew", "zoe@other", "port?", "--json", "--timeout", "60")
    eventually(lambda: two.rows("zoe", "other"))
    id = two.rows("zoe", "other")[0]["message_id"]
    two("send", "bob@crew", "8080", "--reply-to", id, env=ZOE)
    process.communicate(timeout=90)
    assert process.returncode == 0


def test_namesakes_are_two_people(two):
    two("send", "ann@crew", "for crew")
    two("send", "ann@other", "for other")
    shown = two("read", "--json", env={"ATM_TEAM": "other", "ATM_IDENTITY": "ann"}).json
    assert [message["text"] for message in shown["messages"]] == ["for other"]
    assert two.rows("ann", "crew")[0]["read"] is False


@proves("R001-4.2-broadcast-02")
def test_a_broadcast_to_another_team_reaches_all_of_it(two):
    result = two("broadcast", "hello", "--team", "other", "--json", env=BOB).json
    assert [one["agent"] for one in result["results"]] == ["zoe", "ann"]
    assert {two.rows(name, "other")[0]["from"] for name in ("zoe", "ann")} == {"bob@crew"}


def test_one_teams_trouble_is_not_the_others(two, block):
    block("ann", "crew")
    assert two("send", "ann@crew", "x", "--json").json["outcome"] == "queued"
    assert two("send", "ann@other", "x", "--json").json["outcome"] == "success"


def test_a_reply_queued_across_teams_arrives(two, block):
    id = two("send", "zoe@other", "ready?", "--json", env=BOB).json["message_id"]
    reopen = block("bob", "crew")
    assert two("ack", id, "yes", "--json", env=ZOE).json["outcome"] == "queued"
    reopen()
    two("spool", "retry")
    assert [row["text"] for row in two.rows("bob")] == ["yes"]


def test_a_member_who_is_away_in_another_team_gets_the_tag(two):
    two("teams", "add-member", "other", "yan", "--inactive")
    two("send", "yan@other", "hello", env=BOB)
    assert two.rows("yan", "other")[0]["text"] == "[PENDING ACTION - execute when online] hello"
