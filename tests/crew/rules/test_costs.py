"""A cost that is only partly known is never claimed as the whole."""

from __future__ import annotations

import pytest

from atm.crew.rules.costs import CostEstimate, cost_in_words, tokens_in_words, total_cost
from atm.runs.rules import memory as kinds
from atm.runs.rules.limits import COST, Limits, Spent, spent_in_life, uses
from atm.runs.rules.memory import RunEvent, RunMemory
from atm.runs.rules.report import spent_fields, total_spent


@pytest.mark.parametrize(
    ("estimate", "text", "kind", "whole"),
    [
        (CostEstimate(0.0024, is_complete=True), "$0.0024", "exact", 0.0024),
        (CostEstimate(0.0024, is_complete=False), "$0.0024 + unknown", "unknown", None),
        (CostEstimate(0.0, is_complete=False), "$0.00 + unknown", "unknown", None),
        (CostEstimate(0.0, is_complete=True), "$0.00", "exact", 0.0),
        (CostEstimate(1234.5, is_complete=True), "$1,234.50", "exact", 1234.5),
        (CostEstimate(None, is_complete=True), "unknown", "unknown", None),
    ],
)
def test_the_known_part_is_said_and_that_it_is_a_part(
    estimate: CostEstimate, text: str, kind: str, whole: float | None
):
    assert (estimate.text, estimate.fields()["kind"], estimate.whole) == (text, kind, whole)


def test_one_agent_that_reports_nothing_makes_the_sum_a_part():
    assert total_cost([("claude", 0.0024), ("codex", None)]).text == "$0.0024 + unknown"
    assert total_cost([("claude", 0.0), ("codex", None)]).text == "$0.00 + unknown"
    assert total_cost([("codex", None)]).text == "unknown"


def test_a_script_calls_no_model_and_has_no_cost_to_report():
    assert total_cost([("claude", 0.5), ("script", None)]).text == "$0.50"
    assert total_cost([("script", None)]).text == "unknown"


def test_a_life_in_which_an_agent_was_spoken_to_and_that_reports_nothing_is_unknown():
    assert spent_in_life(5.0, turns=1, tokens=None, cost=None).has_unknown_cost
    assert spent_in_life(5.0, turns=0, tokens=None, cost=None, injected=900).has_unknown_cost
    assert spent_in_life(5.0, turns=0, tokens=70, cost=None).has_unknown_cost
    assert not spent_in_life(5.0, turns=3, tokens=70, cost=0.0).has_unknown_cost
    assert not spent_in_life(5.0, turns=0, tokens=None, cost=None).has_unknown_cost, "it was never given anything"


def test_a_run_with_one_silent_agent_does_not_claim_what_the_other_reported():
    memory = RunMemory()
    memory.take(RunEvent(kinds.STOPPED, "a1", 9.0, generation=1, seconds=8, turns=2, tokens=100, cost=0.0024))
    memory.take(RunEvent(kinds.STOPPED, "a2", 9.0, generation=1, seconds=8, turns=2, tokens=50))
    fields = spent_fields(total_spent(memory))
    assert fields["cost"] is None
    assert cost_in_words(fields) == "$0.0024 + unknown"
    assert (fields["tokens"], fields["tokens_known"]) == (150, True)


def test_a_run_that_was_signed_out_does_not_cost_nothing():
    memory = RunMemory()
    memory.take(RunEvent(kinds.ERROR, "a1", 9.0, generation=1, seconds=8, turns=3, cost=0.0))
    memory.take(RunEvent(kinds.ERROR, "a2", 9.0, generation=1, seconds=8, turns=3, injected=400))
    assert cost_in_words(spent_fields(total_spent(memory))) == "$0.00 + unknown"


def test_agents_that_still_work_leave_a_part_unknown():
    assert cost_in_words(spent_fields(Spent(cost=0.5), is_final=False)) == "$0.50 + unknown"


def test_a_record_of_an_older_version_is_never_called_the_whole():
    assert cost_in_words({"cost": 0.5}) == "$0.50 + unknown"
    assert cost_in_words({"cost": None}) == "unknown"
    assert cost_in_words({"cost_estimate": {"amount": "much", "kind": "exact"}}) == "unknown"


def test_tokens_are_said_in_the_same_way():
    assert tokens_in_words(1200, is_complete=True) == "1,200"
    assert tokens_in_words(1200, is_complete=False) == "1,200 + unknown"
    assert tokens_in_words(None, is_complete=True) == "unknown"
    assert tokens_in_words(True, is_complete=True) == "unknown"


def test_a_budget_that_counts_only_a_part_says_so():
    (use,) = uses(Limits(cost=1.0), Spent(cost=0.5, has_unknown_cost=True))
    assert (use.what, str(use)) == (COST, "0.5 + unknown of 1 cost")
