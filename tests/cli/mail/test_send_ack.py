"""`atm send --urgent`, `--require-ack`, `--ack-within`, the same for broadcasts, and what waits: `atm receipts`."""

from __future__ import annotations

import pytest

ANN = {"ATM_IDENTITY": "ann"}


@pytest.fixture
def crew(crew):
    """No daemon is started: what these commands write is all that matters here."""
    crew.environment["ATM_DAEMON_AUTOSTART"] = "0"
    return crew


def sends(crew, *words, **more):
    return crew("send", "ann", *words, "--from", "bob", "--json", **more)


def waiting(crew, code=0):
    return crew("receipts", "--json", code=code).json["waiting"]


def states(crew, id):
    return [line["state"] for line in crew.ledger() if line.get("id") == id]


def no_daemon(crew):
    return not (crew.home / ".local/state/atm/daemon").exists()


def test_an_urgent_message_says_so_in_its_text(crew):
    sends(crew, "main is broken", "--urgent")
    (row,) = crew.rows("ann")
    assert row["text"] == "[URGENT] main is broken"
    assert row["summary"] == "main is broken"
    assert waiting(crew, 3) == []


def test_an_acknowledgement_is_asked_for_in_the_text_and_in_the_ledger(crew):
    id = sends(crew, "please look", "--require-ack").json["message_id"]
    (row,) = crew.rows("ann")
    assert row["text"] == f"please look\n\nPlease acknowledge: atm ack {id}  (within 15 min, or the lead is told)"
    assert states(crew, id) == ["written", "ack-due"]
    assert crew.ledger()[-1]["evidence"] == "within 15 min"
    assert no_daemon(crew)


@pytest.mark.parametrize(("given", "minutes"), [("5", 5), ("0.5", 0.5), ("10080", 10_080)])
def test_the_time_can_be_said_and_is_a_wish_of_its_own(crew, given, minutes):
    sends(crew, "please", "--ack-within", given)
    (one,) = waiting(crew)
    assert one["minutes"] == minutes


def test_the_time_comes_from_the_settings_otherwise(crew, configure):
    configure(delivery={"ack_minutes": 42})
    sends(crew, "please", "--require-ack")
    assert waiting(crew)[0]["minutes"] == 42


@pytest.mark.parametrize("given", ["0", "-1", "10081", "nan", "inf", "soon", ""])
def test_a_time_that_cannot_be_is_refused_and_nothing_is_sent(crew, given):
    sends(crew, "please", f"--ack-within={given}", code=1)
    assert crew.rows("ann") == []


def test_urgent_and_to_be_acknowledged(crew):
    sends(crew, "stop", "--urgent", "--require-ack", "--ack-within", "5")
    text = crew.rows("ann")[0]["text"]
    assert text.startswith("[URGENT] stop\n\nPlease acknowledge: atm ack ")
    assert "within 5 min" in text


def test_a_plan_writes_nothing_and_wants_nobody(crew):
    done = sends(crew, "please", "--urgent", "--require-ack", "--dry-run")
    assert done.json["message"].startswith("[URGENT] please")
    assert crew.rows("ann") == []
    assert crew.ledger() == []
    assert no_daemon(crew)


def test_a_text_that_the_marks_make_too_long_is_refused(crew):
    sends(crew, "--stdin", "--urgent", stdin=b"x" * 1024 * 1024, code=1)
    assert crew.rows("ann") == []


def test_for_somebody_who_is_away_the_mark_stands_before_the_tag(crew, room):
    room.rosters.change("crew", lambda data: data.replace(b'"name": "ann"', b'"isActive": false, "name": "ann"'))
    sends(crew, "stop", "--urgent")
    assert crew.rows("ann")[0]["text"].startswith("[URGENT] [PENDING ACTION")


def test_a_spooled_message_waits_for_its_acknowledgement_too(crew, block):
    reopen = block("ann")
    sent = sends(crew, "please", "--require-ack").json
    assert sent["outcome"] == "queued"
    assert waiting(crew)[0]["id"] == sent["message_id"]
    reopen()


def test_acknowledging_ends_the_waiting(crew):
    id = sends(crew, "please", "--require-ack").json["message_id"]
    assert [one["id"] for one in waiting(crew)] == [id]
    crew("ack", id[:8], env=ANN)
    assert waiting(crew, 3) == []
    assert states(crew, id) == ["written", "ack-due", "answered"]


def test_a_reply_ends_the_waiting(crew):
    id = sends(crew, "please", "--require-ack").json["message_id"]
    crew("ack", id, "done", env=ANN)
    assert waiting(crew, 3) == []


def test_an_answer_by_send_ends_the_waiting(crew):
    id = sends(crew, "please", "--require-ack").json["message_id"]
    crew("send", "bob", "done", "--reply-to", id, "--from", "ann")
    assert waiting(crew, 3) == []


def test_reading_does_not_end_the_waiting(crew):
    sends(crew, "please", "--require-ack")
    crew("read", env=ANN)
    assert len(waiting(crew)) == 1


def test_a_reply_may_want_an_acknowledgement_itself(crew):
    id = sends(crew, "please", "--require-ack").json["message_id"]
    crew("send", "bob", "done", "--reply-to", id, "--from", "ann", "--require-ack")
    assert [one["agent"] for one in waiting(crew)] == ["bob"]


def test_a_broadcast_waits_for_everybody(crew):
    crew("teams", "add-member", "crew", "cleo")
    sent = crew("broadcast", "freeze", "--urgent", "--ack-within", "5", "--from", "bob", "--json").json
    assert sorted(one["agent"] for one in waiting(crew)) == ["ann", "cleo"]
    assert {row["text"].split("\n")[0] for row in crew.rows("ann") + crew.rows("cleo")} == {"[URGENT] freeze"}
    crew("ack", sent["message_id"], env=ANN)
    assert [one["agent"] for one in waiting(crew)] == ["cleo"]
    assert no_daemon(crew)


def test_an_answer_to_a_broadcast_counts_for_the_one_who_gave_it(crew):
    crew("teams", "add-member", "crew", "cleo")
    id = crew("broadcast", "freeze", "--require-ack", "--from", "bob", "--json").json["message_id"]
    crew("send", "bob", "done", "--reply-to", id, "--from", "cleo")
    assert [one["agent"] for one in waiting(crew)] == ["ann"]


# What waits.


def test_nothing_waits_is_an_exit_code_of_its_own(crew):
    assert crew("receipts", code=3).out == "nothing waits for an acknowledgement\n"
    assert waiting(crew, 3) == []


def test_people_see_who_waits_for_whom(crew):
    id = sends(crew, "please", "--require-ack").json["message_id"]
    text = crew("receipts").out
    for word in (id[:8], "ann@crew", "bob", "nobody"):
        assert word in text


def test_what_waits_has_everything_a_program_needs(crew):
    id = sends(crew, "please look at it", "--ack-within", "5").json["message_id"]
    (one,) = waiting(crew)
    since = one.pop("since")
    assert since.endswith("Z")
    assert one == {
        "team": "crew",
        "agent": "ann",
        "id": id,
        "sender": "bob",
        "summary": "please look at it",
        "minutes": 5,
        "told": None,
    }


def test_all_teams_or_one(crew):
    crew.team("other", "zoe")
    sends(crew, "please", "--require-ack", "--team", "crew")
    crew("send", "zoe@other", "please", "--require-ack", "--from", "bob")
    assert sorted(one["team"] for one in waiting(crew)) == ["crew", "other"]
    assert [one["team"] for one in crew("receipts", "--team", "other", "--json").json["waiting"]] == ["other"]


def test_hostile_words_stay_words(crew):
    sends(crew, "\x1b[2J\x07 please", "--summary", "\x1b]0;title\x07", "--require-ack")
    done = crew("receipts")
    assert "\x1b" not in done.out


def test_the_trace_of_a_message_shows_that_it_is_waited_for(crew):
    id = sends(crew, "please", "--require-ack").json["message_id"]
    events = crew("receipts", id, "--json").json["recipients"][0]["events"]
    assert [event["state"] for event in events] == ["written", "ack-due"]
    assert "ack-due" in crew("receipts", id).out
