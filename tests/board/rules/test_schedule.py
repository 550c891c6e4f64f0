"""The order of a plan: waves, each after what it waits for, and overlaps of what could run side by side."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from tests.chaos import LONG

from atm.board.rules.dependencies import Board
from atm.board.rules.file_overlap import globs_overlap
from atm.board.rules.schedule import MOST_OVERLAPS, edges_on, overlaps, waves
from atm.board.rules.tasks import Card

SEEDS = 60 if LONG else 20
MANY = 10_000 if LONG else 2_000
"""Of these a step that is quadratic would be felt, and one that calls itself for each would not end."""


class TestWaves:
    @pytest.mark.parametrize(
        ("edges", "expected"),
        [
            ({}, []),
            ({"1": []}, [["1"]]),
            ({"1": [], "2": [], "3": ["1", "2"]}, [["1", "2"], ["3"]]),
            ({"3": ["2"], "2": ["1"], "1": []}, [["1"], ["2"], ["3"]]),
            ({"1": ["9"]}, [["1"]]),
            ({"1": ["2", "2"], "2": []}, [["2"], ["1"]]),
            ({"1": ["1"], "2": ["1"], "3": []}, [["3"]]),
            ({"1": ["2"], "2": ["1"], "3": ["2"], "4": []}, [["4"]]),
            ({0: [1], 1: []}, [[1], [0]]),
        ],
    )
    def test_a_task_comes_as_soon_as_it_can(self, edges, expected):
        assert waves(edges) == expected

    def test_within_a_wave_the_order_of_the_plan_is_kept(self):
        assert waves({"a": [], "c": ["z"], "b": ["a"], "z": []}) == [["a", "z"], ["c", "b"]]

    @pytest.mark.parametrize("seed", range(SEEDS))
    def test_everything_comes_once_and_after_what_it_waits_for(self, seed):
        chance = random.Random(seed)
        count = chance.randrange(1, 40)
        edges = {n: [chance.randrange(n) for _ in range(chance.randrange(4))] if n else [] for n in range(count)}
        names = list(edges)
        chance.shuffle(names)
        found = waves({n: edges[n] for n in names})
        level = {n: number for number, wave in enumerate(found) for n in wave}
        assert sorted(level) == sorted(n for wave in found for n in wave) == list(range(count))
        for n, others in edges.items():
            assert level[n] == max((level[other] + 1 for other in others), default=0)

    def test_thousands_in_a_row_are_as_many_waves(self):
        edges = {n: [n - 1] if n else [] for n in range(MANY)}
        assert waves(edges) == [[n] for n in range(MANY)]

    def test_one_may_be_needed_by_thousands(self):
        edges = {n: [0] if n else [] for n in range(MANY + 1)}
        assert [len(wave) for wave in waves(edges)] == [1, MANY]


class TestABoard:
    def test_what_is_done_is_waited_for_by_nobody_and_what_can_never_be_done_is_left_out(self):
        cards = [
            Card(1, status="completed"),
            Card(2, blocked_by=["1"]),
            Card(3, blocked_by=["2"], status="in_progress", owner="bob"),
            Card(4, status="in_progress", outcome="failed"),
            Card(5, blocked_by=["4"]),
            Card(6, blocked_by=["99"]),
            Card(7, blocked_by=["6"]),
            Card(8, is_hidden=True),
            Card(9, problem="torn"),
        ]
        edges = edges_on(Board({card.number: card for card in cards}))
        assert edges == {"2": [], "3": ["2"]}
        assert waves(edges) == [["2"], ["3"]]


class TestOverlaps:
    @pytest.mark.parametrize(
        ("files", "edges", "expected"),
        [
            ({}, {}, []),
            ({"1": ["a.py"], "2": ["b.py"]}, {}, []),
            ({"1": ["a.py"], "2": ["a.py"]}, {}, [(["1", "2"], ["a.py"])]),
            ({"1": ["a.py"], "2": ["a.py"]}, {"1": [], "2": ["1"]}, []),
            ({"1": ["a.py"], "2": ["a.py"]}, {"1": [], "3": ["1"], "2": ["3"]}, []),
            ({"1": ["src/**"], "2": ["src/a.py"]}, {"1": [], "2": []}, [(["1", "2"], ["src/**", "src/a.py"])]),
            ({"1": ["a.py", "b.py"], "2": ["b.py", "a.py"]}, {}, [(["1", "2"], ["a.py", "b.py"])]),
            ({n: ["a.py"] for n in "123"}, {"1": [], "2": ["1"], "3": ["1"]}, [(["2", "3"], ["a.py"])]),
            ({n: ["a.py"] for n in "123"}, {}, [(["1", "2", "3"], ["a.py"])]),
            ({"1": ["src/**", "src/a.py"]}, {}, []),
            ({0: ["a"], 1: ["a/b.py"]}, {0: [], 1: []}, [([0, 1], ["a", "a/b.py"])]),
        ],
    )
    def test_tasks_that_could_run_beside_one_another_are_named_with_what_both_touch(self, files, edges, expected):
        assert overlaps(files, edges) == expected

    def test_what_runs_in_a_circle_is_beside_everything(self):
        files = {"1": ["a"], "2": ["a"]}
        assert overlaps(files, {"1": ["2"], "2": ["1"]}) == [(["1", "2"], ["a"])]

    @pytest.mark.parametrize("seed", range(SEEDS))
    def test_they_are_exactly_the_pairs_that_one_by_one_comparison_finds(self, seed):
        chance = random.Random(seed)
        words = ["a", "b.py", "*", "**", "c?", "[ab]", "x.d", "..", "*.py"]
        count = chance.randrange(2, 12)
        files = {
            n: ["/".join(chance.choices(words, k=chance.randrange(1, 4))) for _ in range(chance.randrange(3))]
            for n in range(count)
        }
        edges = {n: [chance.randrange(n)] if n and chance.random() < 0.4 else [] for n in range(count)}
        before = {n: {n} for n in files}
        for n in files:
            for other in edges[n]:
                before[n] |= before[other]
        wanted = {
            (one, other)
            for one, other in combinations(files, 2)
            if one not in before[other]
            and any(globs_overlap(ours, theirs) for ours in files[one] for theirs in files[other])
        }
        found = overlaps(files, edges)
        assert {n for pair in wanted for n in pair} == {n for ids, _ in found for n in ids}
        for one, other in wanted:
            assert any(one in ids and other in ids for ids, _ in found)
        for ids, patterns in found:
            for n in ids:
                assert any((n, o) in wanted or (o, n) in wanted for o in ids)
                assert set(patterns) & set(files[n])

    def test_a_thousand_tasks_that_share_files_are_one_group(self):
        files = {n: ["src/**", f"src/part{n}.py"] for n in range(1_000)}
        [(ids, patterns), *_] = overlaps(files, {n: [] for n in files})
        assert (len(ids), patterns[0]) == (1_000, "src/**")

    def test_there_is_an_end_to_warnings(self):
        files = {n: [f"*{n}*"] for n in range(500)}
        assert len(overlaps(files, {})) == MOST_OVERLAPS

    @pytest.mark.parametrize("shape", ["src/p{0}/m{0}.py", "*/m{0}.py", "src/**/m{0}.py", "p{0}/**"])
    def test_thousands_of_tasks_with_files_of_their_own_have_no_overlap(self, shape):
        files = {n: [shape.format(n)] for n in range(MANY)}
        assert overlaps(files, {n: [n - 1] if n % 2 else [] for n in files}) == []
