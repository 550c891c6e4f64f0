"""Which processes belong to an agent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.crew.rules.marks import AgentMark, RunningProcess, family, read_mark, with_ancestors

ANN, BOB = "home/crew/ann/1/k", "home/crew/bob/1/k"


def process(pid: int, parent: int, mark: str = "") -> RunningProcess:
    return RunningProcess(pid, parent, f"t{pid}", f"p{pid}", mark)


def pids(found: list[RunningProcess]) -> list[int]:
    return sorted(one.pid for one in found)


def test_a_mark_is_read_as_it_was_written():
    mark = read_mark(str(AgentMark("home", "crew", "a+b.c", 12, "key")))
    assert mark is not None
    assert (mark.home, mark.team, mark.member, mark.generation, mark.key) == ("home", "crew", "a+b.c", 12, "key")


@pytest.mark.parametrize("text", ["", "x", "a/b/c/d/e", "a/b/c/1", "a/b//1/k", "a/b/c/1/k/more"])
def test_anything_else_is_no_mark(text):
    assert read_mark(text) is None


def test_what_carries_the_mark_belongs_to_it_wherever_it_hangs():
    running = [process(1, 0), process(10, 1, ANN), process(11, 1, ANN), process(12, 1)]
    assert pids(family(running, [ANN])) == [10, 11]


def test_what_cleared_its_environment_is_known_by_its_parent():
    running = [process(10, 1, ANN), process(11, 10), process(12, 11), process(13, 1)]
    assert pids(family(running, [ANN])) == [10, 11, 12]


def test_another_agent_that_it_started_is_another_agent_and_so_are_its_tools():
    running = [process(10, 1, ANN), process(20, 10, BOB), process(21, 20), process(11, 10)]
    assert pids(family(running, [ANN])) == [10, 11]


def test_a_head_that_was_seen_before_counts_while_it_is_the_same_process():
    running = [process(10, 1), process(11, 10)]
    assert pids(family(running, [], [(10, "t10")])) == [10, 11]
    assert family(running, [], [(10, "earlier")]) == []


@pytest.mark.parametrize("text", ["", "no-agent", "x", "home/crew/ann/1"])
def test_a_text_that_is_no_mark_means_no_process_and_not_every_one_without_a_mark(text):
    running = [process(10, 1), process(11, 1, text), process(12, 1, "no-agent")]
    assert family(running, [text]) == []


def test_the_first_process_of_the_system_belongs_to_no_agent_whatever_it_carries():
    running = [process(0, 0, ANN), process(1, 0, ANN), process(10, 1)]
    assert family(running, [ANN], [(1, "t1"), (0, "t0"), (-1, "t-1")]) == []


def test_the_caller_is_itself_and_everything_that_it_runs_under():
    running = [process(1, 0), process(10, 1, ANN), process(11, 10, ANN), process(12, 11), process(13, 10)]
    assert with_ancestors(running, 12) == {12, 11, 10, 1}
    assert with_ancestors(running, 99) == {99}
    assert with_ancestors([process(5, 6), process(6, 5)], 5) == {5, 6}


ROWS = st.tuples(st.integers(2, 40), st.integers(0, 40), st.sampled_from(["", ANN, BOB]))


@given(st.lists(ROWS, unique_by=lambda row: row[0]))
def test_nobody_of_another_mark_is_ever_in_it_and_a_circle_of_parents_ends(rows):
    running = [process(pid, parent, mark) for pid, parent, mark in rows]
    found = family(running, [ANN])
    assert all(one.mark in ("", ANN) for one in found)
    assert {one.pid for one in running if one.mark == ANN} <= {one.pid for one in found}
