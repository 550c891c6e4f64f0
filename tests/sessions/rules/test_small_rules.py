"""Progress, the numbers of a ledger, which checkpoints stay, and the steps of a consolidation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.proving import proves

from atm.sessions.rules.consolidation import (
    CHECKS,
    FINE,
    MARK,
    STEPS,
    TO_FIX,
    said_of_edits,
    steps_from,
    why_not_green,
)
from atm.sessions.rules.mailbox_order import look_at_numbers
from atm.sessions.rules.progress import progress
from atm.sessions.rules.thinning import DAY, HOUR, which_stay


@proves("R003-2.3-10", "R003-2.3-11")
def test_the_rest_takes_open_tasks_times_the_median_by_those_who_are_online():
    found = progress(3, 4, [10.0, 20.0, 90.0], online=2)
    assert (found.done, found.total, found.percent, found.eta) == (3, 7, 42, 40.0)


@pytest.mark.parametrize(("durations", "online"), [([10.0, 20.0], 2), ([1.0] * 9, 0)])
def test_with_fewer_than_three_finished_tasks_or_nobody_online_that_is_unknown(durations, online):
    assert progress(2, 4, durations, online).eta is None


def test_where_nothing_is_left_nothing_is_left():
    assert progress(3, 0, (), 0).eta == 0.0
    assert progress(0, 0, (), 0).percent == 0


def test_numbers_that_are_doubled_missing_or_out_of_order_are_said():
    found = look_at_numbers([1, 2, 3, 3, 8, 7, 4, 11])
    assert (found.last, found.gaps, found.duplicates) == (11, [(5, 6), (9, 10)], [3])


@given(some.lists(some.integers(min_value=1, max_value=200)))
def test_gaps_and_numbers_together_are_everything_between_the_first_and_the_last(numbers):
    found = look_at_numbers(numbers)
    missing = {number for one, other in found.gaps for number in range(one, other + 1)}
    assert missing.isdisjoint(numbers)
    if numbers:
        assert missing | {*numbers} == {*range(min(numbers), max(numbers) + 1)}


def test_all_of_the_last_hour_stay_then_one_an_hour_then_one_a_day():
    now = 100.5 * DAY
    times = [now - 60, now - 120, now - HOUR - 60, now - HOUR - 120, now - 3 * HOUR, now - 3 * DAY, now - 3 * DAY - 5]
    assert which_stay(times, now, 100) == [0, 1, 2, 4, 5]


@given(some.lists(some.floats(min_value=0, max_value=1e9), max_size=60), some.integers(min_value=1, max_value=20))
def test_the_newest_always_stays_and_never_more_than_the_most(ages, most):
    times = sorted((1e9 - age for age in ages), reverse=True)
    kept = which_stay(times, 1e9, most)
    assert len(kept) <= most
    assert kept[:1] == ([0] if times else [])


def test_a_consolidation_goes_on_with_the_step_that_was_cut_off():
    assert steps_from(CHECKS) == STEPS[1:]
    assert steps_from(MARK) == (MARK,)
    assert steps_from("of tomorrow") == STEPS


@proves("R003-5.1-09")
@pytest.mark.parametrize(
    ("facts", "count"),
    [
        ({}, 0),
        ({"task": "3"}, 1),
        ({"last_check": 1}, 1),
        ({"unsaved": "no space"}, 1),
        ({"status": "zombie"}, 1),
        ({"task": "3", "last_check": 2, "unsaved": "no space", "status": "zombie"}, 4),
    ],
)
def test_green_is_no_task_a_check_that_passed_saved_work_and_no_zombie(facts, count):
    green = {"task": "", "last_check": 0, "unsaved": "", "status": "idle"}
    assert len(why_not_green(**{**green, **facts})) == count


@proves("R003-3.3-10", "R003-4.1-04", "R003-4.1-05")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("My edits OK", FINE),
        ("my  edits ok, all tests pass", FINE),
        ("Need to fix: the parser", TO_FIX),
        ("I need to fix one thing before my edits ok", TO_FIX),
        ("working on it", ""),
    ],
)
def test_a_teammate_says_in_its_own_words_whether_its_changes_are_fine(text, said):
    assert said_of_edits(text) == said
