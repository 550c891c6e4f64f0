"""The board as a graph: what waits for what, what can never be done, and no circles."""

from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.board.rules.dependencies import Board, check_new_edges, find_circle
from atm.board.rules.tasks import Card, task_id
from atm.core.work_errors import BadTask, DependencyCycle, NoSuchTask


def card(number: int, *needs: int, status: str = "pending", **fields: object) -> Card:
    return Card(number, f"task {number}", status=status, blocked_by=[str(need) for need in needs], **fields)  # type: ignore[arg-type]


def board(*cards: Card, gone: tuple[Card, ...] = ()) -> Board:
    return Board({one.number: one for one in cards}, {one.number: one for one in gone})


FAILED = {"status": "in_progress", "outcome": "failed"}
CANCELLED = {"status": "in_progress", "outcome": "cancelled"}


class TestWhatWaitsForWhat:
    @proves("R003-9-04", "R004-task-system-T5")
    def test_both_sides_of_a_dependency_count(self):
        made = board(card(1, blocks=["2"]), card(2), card(3, 1), card(4, 3, 3, blocks=["2", "x", "²"]))
        assert made.blockers(made.cards[2]) == ["1", "4"]
        assert made.blockers(made.cards[4]) == ["3"]
        assert [one.number for one in made.dependants("1")] == [2, 3]
        assert made.dependants("99") == []

    @pytest.mark.parametrize(
        ("blocker", "is_open"),
        [
            ({"status": "pending"}, True),
            ({"status": "in_progress", "owner": "ann"}, True),
            ({"status": "completed"}, False),
            (FAILED, True),
            (CANCELLED, True),
            ({"status": "deleted"}, True),
            ({"status": "", "problem": "not JSON"}, True),
        ],
    )
    @pytest.mark.parametrize("is_gone", [False, True])
    def test_only_a_completed_task_lets_others_go_on_also_after_its_file_is_gone(self, blocker, is_open, is_gone):
        first, second = card(1, **blocker), card(2, 1)
        made = board(second, gone=(first,)) if is_gone else board(first, second)
        assert made.open_blockers(second) == (["1"] if is_open else [])
        assert made.broken_blockers(second) == (["1"] if is_open and is_gone else [])

    @proves("R004-task-system-T2c")
    def test_a_dependency_that_nobody_ever_saw_is_open_and_broken(self):
        second = card(2, 77)
        assert board(second).broken_blockers(second) == ["77"]
        odd = Card(3, blocked_by=["x", "-1", "9" * 40, ""])
        assert board(odd).broken_blockers(odd) == ["x", "-1", "9" * 40, ""]

    def test_what_is_free_once_a_task_is_completed(self):
        made = board(
            card(1, status="completed"), card(2, 1), card(3, 1, 2), card(4, 1, status="completed"), card(5, 1, **FAILED)
        )
        assert made.newly_free("1") == ["2"]

    def test_a_task_that_is_not_there_says_whether_it_was_once(self):
        made = board(card(1), gone=(card(2, status="completed"), card(3, **FAILED)))
        assert made.card("1").number == 1
        with pytest.raises(NoSuchTask, match="not on the board any more; it was completed"):
            made.card("2")
        with pytest.raises(NoSuchTask, match="failed"):
            made.card("3")
        with pytest.raises(NoSuchTask, match="there is no task #4"):
            made.card("4")

    def test_cards_come_in_order(self):
        assert [one.number for one in board(card(10), card(2), card(7)).sorted()] == [2, 7, 10]

    def test_an_id_of_absurd_length_breaks_no_board(self):
        made = board(Card(1, blocks=["9" * 5000]), card(2, 1))
        assert made.open_blockers(made.cards[2]) == ["1"]


class TestStates:
    @proves("R004-task-system-T1", "R004-agent-lifecycle-L7c")
    @pytest.mark.parametrize(
        ("one", "state"),
        [
            (card(1), "pending"),
            (card(1, 2), "blocked"),
            (card(1, 3), "pending"),
            (card(1, 77), "blocked"),
            (card(1, 4), "unreachable"),
            (card(1, 5), "unreachable"),
            (card(1, 2, status="in_progress", owner="ann"), "in_progress"),
            (card(1, status="in_progress"), "in_progress"),
            (card(1, status="in_progress", owner="ann", review="review"), "review"),
            (card(1, status="in_progress", owner="ann", plan="required"), "planning"),
            (card(1, status="in_progress", owner="ann", plan="submitted"), "planning"),
            (card(1, status="in_progress", owner="ann", plan="rejected"), "planning"),
            (card(1, status="in_progress", owner="ann", plan="approved"), "in_progress"),
            (card(1, status="completed", review="review"), "completed"),
            (card(1, 2, **FAILED), "failed"),
            (card(1, **CANCELLED), "cancelled"),
            (card(1, status="deleted"), "deleted"),
            (card(1, status="", problem="not JSON"), "unreadable"),
        ],
    )
    def test_a_task_is_in_one_state(self, one, state):
        made = board(one, card(2), card(3, status="completed"), card(4, **FAILED), card(5, **CANCELLED))
        assert made.state(one) == state

    def test_what_failed_for_good_takes_everything_behind_it_along(self):
        made = board(card(1, **FAILED), card(2, 1), card(3, 2), card(4, 3, 5), card(5), card(6, 5))
        assert sorted(made.lost()) == [2, 3, 4]
        assert made.lost()[2] == "#1 failed for good"
        assert made.lost()[3] == "#2 can never be done"
        assert made.counts() == {"failed": 1, "unreachable": 3, "pending": 1, "blocked": 1}

    def test_a_foreign_circle_can_never_be_done_and_neither_can_what_waits_for_it(self):
        made = board(card(1, 2), card(2, 3), card(3, 1), card(4, 1), card(5, 5), card(6))
        assert sorted(made.lost()) == [1, 2, 3, 4, 5]

    def test_only_what_lies_in_a_circle_is_said_to_depend_on_itself(self):
        made = board(card(1, 2), card(2, 1), card(3, 1))
        assert "itself" in made.lost()[1]
        assert "itself" not in made.lost()[3]

    def test_a_circle_with_somebody_at_work_in_it_can_still_open(self):
        made = board(card(1, 2, status="in_progress", owner="ann"), card(2, 1))
        assert made.lost() == {}

    def test_a_dependency_that_failed_and_whose_file_is_gone_makes_unreachable_too(self):
        assert board(card(2, 1), gone=(card(1, **FAILED),)).lost() == {2: "#1 failed for good"}

    def test_an_outcome_that_only_later_versions_know_breaks_nothing(self):
        made = board(card(1, status="in_progress", outcome="skipped"), card(2, 1))
        assert made.state(made.cards[2]) == "unreachable"

    @proves("R004-defects-04")
    @pytest.mark.parametrize(
        ("cards", "is_resolved"),
        [
            ([], True),
            ([card(1, status="completed")], True),
            ([card(1)], False),
            ([card(1, status="in_progress", owner="ann")], False),
            ([card(1, **FAILED), card(2, 1)], True),
            ([card(1, **CANCELLED), card(2, 1), card(3, 2)], True),
            ([card(1, **FAILED), card(2)], False),
            ([card(1, is_hidden=True)], True),
            ([card(1, 77)], False),  # somebody must decide about a broken dependency (D13)
            ([card(1, 1)], True),
        ],
    )
    def test_a_run_is_over_when_nobody_can_do_anything_any_more(self, cards, is_resolved):
        assert board(*cards).is_resolved is is_resolved

    def test_claude_codes_own_bookkeeping_is_not_counted(self):
        assert board(card(1), card(2, is_hidden=True)).counts() == {"pending": 1}


class TestNewEdges:
    @proves("R004-architecture-08")
    def test_a_circle_is_refused_and_named(self):
        made = board(card(1), card(2, 1), card(3, 2))
        with pytest.raises(DependencyCycle, match="#1 → #3 → #2 → #1"):
            check_new_edges(made, {"1": ["3"]})

    def test_nobody_depends_on_themselves(self):
        with pytest.raises(DependencyCycle, match="#1 cannot depend on itself"):
            check_new_edges(board(card(1)), {"1": ["1"]})

    def test_a_circle_through_the_other_side_of_a_dependency_is_found_too(self):
        made = board(card(1, blocks=["2"]), card(2))
        with pytest.raises(DependencyCycle):
            check_new_edges(made, {"1": ["2"]})

    def test_a_circle_among_tasks_that_are_about_to_be_added_is_refused(self):
        with pytest.raises(DependencyCycle, match="#5"):
            check_new_edges(board(card(1)), {"5": ["6"], "6": ["7"], "7": ["5", "1"]}, dict.fromkeys("567", "#5"))

    @pytest.mark.parametrize(
        ("other", "error"),
        [("9", NoSuchTask), ("8", NoSuchTask), ("x", BadTask), ("", BadTask), ("7", None), ("1", None), ("6", None)],
    )
    def test_an_id_that_nobody_knows_is_refused_and_one_that_was_completed_is_not(self, other, error):
        made = board(card(1), card(6, **FAILED), gone=(card(7, status="completed"), card(8)))
        if error is None:
            check_new_edges(made, {"5": [other]}, {"5": "new"})
        else:
            with pytest.raises(error):
                check_new_edges(made, {"5": [other]}, {"5": "new"})

    def test_edges_that_make_no_circle_are_fine(self):
        made = board(card(1), card(2, 1), card(3, 1), card(4, 2, 3))
        check_new_edges(made, {"4": ["1"], "3": ["2"]})
        with pytest.raises(DependencyCycle):
            check_new_edges(made, {"2": ["4"], "3": ["2"]})

    def test_a_circle_that_others_made_elsewhere_is_not_held_against_a_task_that_has_nothing_to_do_with_it(self):
        made = board(card(1, 2), card(2, 1), card(3))
        check_new_edges(made, {"4": ["3"]}, {"4": "new"})
        with pytest.raises(DependencyCycle):
            check_new_edges(made, {"4": ["3"], "3": ["4"]}, {"4": "new"})

    @pytest.mark.parametrize(("id", "is_fine"), [("7", True), ("x", False), ("", False), ("٣", False)])
    def test_an_id_is_a_number(self, id, is_fine):
        if is_fine:
            assert task_id(id) == id
        else:
            with pytest.raises(BadTask):
                task_id(id)


NODES = [str(number) for number in range(7)]
GRAPHS = st.dictionaries(st.sampled_from(NODES), st.lists(st.sampled_from(NODES), max_size=4), max_size=7)


def reaches_a_circle(edges: dict[str, list[str]], start: str) -> bool:
    """By brute force: is there a walk from here that is longer than there are nodes?"""
    here = {start}
    for _ in range(len(NODES) + 1):
        here = {other for node in here for other in edges.get(node, ())}
    return bool(here)


@proves("R004-defects-04b")
@given(GRAPHS, st.lists(st.sampled_from(NODES), max_size=3))
def test_a_circle_is_found_if_and_only_if_there_is_one(edges, starts):
    found = find_circle(edges, starts)
    assert bool(found) == any(reaches_a_circle(edges, start) for start in starts)
    assert found[:1] == found[-1:]
    assert all(other in edges[node] for node, other in pairwise(found))
    assert len(set(found)) == max(0, len(found) - 1)


@given(GRAPHS)
def test_pending_tasks_are_lost_if_and_only_if_they_reach_a_circle(edges):
    made = board(*[card(int(node), *map(int, edges.get(node, ()))) for node in NODES])
    assert {str(number) for number in made.lost()} == {node for node in NODES if reaches_a_circle(edges, node)}


@given(GRAPHS, st.dictionaries(st.sampled_from(NODES), st.sampled_from(["completed", "failed", "claimed"])))
def test_the_states_of_a_board_agree_with_one_another(edges, done):
    kinds = {
        "completed": {"status": "completed"},
        "failed": FAILED,
        "claimed": {"status": "in_progress", "owner": "ann"},
    }
    made = board(
        *[card(int(node), *map(int, edges.get(node, ())), **kinds.get(done.get(node, ""), {})) for node in NODES]
    )
    for one in made.cards.values():
        waits, state = made.open_blockers(one), made.state(one)
        assert (state == "pending") == (one.status == "pending" and not waits)
        assert (state in ("blocked", "unreachable")) == (one.status == "pending" and bool(waits))
        assert (state == "unreachable") == (one.number in made.lost())
        for other in waits:
            assert made.state(made.cards[int(other)]) != "completed"
    assert sum(made.counts().values()) == len(made.cards)


@given(GRAPHS, st.sampled_from(NODES), st.lists(st.sampled_from(NODES), min_size=1, max_size=3))
def test_new_edges_are_accepted_if_and_only_if_no_circle_can_be_reached_afterwards(edges, id, others):
    acyclic = {node: [other for other in needs if other < node] for node, needs in edges.items()}
    made = board(*[card(int(node), *map(int, acyclic.get(node, ()))) for node in NODES])
    after = {**acyclic, id: [*acyclic.get(id, []), *others]}
    if reaches_a_circle(after, id):
        with pytest.raises(DependencyCycle):
            check_new_edges(made, {id: others})
    else:
        check_new_edges(made, {id: others})


class TestLargeBoards:
    """
    Bounds are ten times what it takes: they find what is quadratic or recursive, not what is slow. What counts is the
    processor's time, of which other programs take none.
    """

    def test_a_chain_of_ten_thousand_is_walked_without_recursion(self):
        made = board(*[card(number, *([number - 1] if number > 1 else [])) for number in range(1, 10_001)])
        began = time.thread_time()
        assert made.counts() == {"pending": 1, "blocked": 9_999}
        with pytest.raises(DependencyCycle):
            check_new_edges(made, {"1": ["10000"]})
        check_new_edges(made, {"10001": ["10000"]}, {"10001": "new"})
        assert time.thread_time() - began < 3

    def test_a_chain_of_ten_thousand_behind_a_failure_is_all_unreachable(self):
        made = board(card(1, **FAILED), *[card(number, number - 1) for number in range(2, 10_001)])
        began = time.thread_time()
        assert len(made.lost()) == 9_999
        assert made.is_resolved
        assert time.thread_time() - began < 3

    def test_a_thousand_dependants_are_freed_in_one_go(self):
        made = board(card(1, status="completed"), *[card(number, 1) for number in range(2, 1_002)])
        began = time.thread_time()
        assert len(made.newly_free("1")) == 1_000
        assert time.thread_time() - began < 1

    def test_one_task_may_wait_for_ten_thousand(self):
        many = range(1, 10_001)
        made = board(*[card(number, blocks=["10001"]) for number in many], card(10_001, *many))
        began = time.thread_time()
        assert len(made.open_blockers(made.cards[10_001])) == 10_000
        assert time.thread_time() - began < 0.5

    def test_a_wide_random_graph_takes_no_time(self):
        dice = random.Random(1)
        cards = [card(n, *{dice.randrange(1, n) for _ in range(5) if n > 1}) for n in range(1, 10_001)]
        began = time.thread_time()
        assert sum(board(*cards).counts().values()) == 10_000
        assert time.thread_time() - began < 3
