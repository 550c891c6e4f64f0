"""Limits of tasks: how they are written, counted and told."""

from __future__ import annotations

import pytest

from atm.board.rules.time_limits import (
    TaskClock,
    exact_limit,
    limit_in_words,
    read_limit,
    silence_in_words,
    standing_in_words,
    time_in_words,
    why_ended,
)
from atm.core.work_errors import BadTask


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        *(("10m", 600), ("1h30m", 5400), ("90s", 90), ("90", 90), ("1h 30m", 5400), ("10 min", 600), ("1.5h", 5400)),
        *(("2 hours", 7200), ("1D", 86_400), ("none", 0), ("No Limit", 0), ("0", 0), ("30d", 2_592_000)),
    ],
)
def test_a_limit_is_read_as_people_write_it(given, seconds):
    assert read_limit(given) == seconds


@pytest.mark.parametrize("given", ["", "soon", "-3m", "10x", "nan", "inf", "10m;rm", "1e3", "m", "٣m"])
def test_what_is_no_length_of_time_is_refused_with_examples(given):
    with pytest.raises(BadTask) as caught:
        read_limit(given)
    assert caught.value.remedy == "write it like 90s, 10m, 1h30m, or none"


@pytest.mark.parametrize("given", ["31d", "0.2s", "999999999h"])
def test_a_limit_that_cannot_be_kept_is_refused_with_the_bounds(given):
    with pytest.raises(BadTask) as caught:
        read_limit(given)
    assert caught.value.remedy == "use between 1s and 30d, or none for no limit"


@pytest.mark.parametrize("seconds", [0, 1, 45, 60, 90, 600, 5400, 86_400, 90_061, 1.5])
def test_a_limit_is_written_so_that_it_is_read_back(seconds):
    assert read_limit(exact_limit(seconds)) == seconds


def test_limits_and_times_are_said_in_words():
    assert [limit_in_words(one) for one in (None, 0, 600, 5400)] == ["no limit", "no limit", "10m", "1h30m"]
    assert [time_in_words(one) for one in (-1, 45.9, 720, 3600, 11_100)] == [
        "0 s",
        "45 s",
        "12 min",
        "1 h",
        "3 h 5 min",
    ]
    assert [silence_in_words(one) for one in (None, 59, 480)] == ["", "", "no output for 8 min"]
    assert standing_in_words(None, 600, 480) == ""
    assert standing_in_words(720, 3600, 480) == "12 min of 1h, no output for 8 min"
    assert standing_in_words(720, 0, 3) == "12 min, no limit"
    assert why_ended(600, 480) == "it ran longer than its limit of 10m; no output for 8 min"
    assert why_ended(600, 3) == "it ran longer than its limit of 10m"


def test_the_clock_counts_work_and_not_waiting():
    clock = TaskClock(10, 100)
    clock.advance(106)
    clock.advance(206, is_working=False)
    assert (clock.worked, clock.left, clock.is_over) == (6, 4, False)
    clock.advance(210)
    assert (clock.worked, clock.left, clock.is_over) == (10, 0, True)


def test_output_ends_the_silence_and_not_the_work():
    clock = TaskClock(0, 0)
    clock.advance(5)
    clock.hear()
    clock.advance(8)
    assert (clock.worked, clock.silent, clock.is_over) == (8, 3, False)


def test_a_clock_that_goes_back_costs_nothing():
    clock = TaskClock(10, 100)
    clock.advance(50)
    clock.advance(52)
    assert clock.worked == 2
