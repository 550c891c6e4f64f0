"""The nine states of an agent."""

from __future__ import annotations

import pytest
from tests.proving import proves

from atm.core.work_errors import BadMove
from atm.crew.rules.states import (
    ERROR,
    IDLE,
    MOVES,
    OVER,
    READY,
    SHUTTING_DOWN,
    SPAWNING,
    STATES,
    STOPPED,
    WORKING,
    check_move,
    pause_after,
)


@proves("R004-gap-p0-02")
def test_there_are_nine():
    assert len(STATES) == 9


def test_every_state_but_the_last_can_end():
    assert [state for state in STATES if state not in OVER and not set(OVER) & set(MOVES[state])] == []


def test_from_every_state_an_agent_can_be_started_again():
    def can_reach(state: str) -> set[str]:
        seen, waiting = set[str](), [state]
        while waiting:
            for after in MOVES[waiting.pop()]:
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
        return seen

    assert all(SPAWNING in can_reach(state) for state in STATES)


@pytest.mark.parametrize(("before", "after"), [(SPAWNING, WORKING), (STOPPED, READY), (ERROR, IDLE), (READY, SPAWNING)])
def test_what_the_table_does_not_have_is_refused(before, after):
    with pytest.raises(BadMove) as error:
        check_move(before, after)
    assert f"from {before} to {after}" in str(error.value)


def test_staying_is_no_move_and_a_refusal_leads_back_to_work():
    check_move(IDLE, IDLE)
    assert WORKING in MOVES[SHUTTING_DOWN]


def test_an_idle_agent_looks_after_one_two_four_and_at_most_thirty_seconds():
    assert [pause_after(looks) for looks in range(7)] == [1, 2, 4, 8, 16, 30, 30]
    assert pause_after(10_000) == 30
