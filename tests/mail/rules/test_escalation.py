"""Who is told when, and how a time is read out of the ledger."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from atm.core.identifiers import derived_id
from atm.mail.rules.escalation import DEFAULT_MINUTES, HUMANS, LEAD, MOST_MINUTES, Waiting, minutes_in


def waiting(*, since: float = 1000.0, minutes: float = 15.0, told: int = 0) -> Waiting:
    return Waiting(
        team="crew", agent="ann", id="m-1", sender="bob", summary="s", since=since, minutes=minutes, told=told
    )


@pytest.mark.parametrize(
    ("passed", "step"),
    [
        (-1_000_000, 0),
        (0, 0),
        (15 * 60 - 1, 0),
        (15 * 60, LEAD),
        (30 * 60 - 1, LEAD),
        (30 * 60, HUMANS),
        (10**9, HUMANS),
    ],
)
def test_first_the_lead_then_the_humans_and_nobody_after_that(passed, step):
    assert waiting().step_at(1000.0 + passed) == step


@pytest.mark.parametrize(("told", "after"), [(0, 15), (1, 30), (2, None), (3, None)])
def test_when_the_next_step_is_due(told, after):
    assert waiting(told=told).next_at() == (None if after is None else 1000.0 + after * 60)


@given(
    now=st.floats(min_value=0, max_value=1e11),
    since=st.floats(min_value=0, max_value=1e11),
    evidence=st.text() | st.floats().map(lambda number: f"within {number:g} min"),
)
@example(now=2000.0, since=1000.0, evidence="within 1e-320 min")
def test_a_step_can_be_told_whatever_the_ledger_and_the_clocks_say(now, since, evidence):
    seconds = minutes_in(evidence) * 60
    due = [step for step in (LEAD, HUMANS) if now - since >= step * seconds]
    assert waiting(since=since, minutes=minutes_in(evidence)).step_at(now) == max(due, default=0)


@given(minutes=st.floats(min_value=0.001, max_value=MOST_MINUTES), now=st.floats(min_value=0, max_value=1e10))
def test_a_step_never_goes_back_as_time_passes(minutes, now):
    one = waiting(minutes=minutes)
    assert one.step_at(now) <= one.step_at(now + minutes * 60)


@pytest.mark.parametrize(
    ("evidence", "minutes"),
    [
        ("within 15 min", 15.0),
        ("within 0.5 min", 0.5),
        ("within 10080 min", 10_080.0),
        ("within 10081 min", DEFAULT_MINUTES),
        ("within 0 min", DEFAULT_MINUTES),
        ("within -3 min", DEFAULT_MINUTES),
        ("within nan min", DEFAULT_MINUTES),
        ("within inf min", DEFAULT_MINUTES),
        ("within a week", DEFAULT_MINUTES),
        ("within", DEFAULT_MINUTES),
        ("", DEFAULT_MINUTES),
    ],
)
def test_the_time_in_the_ledger(evidence, minutes):
    assert minutes_in(evidence) == minutes


@given(minutes=st.floats(min_value=0.001, max_value=MOST_MINUTES, allow_nan=False))
def test_a_time_survives_the_ledger(minutes):
    assert minutes_in(f"within {minutes:g} min") == pytest.approx(minutes, rel=1e-5)


PARTS = st.lists(st.text(alphabet=st.characters(exclude_characters="\0")), min_size=1, max_size=4)


@given(parts=PARTS, others=PARTS)
def test_the_same_parts_give_the_same_id_and_others_another(parts, others):
    assert (derived_id(*parts) == derived_id(*others)) == (parts == others)


def test_a_derived_id_looks_like_any_other():
    import uuid

    found = uuid.UUID(derived_id("m-1", "ann", "1", "team-lead"))
    assert str(found) == derived_id("m-1", "ann", "1", "team-lead")
    assert (found.version, found.variant) == (5, uuid.RFC_4122)
