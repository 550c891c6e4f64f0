"""The turns of the ways in which a disk refuses: bounded, and yet nothing is left out."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from tests.chaos import SPARSE, WAYS, refusals

STEPS = ["look", "create", "write", "sync"] * 5 + ["rename"]


def test_every_step_is_refused_once():
    assert [(refusal.step, refusal.call) for refusal in refusals(STEPS)] == list(enumerate(STEPS))


def test_a_call_that_is_made_often_is_refused_in_every_way_though_it_comes_in_a_loop():
    pairs = {(refusal.call, refusal.way) for refusal in refusals(STEPS)}
    assert pairs >= set(product(["look", "create", "write", "sync"], WAYS))


def test_a_call_that_is_made_once_is_refused_in_every_way_by_scenarios_that_begin_with_another_turn():
    ways = [[refusal.way for refusal in refusals(STEPS, turn)][-1] for turn in range(len(WAYS))]
    assert sorted(ways) == sorted(WAYS)


def test_the_rounds_of_the_long_campaign_make_all_pairs():
    tried = {(refusal.step, refusal.way) for turn in range(len(WAYS)) for refusal in refusals(STEPS, turn)}
    assert tried == set(product(range(len(STEPS)), WAYS))


def test_a_refusal_says_what_the_system_would():
    refusal = next(refusals(["look"], turn=1))
    assert isinstance(refusal.error, PermissionError)
    assert str(refusal) == "EACCES at step 0 (look)"


def test_what_is_tried_sparsely_is_there_and_has_cases():
    files = [path.read_text() for path in Path(__file__).parent.rglob("test_*.py")]
    for name in SPARSE:
        assert any(f"def {name}(" in text for text in files), name
