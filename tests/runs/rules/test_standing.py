"""How a run stands for a person: died, interrupted, held, stopped; and when it is no news."""

from __future__ import annotations

import math

import pytest

from atm.runs.rules import memory as kinds
from atm.runs.rules.memory import RunEvent, RunMemory
from atm.runs.rules.standing import continue_command, resume_command, run_state, standing_of


def memory(*events: RunEvent) -> RunMemory:
    made = RunMemory()
    for event in events:
        made.take(event)
    return made


START = RunEvent(kinds.STARTED, "r1", 10.0)
WAIT = RunEvent(kinds.WAITS, kinds.WAITS, 20.0, text="#1 cannot go on without a person")
PAUSE = RunEvent(kinds.PAUSED, "r1", 30.0, why="a person interrupted it")
RESUME = RunEvent(kinds.RESUMED, "r1", 40.0)
DECIDED = RunEvent(kinds.APPROVAL_DECIDED, "a", 21.0, state="approved")


def end(outcome: str, why: str = "") -> RunEvent:
    return RunEvent(kinds.ENDED, "r1", 50.0, outcome=outcome, why=why)


@pytest.mark.parametrize(
    ("events", "is_held", "is_open", "state"),
    [
        ((START,), True, True, "running"),
        ((START,), False, True, "died"),
        ((START, PAUSE), False, True, "paused"),
        ((START, PAUSE, RESUME), False, True, "died"),
        ((), False, True, "paused"),
        ((START, WAIT), True, True, "held"),
        ((START, WAIT), False, True, "died"),
        ((START, WAIT, DECIDED), True, True, "running"),
        ((START, end("success")), False, False, ""),
        ((START, end("failed")), False, False, ""),
        ((START, end("partial")), False, True, "held"),
        ((START, end("stopped")), False, True, "stopped"),
        ((START, end("stopped")), False, False, ""),
        ((START, end("stopped"), RESUME), True, True, "running"),
    ],
)
def test_the_state_of_the_last_run(events, is_held, is_open, state):
    assert standing_of(memory(*events), is_held=is_held, is_open=is_open) == state


def test_a_run_whose_loop_a_signal_has_stopped_is_suspended_whatever_it_waited_for():
    for events in ((START,), (START, WAIT), (START, PAUSE, RESUME)):
        assert standing_of(memory(*events), is_held=True, is_open=True, is_suspended=True) == "suspended"
    assert run_state(memory(START), is_held=True, is_suspended=True) == "suspended"
    assert continue_command(7) == "kill -CONT 7"


def test_outcomes_stay_what_lists_show():
    assert run_state(memory(START, end("partial")), is_held=False) == "partial"
    assert run_state(memory(START, WAIT), is_held=True) == "running"


def test_a_second_wait_for_a_person_is_told_as_the_first_was():
    made = memory(START, WAIT)
    assert (made.waits_since, kinds.WAITS in made.told) == (20.0, True)
    made.take(DECIDED)
    assert (made.waits_since, kinds.WAITS in made.told) == (0.0, False)


def test_why_a_run_ended_is_known_until_it_is_resumed():
    made = memory(START, end("stopped", "the run has used 5 minutes"))
    assert made.ended_because == "the run has used 5 minutes"
    made.take(RESUME)
    assert made.ended_because == ""


@pytest.mark.parametrize(
    ("seen_at", "lasted"),
    [(None, 10.0), (28.0, 18.0), (15.0, 10.0), (9_999.0, 30.0), (math.inf, 30.0), (-math.inf, 10.0)],
)
def test_the_time_before_a_kill_counts_as_far_as_its_loop_was_seen(seen_at, lasted):
    """20 is the last event, 40 the resume: whatever a heartbeat says, no time is counted twice or invented."""
    made = memory(START, DECIDED_AT_20, RunEvent(kinds.RESUMED, "r1", 40.0, seen_at=seen_at))
    assert made.lasted == lasted
    assert made.seconds(45.0) == lasted + 5.0


DECIDED_AT_20 = RunEvent(kinds.APPROVAL_DECIDED, "a", 20.0, state="approved")


def test_the_command_is_one_that_can_be_typed():
    assert resume_command("my team", "r1; rm -rf /") == "atm run --resume 'r1; rm -rf /' --team 'my team'"
