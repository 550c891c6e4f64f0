"""`--type` and `--meta`: messages that programs act on, as a user sends and reads them."""

from __future__ import annotations

import pytest
from tests.proving import proves

from atm.mail.rules.messages import TYPES


@pytest.fixture
def led(atm):
    """A team whose lead is called otherwise."""
    atm("teams", "create", "crew", "--lead", "lena", env={"ATM_IDENTITY": "lena"})
    for name in ("lena", "ann", "bob"):
        atm("teams", "add-member", "crew", name, code=None)
    atm("config", "set", "core.default_team", "crew")
    return atm


def sent(atm, *words, code=0):
    return atm("send", *words, "--json", code=code).json


def refused(atm, *words):
    return atm("send", *words, "--json", code=1).json["error"]


# Addresses.


@proves("R004-messaging-M2c")
def test_lead_reaches_the_lead_whatever_its_name_is(led):
    assert sent(led, "lead", "hello")["agent"] == "lena"
    assert sent(led, "lead@crew", "again")["agent"] == "lena"
    assert [row["text"] for row in led.rows("lena")] == ["hello", "again"]


def test_a_member_who_is_called_lead_is_meant_by_that_name(led):
    led("teams", "add-member", "crew", "lead")
    assert sent(led, "lead", "hello")["agent"] == "lead"
    assert led.rows("lena") == []


def test_an_alias_of_that_name_comes_first(led):
    led("config", "set", "aliases.lead", "ann@crew")
    assert sent(led, "lead", "hello")["agent"] == "ann"


def test_the_lead_is_asked_and_read_by_that_name_too(led):
    led("send", "lead", "hello", "--dry-run")
    led("send", "lead", "hello")
    found = led("read", "lead", "--json").json
    assert (found["agent"], found["marked"]) == ("lena", False)
    asked = led("request", "ann@crew", "lead@crew", "which port?", "--timeout", "0", "--json", code=1).json
    assert asked["agent"] == "lena"


def test_somebody_who_only_calls_itself_lead_does_not_read_the_leads_mail(led):
    led("send", "lead", "hello")
    assert led("read", "--json", env={"ATM_IDENTITY": "lead"}, code=1).json["error"]["code"] == "no-such-member"
    assert [row["read"] for row in led.rows("lena")] == [False]


@proves("R004-messaging-M2c", "R004-messaging-M6")
@pytest.mark.parametrize("address", ["*", "*@crew"])
def test_a_star_is_a_broadcast(led, address):
    done = sent(led, address, "main is frozen", "--from", "bob")
    assert (done["action"], done["summary"]["succeeded"]) == ("broadcast", 2)
    assert [len(led.rows(name)) for name in ("ann", "lena", "bob")] == [1, 1, 0]
    assert led.rows("ann")[0]["messageKind"] == "broadcast"


def test_a_star_ends_as_a_broadcast_does_when_a_copy_fails(led, tmp_path):
    led.inbox("ann").unlink()
    (tmp_path / "elsewhere").write_text("[]")
    led.inbox("ann").symlink_to(tmp_path / "elsewhere")
    assert led("send", "*", "hi", "--from", "bob", "--json", code=2).json["summary"]["failed"] == 1


@pytest.mark.parametrize("option", [("--file", "x"), ("--reply-to", "abc"), ("--dry-run",)])
def test_what_a_broadcast_has_no_use_for_is_said(led, option):
    assert refused(led, "*", "hi", *option)["code"] == "usage"


def test_a_star_names_one_team(led):
    assert refused(led, "*@crew", "hi", "--team", "docs")["code"] == "usage"


# Types.


@proves("R004-messaging-M1", "R004-messaging-M2e")
def test_a_status_says_it_to_programs_and_in_words(led):
    words = ["no schema", "--type", "status_update", "--meta", "state=blocked", "task_id=3", "--from", "ann"]
    assert sent(led, "lead", *words)["type"] == "status_update"
    [row] = led.rows("lena")
    assert (row["type"], row["messageKind"]) == ("message", "status_update")
    assert row["metadata"] == {"state": "blocked", "task_id": "3", "note": "no schema"}
    assert row["text"] == "Status of #3: blocked\nno schema"
    [message] = led("read", "lena", "--json").json["messages"]
    assert (message["type"], message["metadata"]) == ("status_update", row["metadata"])
    assert "[status_update]" in led("read", "lena").out


def test_a_status_needs_no_text_and_one_after_its_metadata_is_one(led):
    sent(led, "ann", "--type", "status_update", "--meta", "state=idle")
    sent(led, "ann", "--type", "status_update", "--meta", "state=idle", "all is done")
    assert [row["text"] for row in led.rows("ann")] == ["Status: idle", "Status: idle\nall is done"]


def test_an_urgent_one_is_of_its_type_too(led):
    sent(led, "ann", "stuck", "--type", "status_update", "--meta", "state=blocked", "--urgent")
    [row] = led.rows("ann")
    assert row["text"].startswith("[URGENT] Status: blocked")
    assert row["metadata"] == {"state": "blocked", "note": "stuck"}


@proves("R004-defects-02b")
def test_reading_one_type_leaves_the_others_unread(led):
    sent(led, "ann", "words")
    sent(led, "ann", "--type", "status_update", "--meta", "state=idle")
    shown = led("read", "--type", "status_update", "--json", env={"ATM_IDENTITY": "ann"}).json["messages"]
    assert [one["type"] for one in shown] == ["status_update"]
    assert [row["read"] for row in led.rows("ann")] == [False, True]
    assert led("read", "--type", "plan_approval", "--json", env={"ATM_IDENTITY": "ann"}).json["count"] == 0


def test_plain_words_are_of_a_type_too_and_so_is_what_claude_code_says(led):
    sent(led, "ann", "words")
    sent(led, "ann", '{"type": "shutdown_approved", "requestId": "r"}')
    shown = led("read", "ann", "--json").json["messages"]
    assert [(one["type"], one["metadata"]) for one in shown] == [
        ("text", {}),
        ("shutdown_response", {"request_id": "r", "approved": "true"}),
    ]


def test_a_request_to_end_and_its_answer(led):
    sent(led, "ann", "the day is over", "--type", "shutdown_request", "--from", "lena")
    [asked] = led.rows("ann")
    assert asked["text"] == "You are asked to end.\nthe day is over"
    id = asked["metadata"]["request_id"]
    sent(led, "lead", "--type", "shutdown_response", "--meta", "approved=yes", f"request_id={id}", "--from", "ann")
    assert led.rows("lena")[0]["metadata"] == {"approved": "true", "request_id": id}


def test_a_teammate_asks_nobody_to_end(led):
    assert refused(led, "bob", "x", "--type", "shutdown_request", "--from", "ann")["code"] == "bad-message"
    assert led.rows("bob") == []


@pytest.mark.parametrize("type", [one for one in TYPES if one.startswith(("plan_", "task_", "broad"))])
def test_nothing_that_the_board_says_is_said_by_hand(led, type):
    assert refused(led, "ann", "go", "--type", type, "--meta", "approved=true")["code"] == "usage"
    assert led.rows("ann") == []


@pytest.mark.parametrize(
    "words",
    [
        ["--type", "status_update"],
        ["hi", "--meta", "state=idle"],
        ["hi", "--type", "status_update", "--meta", "state=idle", "mood=good"],
        ["hi", "--type", "shutdown_response", "--meta", "approved=perhaps"],
        ["hi", "--type", "status_update", "--meta", "state"],
    ],
)
def test_metadata_that_does_not_belong_is_refused_and_nothing_is_written(led, words):
    assert refused(led, "ann", *words)["code"] == "bad-message"
    assert led.rows("ann") == []
