"""How far a message has come, and whether its row should still be there (D7, D24)."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.mail.rules.receipts import (
    JOURNEY,
    MAYBE_SHOWN,
    MOST_RESTORES,
    STATES,
    Event,
    already_read,
    expected_in_inbox,
    leaves_doubt,
    standing,
)

HISTORIES = st.lists(st.sampled_from(STATES), max_size=8)


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([], "unknown"),
        (["archived"], "unknown"),
        (["restored"], "unknown"),
        (["something new"], "unknown"),
        (["queued"], "queued"),
        (["written"], "written"),
        (["queued", "written"], "written"),
        (["written", "surfaced"], "surfaced"),
        (["written", "read"], "read"),
        (["written", "read", "answered"], "answered"),
        (["answered", "written"], "answered"),
        (["written", "archived"], "written"),
        (["written", "restored"], "written"),
        (["failed"], "failed"),
        (["queued", "failed"], "failed"),
        (["queued", "failed", "queued"], "failed"),
        (["queued", "failed", "written"], "written"),
        (["written", "failed"], "written"),
        (["written", "read", "returned"], "written"),
        (["written", "surfaced", "read", "returned"], "surfaced"),
        (["written", "read", "returned", "read"], "read"),
        (["written", "read", "answered", "returned"], "answered"),
        (["written", "returned"], "written"),
        (["returned"], "unknown"),
        (["read", "returned"], "unknown"),
    ],
)
def test_the_standing_is_the_furthest_state_that_was_seen(states, expected):
    assert standing(states) == expected


@given(HISTORIES)
def test_the_standing_is_always_a_state_that_was_seen_or_unknown(states):
    found = standing(states)
    assert found in {*states, "unknown"}


@given(st.lists(st.sampled_from(JOURNEY), min_size=1, max_size=5))
def test_on_a_plain_journey_the_order_of_the_ledger_does_not_matter(states):
    assert {standing(list(order)) for order in permutations(states)} == {max(states, key=JOURNEY.index)}


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([], False),
        (["queued"], False),
        (["written"], True),
        (["queued", "written"], True),
        (["written", "surfaced"], False),
        (["written", "read"], False),
        (["written", "answered"], False),
        (["written", "archived"], False),
        (["written", "failed"], False),
        (["queued", "failed"], False),
        (["written", "restored"], True),
        (["written"] + ["restored"] * (MOST_RESTORES - 1), True),
        (["written"] + ["restored"] * MOST_RESTORES, False),
        (["restored"], False),
    ],
)
def test_a_row_is_expected_until_a_known_reason_took_it_away(states, expected):
    assert expected_in_inbox(states) is expected


def test_a_row_that_was_given_back_to_its_reader_is_expected_again():
    # It was marked unread because showing it failed. If a stale rewrite drops it then, nobody has seen it (G1).
    assert expected_in_inbox(["written", "read", "returned"])
    assert not expected_in_inbox(["written", "read", "returned", "read"])


def test_a_row_that_was_written_after_all_is_expected_although_it_had_failed_before():
    # `atm spool retry` delivered it later.
    assert expected_in_inbox(["queued", "failed", "written"])
    assert expected_in_inbox(["queued", "failed", "queued", "written", "restored"])


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ([], False),
        (["written"], False),
        (["written", "surfaced"], True),
        (["written", "surfaced", "returned"], False),
        (["written", "read"], True),
        (["written", "answered"], True),
        (["written", "read", "returned"], False),
        (["written", "read", "returned", "read"], True),
        (["written", "read", "restored"], True),
        (["written", "read", "archived"], True),
        (["written", "returned"], False),
    ],
)
def test_a_message_was_read_unless_it_was_given_back(states, expected):
    assert already_read(states) is expected


@given(HISTORIES)
def test_nothing_is_both_expected_unread_and_already_read(states):
    assert (expected_in_inbox(states), already_read(states)) != (True, True)


def test_an_event_keeps_what_it_was_given():
    event = Event(seq=1, id="m", agent="ann", state="read", at="t", evidence="shown")
    assert (event.seq, event.id, event.agent, event.state, event.at, event.evidence) == (
        1,
        "m",
        "ann",
        "read",
        "t",
        "shown",
    )


@pytest.mark.parametrize(
    ("state", "evidence", "expected"),
    [
        ("returned", f"the reader was interrupted: it {MAYBE_SHOWN}", True),
        ("returned", "the reader was interrupted before it was shown", False),
        ("read", f"it {MAYBE_SHOWN}", False),
    ],
)
def test_only_what_was_given_back_after_its_showing_had_begun_is_in_doubt(state, evidence, expected):
    assert leaves_doubt(state, evidence) is expected
