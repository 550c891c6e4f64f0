"""Everyday work is asked for no more often than before command lines were judged layer by layer."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.approvals.questions import decisions, decisions_before, everyday, example_policy


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    return decisions(example_policy())


def test_there_are_500_everyday_commands_and_a_decision_of_before_for_each() -> None:
    commands = everyday()
    assert len(set(commands)) == len(commands) >= 500
    assert {*decisions_before()} == {*commands}


def test_the_example_policy_asks_for_everyday_commands_no_more_often_than_before(found: dict[str, str]) -> None:
    now, before = Counter(found.values()), Counter(decisions_before().values())
    asked_anew = [line for line, said in decisions_before().items() if said == "allow" and found[line] != "allow"]
    assert now["ask"] <= before["ask"], f"asked for now, and not before: {asked_anew}"
    assert now["allow"] >= before["allow"], f"asked for now, and not before: {asked_anew}"


def test_the_example_policy_denies_a_push_to_main_and_allows_what_it_names(found: dict[str, str]) -> None:
    assert found["git push origin main"] == "deny"
    assert {found[line] for line in ("make test", "git status", "git diff --stat", "git log --oneline -5")} == {"allow"}
