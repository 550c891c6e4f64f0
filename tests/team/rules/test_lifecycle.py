"""The life of a team is a table: every pair of states is either a move or refused with what is allowed."""

from __future__ import annotations

import pytest
from tests.proving import proves

from atm.core.work_errors import BadMove
from atm.team.rules.lifecycle import (
    ACTIVE,
    COMPLETE,
    CONSOLIDATING,
    INIT,
    MOVES,
    PENDING,
    STATES,
    STOPPED,
    UNKNOWN,
    check_move,
    may_move,
    way_to,
)

ALLOWED = {
    (INIT, PENDING),
    (PENDING, ACTIVE),
    (ACTIVE, CONSOLIDATING),
    (CONSOLIDATING, COMPLETE),
    (CONSOLIDATING, ACTIVE),
    (STOPPED, PENDING),
    (STOPPED, ACTIVE),
    *((state, STOPPED) for state in (INIT, PENDING, ACTIVE, CONSOLIDATING)),
}


@proves("R003-1.1-05")
@pytest.mark.parametrize("before", STATES)
@pytest.mark.parametrize("after", STATES)
def test_a_move_is_allowed_exactly_where_the_table_says_so(before, after):
    assert may_move(before, after) is ((before, after) in ALLOWED)
    if (before, after) in ALLOWED:
        check_move("crew", before, after)
        return
    with pytest.raises(BadMove) as caught:
        check_move("crew", before, after)
    assert all(allowed in caught.value.remedy for allowed in MOVES[before])


def test_a_team_that_is_complete_stays_so():
    with pytest.raises(BadMove, match="stays so"):
        check_move("crew", COMPLETE, ACTIVE)


def test_a_word_that_is_no_state_is_refused_with_those_that_are():
    with pytest.raises(BadMove) as caught:
        check_move("crew", ACTIVE, "sleeping")
    assert "consolidating" in caught.value.remedy


def test_where_nobody_knows_how_it_stands_nothing_moves():
    with pytest.raises(BadMove, match="nobody knows"):
        check_move("crew", UNKNOWN, ACTIVE)


@pytest.mark.parametrize(
    ("before", "way"),
    [
        (INIT, [PENDING, ACTIVE, CONSOLIDATING, COMPLETE]),
        (PENDING, [ACTIVE, CONSOLIDATING, COMPLETE]),
        (ACTIVE, [CONSOLIDATING, COMPLETE]),
        (CONSOLIDATING, [COMPLETE]),
        (STOPPED, [ACTIVE, CONSOLIDATING, COMPLETE]),
        (COMPLETE, []),
        (UNKNOWN, []),
    ],
)
def test_archiving_walks_the_table_and_never_through_stopped(before, way):
    assert way_to(before, COMPLETE) == way


@pytest.mark.parametrize("state", STATES)
def test_every_state_but_complete_has_a_way_to_the_end(state):
    assert bool(way_to(state, COMPLETE)) is (state != COMPLETE)
