"""Is a member there: by silence, with source and age, and unknown as an answer of its own (D16, G10)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.team.rules.liveness import OFFLINE, ONLINE, SILENT_AFTER, UNKNOWN, Beat, judge

NOW = 1_788_000_000.0


def beat(age: float, *, uptime: float | None = None, pid: int | None = None) -> Beat:
    return Beat(at=NOW - age, source="test", host="here", pid=pid, uptime=uptime)


def test_without_a_heartbeat_nothing_is_known():
    found = judge(None, NOW)
    assert (found.value, found.age, found.warning) == (UNKNOWN, None, "")
    assert found.source


@proves("R003-2.2-11", "R003-2.2-12", "R003-3.1-09", "R003-3.1-10")
@pytest.mark.parametrize(
    ("age", "value"),
    [(0, ONLINE), (1, ONLINE), (599.9, ONLINE), (600, ONLINE), (600.001, OFFLINE), (601, OFFLINE), (1e9, OFFLINE)],
)
def test_exactly_ten_minutes_are_online_and_any_longer_is_silence(age, value):
    found = judge(beat(age), NOW)
    assert found.value == value
    assert found.age == pytest.approx(age)
    assert found.source == "heartbeat (test)"


@pytest.mark.parametrize(("ahead", "warns"), [(1, False), (5, False), (5.5, True), (3600, True)])
def test_a_heartbeat_from_the_future_is_online_and_warned_about(ahead, warns):
    found = judge(beat(-ahead), NOW)
    assert (found.value, found.age, bool(found.warning)) == (ONLINE, 0.0, warns)


@pytest.mark.parametrize(
    ("runs", "age", "value"),
    [(False, 0, OFFLINE), (False, 5000, OFFLINE), (True, 0, ONLINE), (True, 5000, OFFLINE), (None, 0, ONLINE)],
)
def test_a_process_can_refute_a_heartbeat_and_never_prove_one(runs, age, value):
    assert judge(beat(age, pid=7), NOW, runs).value == value


def test_a_process_that_is_gone_is_named():
    assert judge(beat(3, pid=77), NOW, False).source == "process 77 is gone"


@pytest.mark.parametrize(
    ("by_wall", "by_uptime", "value", "age"),
    [
        (3600, 30, ONLINE, 30),  # the wall clock jumped forward: nobody loses anything
        (-3600, 30, ONLINE, 30),  # backward: as old as the other clock says
        (-3600, 700, OFFLINE, 700),  # backward, and silent all the same
        (700, 700, OFFLINE, 700),
        (600, 600, ONLINE, 600),
        (700, 600, ONLINE, 600),
        (700, -50, OFFLINE, 700),  # the machine was started anew: only the wall is left
        (3, 0, ONLINE, 0),
    ],
)
def test_silence_counts_only_if_both_clocks_agree(by_wall, by_uptime, value, age):
    found = judge(beat(by_wall, uptime=1000.0), NOW, None, 1000.0 + by_uptime)
    assert found.value == value
    assert found.age == pytest.approx(age)


@given(st.floats(-1e6, 1e6), st.floats(0, 600))
def test_no_jump_of_the_wall_clock_makes_anybody_silent(jump, since):
    assert judge(beat(since - jump, uptime=5.0), NOW, None, 5.0 + since).value == ONLINE


@given(st.floats(-1e9, 1e9), st.none() | st.floats(-1e6, 1e6), st.sampled_from([None, True, False]))
def test_an_age_is_never_negative_and_offline_only_with_a_reason(by_wall, by_uptime, runs):
    uptime = None if by_uptime is None else 1e6 + by_uptime
    found = judge(beat(by_wall, uptime=1e6, pid=1), NOW, runs, uptime)
    assert found.age is not None
    assert found.age >= 0
    assert found.value == (OFFLINE if runs is False or found.age > SILENT_AFTER else ONLINE)
