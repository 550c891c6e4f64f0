"""The queue: one entry for each member however many events, quiet windows with a bound, exactly one more look."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.proving import proves

from atm.worksync.rules.triggers import (
    CONFIG_CHANGED,
    HEARTBEAT,
    INBOX_DELIVERED,
    LONGEST_WAIT,
    STARTUP_SCAN,
    TASK_CHANGED,
    TIME_PASSED,
    TOOL_FINISHED,
)
from atm.worksync.services.queue import SyncQueue

QUIET = 90.0


@pytest.fixture
def queue() -> SyncQueue:
    return SyncQueue(QUIET)


@proves("R002-8.0-37", "R002-11.2.1-03", "R002-11.2.1-20", "R002-16.4-04", "R002-16.4-11", "R002-27.1-43")
def test_nobody_is_taken_before_it_was_quiet(queue):
    queue.enqueue("crew", ["ann"], TASK_CHANGED, 0.0)
    assert queue.next_due() == QUIET
    assert queue.take(QUIET - 0.1) == {}
    assert queue.take(QUIET) == {"crew": {"ann": TASK_CHANGED}}


@proves(
    "R002-8.0-36", "R002-8.0-40", "R002-8.0-96", "R002-8.0-104", "R002-11.2.1-06", "R002-11.2.1-13", "R002-11.2.1-14"
)
def test_a_hundred_events_are_one_look(queue):
    for number in range(100):
        queue.enqueue("crew", ["ann"], TASK_CHANGED, number * 0.1)
    assert queue.take(QUIET + 10) == {"crew": {"ann": TASK_CHANGED}}
    queue.done("crew", ["ann"], QUIET + 10)
    assert queue.take(1e9) == {}
    counts = queue.counts()
    assert (counts.taken, counts.coalesced, counts.queued, counts.running) == (1, 99, 0, 0)


@proves("R002-11.2.1-02", "R002-11.2.1-16", "R002-11.2.1-45", "R002-11.2.1-46", "R002-11.2.1-47")
def test_each_member_has_its_own_entry_and_spelling_does_not_matter(queue):
    queue.enqueue("crew", ["ann", "bob"], TASK_CHANGED, 0.0)
    queue.enqueue("CREW", ["ANN"], TASK_CHANGED, 0.0)
    queue.enqueue("other", ["ann"], TASK_CHANGED, 0.0)
    assert queue.take(QUIET) == {"crew": {"ann": TASK_CHANGED, "bob": TASK_CHANGED}, "other": {"ann": TASK_CHANGED}}


@proves("R002-8.0-37", "R002-11.2.1-17", "R002-11.2.1-22")
def test_each_event_begins_the_window_anew_up_to_a_bound(queue):
    now = 0.0
    while now < LONGEST_WAIT * QUIET - QUIET:
        queue.enqueue("crew", ["ann"], TASK_CHANGED, now)
        assert queue.take(now + QUIET - 1) == {}
        now += QUIET - 1
    for _ in range(10):
        queue.enqueue("crew", ["ann"], TASK_CHANGED, now)
    assert queue.take(LONGEST_WAIT * QUIET) == {"crew": {"ann": TASK_CHANGED}}


@settings(deadline=None)
@given(st.lists(st.floats(0.0, 89.0), min_size=1, max_size=200))
def test_where_it_is_never_quiet_somebody_looks_all_the_same(pauses):
    queue, now, taken = SyncQueue(QUIET), 0.0, 0
    for pause in pauses:
        queue.enqueue("crew", ["ann"], TOOL_FINISHED, now)
        now += pause
        if queue.take(now):
            taken += 1
            queue.done("crew", ["ann"], now)
    longest = LONGEST_WAIT * QUIET + 89.0
    assert taken >= int(now // (2 * longest))


@proves("R002-11.2.1-07", "R002-11.2.1-19", "R002-11.2.1-21")
def test_the_strongest_reason_is_named(queue):
    for trigger in (HEARTBEAT, INBOX_DELIVERED, CONFIG_CHANGED, TASK_CHANGED, "something new"):
        queue.enqueue("crew", ["ann"], trigger, 0.0)
    assert queue.take(QUIET) == {"crew": {"ann": CONFIG_CHANGED}}


@proves(
    "R002-8.0-38",
    "R002-11.2.1-23",
    "R002-11.2.1-24",
    "R002-11.2.1-39",
    "R002-11.2.1-48",
    "R002-11.2.1-49",
    "R002-26-26",
)
def test_an_event_while_it_is_looked_at_gives_exactly_one_more_look(queue):
    queue.enqueue("crew", ["ann"], TASK_CHANGED, 0.0)
    assert queue.take(QUIET)
    for number in range(50):
        queue.enqueue("crew", ["ann"], INBOX_DELIVERED, QUIET + number)
    assert queue.take(1e9) == {}, "never two looks at one member at a time"
    queue.done("crew", ["ann"], QUIET + 50)
    assert queue.take(QUIET + 50) == {}, "after its own quiet window"
    assert queue.take(QUIET + 49 + QUIET) == {"crew": {"ann": INBOX_DELIVERED}}
    queue.done("crew", ["ann"], 1000.0)
    assert queue.take(1e9) == {}


@proves("R002-8.0-41", "R002-8.0-87", "R002-11.2.1-10", "R002-11.2.1-15", "R002-27.1-46")
def test_a_stopped_team_is_dropped_with_everything_that_was_to_come(queue):
    queue.enqueue("crew", ["ann", "bob"], TASK_CHANGED, 0.0)
    queue.enqueue("other", ["ann"], TASK_CHANGED, 0.0)
    queue.look_again("crew", "ann", 500.0)
    queue.drop("CREW")
    assert queue.take(1e9) == {"other": {"ann": TASK_CHANGED}}
    assert queue.counts().dropped == 2


def test_a_team_that_is_dropped_while_it_is_looked_at_is_not_looked_at_again(queue):
    queue.enqueue("crew", ["ann"], TASK_CHANGED, 0.0)
    queue.take(QUIET)
    queue.enqueue("crew", ["ann"], TASK_CHANGED, QUIET)
    queue.drop("crew")
    queue.done("crew", ["ann"], QUIET)
    assert queue.take(1e9) == {}


@proves("R002-8.0-42", "R002-8.2.1-56", "R002-27.1-46")
def test_members_who_left_are_dropped_and_the_others_stay(queue):
    queue.enqueue("crew", ["ann", "bob"], TASK_CHANGED, 0.0)
    queue.look_again("crew", "ann", 500.0)
    queue.drop("crew", keep=["BOB"])
    assert queue.take(1e9) == {"crew": {"bob": TASK_CHANGED}}


def test_the_end_of_a_lease_is_looked_at_although_nothing_tells_of_it(queue):
    queue.look_again("crew", "ann", 600.0)
    assert queue.next_due() == 600.0
    assert queue.take(599.0) == {}
    assert queue.take(600.0) == {"crew": {"ann": TIME_PASSED}}
    queue.done("crew", ["ann"], 600.0)
    assert queue.next_due() is None


def test_of_several_later_looks_the_last_one_counts(queue):
    queue.look_again("crew", "ann", 600.0)
    queue.look_again("crew", "ann", 900.0)
    assert queue.take(899.0) == {}
    assert queue.take(900.0) == {"crew": {"ann": TIME_PASSED}}


@proves("R002-8.0-37", "R002-10.4-10")
def test_a_later_look_does_not_break_the_quiet_after_a_change(queue):
    queue.look_again("crew", "ann", 600.0)
    queue.enqueue("crew", ["ann"], TASK_CHANGED, 599.0)
    assert queue.take(601.0) == {}
    assert queue.take(599.0 + QUIET) != {}


def test_a_later_look_while_it_is_being_looked_at_is_one_more_look(queue):
    queue.enqueue("crew", ["ann"], STARTUP_SCAN, 0.0)
    queue.look_again("crew", "ann", QUIET)
    assert queue.take(QUIET) == {"crew": {"ann": STARTUP_SCAN}}
    queue.done("crew", ["ann"], QUIET)
    assert queue.take(QUIET) == {}
    queue.done("crew", ["ann"], QUIET)
    assert queue.take(1e9) == {}


@proves("R002-11.2.1-03")
def test_what_is_asked_for_at_once_does_not_wait(queue):
    queue.enqueue("crew", ["ann"], TASK_CHANGED, 0.0)
    queue.enqueue("crew", ["ann"], "manual_refresh", 1.0, after=0.0)
    assert queue.take(1.0) == {"crew": {"ann": "manual_refresh"}}


@proves("R002-8.0-41")
def test_clearing_ends_everything(queue):
    queue.enqueue("crew", ["ann"], TASK_CHANGED, 0.0)
    queue.look_again("crew", "bob", 5.0)
    queue.clear()
    assert queue.next_due() is None
    assert queue.take(1e9) == {}
    assert queue.counts().dropped == 1


def test_done_for_somebody_who_is_not_there_is_no_error(queue):
    queue.done("crew", ["ann"], 0.0)
    queue.drop("crew")
    assert queue.counts().dropped == 0


def test_a_thousand_members_are_one_take(queue):
    names = [f"m{number}" for number in range(1000)]
    queue.enqueue("crew", names, STARTUP_SCAN, 0.0)
    assert len(queue.take(QUIET)["crew"]) == 1000
