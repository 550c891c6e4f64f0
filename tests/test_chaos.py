"""The turns of the ways in which a disk refuses: bounded, and yet nothing is left out."""

from __future__ import annotations

from itertools import product
from pathlib import Path

from tests.chaos import EVERY_LOOK, LONG, LOOKING, SPARSE, WAYS, kills, refusals
from tests.crash.conftest import Left

STEPS = ["look", "create", "write", "sync"] * 5 + ["rename"]


CHANGES = [step for step, call in enumerate(STEPS) if call not in LOOKING]


def test_every_change_is_refused_once():
    refused = [refusal.step for refusal in refusals(STEPS)]
    assert [step for step in refused if step in CHANGES] == CHANGES
    assert len(refused) == len(set(refused))


def test_every_look_is_refused_by_scenarios_that_begin_with_another_turn():
    refused = [refusal.step for turn in range(EVERY_LOOK) for refusal in refusals(STEPS, turn)]
    assert sorted(set(refused)) == list(range(len(STEPS)))
    assert len(refused) == len(STEPS) + (EVERY_LOOK - 1) * len(CHANGES), "a look is refused in one of these turns"


def test_a_call_that_is_made_often_is_refused_in_every_way_though_it_comes_in_a_loop():
    pairs = {(refusal.call, refusal.way) for refusal in refusals(STEPS)}
    assert pairs >= set(product(["create", "write"], WAYS))
    looks = {(refusal.call, refusal.way) for refusal in refusals(STEPS * EVERY_LOOK)}
    assert looks >= set(product(["look", "sync"], WAYS))


def test_a_call_that_is_made_once_is_refused_in_every_way_by_scenarios_that_begin_with_another_turn():
    ways = [[refusal.way for refusal in refusals(STEPS, turn)][-1] for turn in range(len(WAYS))]
    assert sorted(ways) == sorted(WAYS)


def test_the_rounds_of_the_long_campaign_make_all_pairs(monkeypatch):
    monkeypatch.setattr("tests.chaos.EVERY_LOOK", 1)
    tried = {(refusal.step, refusal.way) for turn in range(len(WAYS)) for refusal in refusals(STEPS, turn)}
    assert tried == set(product(range(len(STEPS)), WAYS))


def test_a_process_is_killed_right_after_and_right_before_each_change():
    steps = ["look", "look", "create", "write", "look", "look", "close", "rename", "sync", "sync"]
    assert kills(steps) == (list(range(10)) if LONG else [0, 2, 3, 4, 7, 8])


def test_a_refusal_says_what_the_system_would():
    refusal = next(refusals(["write"], turn=1))
    assert isinstance(refusal.error, PermissionError)
    assert str(refusal) == "EACCES at step 0 (write)"


def test_what_is_tried_sparsely_is_there_and_has_cases():
    files = [path.read_text() for path in Path(__file__).parent.rglob("test_*.py")]
    for name in SPARSE:
        assert any(f"def {name}(" in text for text in files), name


def test_what_a_machine_counts_from_its_start_makes_no_difference(tmp_path):
    body = '{{"trusted": [27, {}, 3, 1795033702105490307]}}{}\n'
    left, home = Left(), tmp_path / "home"
    home.mkdir()
    for number in (998, 10_002, 270_208):
        (home / "lock").write_text(body.format(number, " " * (20 - len(str(number)))))
        assert left.is_new(home) == (number == 998 or LONG)
