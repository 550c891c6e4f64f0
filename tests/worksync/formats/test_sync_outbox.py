"""Nudges and waiting reports as records."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.files.formats.json_record import decode_object, encode
from atm.worksync.formats.outbox import Intent, decode_intent, decode_nudge, encode_intent, encode_nudge
from atm.worksync.rules.nudges import PLAIN, STATES, TERMINAL, Nudge, is_due, ladder, rate_limited_until

TEXT = st.text(max_size=10)
NAME = st.text(min_size=1, max_size=10)
TIMES = st.integers(1, 4_000_000_000_000).map(lambda millis: millis / 1000)
MAYBE = st.none() | TIMES
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
LATER = st.dictionaries(TEXT.map(lambda key: f"x-{key}"), JSON, max_size=2)

NUDGES = st.builds(
    Nudge,
    id=st.just("key"),
    team=st.just("crew"),
    member=NAME,
    fingerprint=TEXT,
    rung=NAME,
    to=NAME,
    payload_hash=TEXT,
    status=st.sampled_from(STATES),
    generation=st.integers(0, 2**31 - 1),
    claimed_by=TEXT,
    claimed_at=MAYBE,
    inserting=st.booleans(),
    message_id=TEXT,
    last_error=TEXT,
    next_attempt=MAYBE,
    created=TIMES,
    updated=TIMES,
    delivered=MAYBE,
    rest=LATER,
)
INTENTS = st.builds(
    Intent,
    id=st.just("key"),
    team=st.just("crew"),
    member=TEXT,
    raw=st.dictionaries(TEXT, JSON, max_size=3),
    identity=TEXT,
    received=TIMES,
    status=NAME,
    reason=TEXT,
    processed=MAYBE,
)


@proves("R002-15.1-01", "R002-15.1-02", "R002-15.1-03", "R002-15.1-04", "R002-15.1-05", "R002-15.1-07", "R002-15.1-13")
@given(NUDGES)
def test_a_nudge_is_read_back_as_it_was(nudge):
    assert decode_nudge("key", "crew", decode_object(encode(encode_nudge(nudge)))) == nudge


@given(INTENTS)
def test_an_intent_is_read_back_as_it_was(intent):
    assert decode_intent("key", "crew", decode_object(encode(encode_intent(intent)))) == intent


@proves(
    "R002-15.1-01",
    "R002-15.1-02",
    "R002-15.1-03",
    "R002-15.1-04",
    "R002-15.1-05",
    "R002-15.1-07",
    "R002-15.1-08",
    "R002-15.1-09",
    "R002-15.1-10",
    "R002-15.1-11",
    "R002-15.1-12",
    "R002-15.1-13",
)
def test_the_names_in_the_file_are_those_of_the_seed():
    nudge = Nudge("key", "crew", "ann", "F", PLAIN, "ann", "H", "claimed", 2, "me", 1.0, True, "m", "why", 2.0, 3.0)
    assert encode_nudge(nudge) == {
        "id": "key",
        "teamName": "crew",
        "memberName": "ann",
        "agendaFingerprint": "F",
        "rung": "plain",
        "recipient": "ann",
        "payloadHash": "H",
        "status": "claimed",
        "attemptGeneration": 2,
        "claimedBy": "me",
        "claimedAt": "1970-01-01T00:00:01.000Z",
        "inserting": True,
        "deliveredMessageId": "m",
        "lastError": "why",
        "nextAttemptAt": "1970-01-01T00:00:02.000Z",
        "createdAt": "1970-01-01T00:00:03.000Z",
        "updatedAt": "1970-01-01T00:00:00.000Z",
    }


def test_which_item_it_is_comes_from_where_it_lies():
    found = decode_nudge("key", "crew", {"id": "other", "teamName": "other", "status": "pending", "memberName": "ann"})
    assert (found.id, found.team, found.to, found.rung) == ("key", "crew", "ann", PLAIN)
    assert decode_intent("key", "crew", {"id": "other", "teamName": "other"}).id == "key"


def test_what_a_later_version_added_to_a_nudge_survives():
    record: dict[str, Any] = {"status": "pending", "later": {"deep": [1, None]}}
    assert encode_nudge(decode_nudge("key", "crew", record)).items() >= record.items()


@proves("R002-15.1-06")
@pytest.mark.parametrize("status", ["", "sent", "PENDING", None, 5, ["pending"], "x" * 10_000, "\ud800\0"])
def test_an_item_in_a_state_that_we_do_not_know_is_never_sent(status):
    found = decode_nudge("key", "crew", {"status": status, "memberName": "ann"})
    assert found.status == TERMINAL
    assert not is_due(found, 1e12)
    assert found.last_error.startswith("unknown state")
    assert len(found.last_error) < 300


@pytest.mark.parametrize("generation", [-1, 2**53, True, 1.5, "3", None, [], {}, float("nan")])
def test_a_generation_that_is_none_begins_anew(generation):
    assert decode_nudge("key", "crew", {"status": "pending", "attemptGeneration": generation}).generation == 0


@pytest.mark.parametrize("inserting", [1, "true", [], {}, None, "yes"])
def test_only_a_plain_yes_says_that_an_insert_was_about_to_be_made(inserting):
    assert decode_nudge("key", "crew", {"status": "claimed", "inserting": inserting}).inserting is False


ISO = st.sampled_from(["2026-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00+14:00", "NaN"])
ANYTHING = JSON | ISO | st.floats() | st.sampled_from([*STATES, "\ud800"])
KEYS = [
    *encode_nudge(Nudge("k", "t", "m", "f", "r", "to", "h", "pending", 1, "c", 1.0, True, "i", "e", 1.0, 1.0, 1.0, 1.0))
]


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), ANYTHING), max_size=4))
def test_garbage_of_every_kind_in_every_field_is_no_error_anywhere(records):
    found = [decode_nudge(str(n), "crew", record) for n, record in enumerate(records)]
    for one in found:
        again = decode_nudge(one.id, "crew", decode_object(encode(encode_nudge(one))))
        assert (again.status, again.generation, again.inserting) == (one.status, one.generation, one.inserting)
        assert all(
            isinstance(getattr(one, name), str) for name in ("member", "fingerprint", "rung", "to", "message_id")
        )
        assert isinstance(is_due(one, 1_790_000_000.0), bool)
    rate_limited_until(found, "ann", 1_790_000_000.0)
    ladder(found, "ann", "F", None, 1_790_000_000.0)


INTENT_KEYS = [*encode_intent(Intent("k", "t", "m", {}, "i", 1.0, "pending", "r", 1.0))]


@given(st.dictionaries(st.sampled_from(INTENT_KEYS), ANYTHING))
def test_garbage_in_an_intent_is_no_error(record):
    found = decode_intent("key", "crew", record)
    again = decode_intent("key", "crew", decode_object(encode(encode_intent(found))))
    assert (again.member, again.raw, again.identity, again.status) == (
        found.member,
        found.raw,
        found.identity,
        found.status,
    )
    assert isinstance(found.raw, dict)
