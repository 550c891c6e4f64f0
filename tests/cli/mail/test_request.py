"""`atm request`: ask, wait, and recognise the answer."""

from __future__ import annotations

import json
import os
import subprocess
import time

import pytest
from tests.proving import proves


@pytest.fixture
def asked(crew, eventually):
    """Start a request and wait until the question lies in the inbox of whoever is asked."""

    def start(*words, env=None, to="ann", team="crew"):
        process = crew.start("request", *words, "--timeout", "120", env=env)
        eventually(lambda: crew.rows(to, team))
        return process, crew.rows(to, team)[-1]

    return start


def finished(process):
    out, err = process.communicate(timeout=180)
    return process.returncode, out.decode(), err.decode()


@proves("R001-4.1-03", "R001-4.2-request-04", "R001-4.2-request-05", "R001-4.2-request-11")
@pytest.mark.parametrize("pause", ["100", "3600000"])
def test_without_an_answer_it_ends_with_1_when_time_is_up_however_long_it_pauses_between_looks(crew, pause):
    started = time.monotonic()
    result = crew("request", "bob@crew", "ann@crew", "port?", "--timeout", "0.5", "--poll-interval", pause, code=1)
    assert time.monotonic() - started >= 0.5
    assert "no answer from ann@crew within 0.5 s" in result.err
    assert "atm receipts" in result.err


def test_without_an_answer_json_says_so(crew):
    result = crew("request", "bob@crew", "ann@crew", "port?", "--timeout", "0", "--json", code=1)
    assert result.json["answered"] is False
    assert "response" not in result.json
    assert result.json["request_id"] in crew.rows("ann")[0]["text"]


@proves("R001-4.2-request-09")
def test_the_question_stays_in_the_inbox_after_the_timeout(crew):
    crew("request", "bob@crew", "ann@crew", "port?", "--timeout", "0", code=1)
    assert crew.rows("ann")[0]["text"].startswith("port?\n\nRequest-ID: ")
    assert crew.rows("ann")[0]["from"] == "bob"


@proves("R001-4.1-03", "R001-4.2-request-01")
def test_an_acknowledgement_with_a_reply_is_the_answer(crew, asked):
    process, question = asked("bob@crew", "ann@crew", "port?", "--json")
    crew("ack", question["message_id"], "8080", "--as", "ann")
    code, out, _ = finished(process)
    answer = json.loads(out)
    assert code == 0
    assert answer["answered"] is True
    assert answer["response"]["from"] == "ann"
    assert answer["response"]["text"].startswith("8080")


@proves("R001-4.2-request-01")
def test_a_send_with_reply_to_is_the_answer(crew, asked):
    process, question = asked("bob@crew", "ann@crew", "port?")
    crew("send", "bob", "8080", "--from", "ann", "--reply-to", question["message_id"])
    code, out, _ = finished(process)
    assert code == 0
    assert "Response from ann" in out
    assert "8080" in out


@proves("R001-4.2-request-02", "R001-4.2-request-10")
def test_an_answer_by_another_tool_needs_only_the_marker(crew, asked, write_rows, foreign_row):
    process, question = asked("bob@crew", "ann@crew", "port?")
    marker = question["text"].rpartition("Request-ID: ")[2]
    write_rows("bob", foreign_row(f"it is 8080 (Request-ID: {marker})", sender="ann"))
    code, out, _ = finished(process)
    assert code == 0
    assert "8080" in out


def test_only_whoever_was_asked_can_answer(crew, asked):
    """What mallory says lies before the answer, so whoever took that for one would never come to the other."""
    process, question = asked("bob@crew", "ann@crew", "port?", "--json")
    crew("send", "bob", question["text"], "--from", "mallory")
    crew("ack", question["message_id"], "8080", "--as", "ann")
    code, out, _ = finished(process)
    assert code == 0
    assert json.loads(out)["response"]["from"] == "ann"
    assert [(row["from"], row["read"]) for row in crew.rows("bob")] == [("mallory", False), ("ann", True)]


@proves("R001-4.2-request-02", "R004-defects-02b")
def test_the_answer_is_taken_from_the_inbox_and_other_mail_is_left(crew, asked):
    crew("send", "bob", "something else", "--from", "ann")
    process, question = asked("bob@crew", "ann@crew", "port?")
    crew("ack", question["message_id"], "8080", "--as", "ann")
    finished(process)
    assert [row["read"] for row in crew.rows("bob")] == [False, True]


@proves("R001-4.2-request-06", "R001-4.2-request-07", "R001-4.2-request-08")
def test_the_teams_can_be_named_by_flags_or_the_environment(crew):
    words = ("port?", "--timeout", "0", "--json")
    flags = crew("request", "bob", "ann", *words, "--from-team", "crew", "--to-team", "crew", code=1)
    environment = crew("request", "bob", "ann", *words, env={"ATM_TEAM": "crew"}, code=1)
    assert flags.json["team"] == environment.json["team"] == "crew"


@proves("R001-4.2-request-08")
def test_a_mailbox_without_a_team_is_refused_with_the_way_to_name_one(crew):
    result = crew("request", "bob", "ann", "port?", code=1)
    assert "--from-team" in result.err
    assert crew.rows("ann") == []


def test_an_address_and_a_flag_that_disagree_are_refused(crew):
    crew("teams", "create", "other", "--lead", "bob")
    crew("request", "bob@crew", "ann@crew", "port?", "--from-team", "other", "--timeout", "0", code=1)
    assert crew.rows("ann") == [], "one of the two was silently ignored"


@pytest.mark.parametrize("pair", [("nobody@crew", "ann@crew"), ("bob@crew", "nobody@crew"), ("bob@no", "ann@crew")])
def test_both_mailboxes_must_exist_before_anything_is_sent(crew, pair):
    crew("request", *pair, "port?", code=1)
    assert crew.rows("ann") == crew.rows("bob") == []


def test_nobody_answers_his_own_question(crew):
    result = crew("request", "ann@crew", "ann@crew", "port?", "--timeout", "0.3", "--json", code=1)
    assert result.json.get("answered") is not True


@pytest.mark.parametrize("words", [["--timeout", "nan"], ["--timeout", "-1"], ["--timeout", "soon"], ["--timeout"]])
def test_a_timeout_that_is_no_time_is_refused(crew, words):
    crew("request", "bob@crew", "ann@crew", "port?", *words, code=1)
    assert crew.rows("ann") == []


def test_a_question_that_had_to_be_queued_is_still_asked(crew, block):
    block("ann")
    result = crew("request", "bob@crew", "ann@crew", "port?", "--timeout", "0", "--json", code=1)
    assert "Message queued for delivery" in result.err
    assert len(crew.pending) == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
def test_an_answer_that_could_not_be_shown_is_given_back(crew, eventually):
    words = ["request", "bob@crew", "ann@crew", "port?", "--timeout", "120"]
    command = ["sh", "-c", 'exec "$@" >/dev/full', "sh", *crew.command(*words)]
    with subprocess.Popen(command, env=crew.environment, cwd=crew.folder, stderr=subprocess.PIPE) as process:
        eventually(lambda: crew.rows("ann"))
        crew("ack", crew.rows("ann")[0]["message_id"], "8080", "--as", "ann")
        process.communicate(timeout=180)
    assert process.returncode == 1
    assert crew.rows("bob")[0]["read"] is False, "marked as read, and nobody saw it"


def test_an_answer_is_shown_even_if_the_ledger_cannot_be_written(crew, asked, immutable, eventually):
    process, question = asked("bob@crew", "ann@crew", "port?")
    eventually(crew.ledger)  # it is written after the inbox
    immutable(crew.home / ".claude/teams/crew/mailbox.log")
    crew("send", "bob", question["text"].replace("port?", "8080"), "--from", "ann")
    code, out, err = finished(process)
    assert "8080" in out, f"the answer is marked as read and nobody saw it: {err}"
    assert code == 0
