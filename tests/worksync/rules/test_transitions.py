"""Why a fingerprint changed, for people who look for noise."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.worksync.rules.agenda import WorkItem
from atm.worksync.rules.transitions import ADDED, MOST_TASKS, REMOVED, Transition, explain, facts_of


def item(id: str = "1", kind: str = "work", **evidence: Any) -> WorkItem:
    return WorkItem(id, kind, "ann", "normal", "because", {"status": "pending", "owner": "ann", **evidence})


def between(former: list[WorkItem], now: list[WorkItem]) -> Transition:
    return explain("F1", "F2", facts_of(former), facts_of(now), 5.0)


@proves("R002-8.3.1-10", "R002-8.3.1-11", "R002-8.3.1-12", "R002-8.3.1-13")
def test_it_says_from_where_to_where_and_when():
    assert between([item()], [item(status="in_progress")]) == Transition("F1", "F2", ["1"], ["status_changed"], 5.0)


@proves(
    "R002-8.0-10",
    "R002-8.3.1-14",
    "R002-8.3.1-15",
    "R002-8.3.1-16",
    "R002-8.3.1-17",
    "R002-8.3.1-18",
    "R002-8.3.1-19",
    "R002-8.3.1-20",
    "R002-8.3.1-21",
    "R002-26-31",
    "R002-27.1-23",
)
@pytest.mark.parametrize(
    ("former", "now", "reasons"),
    [
        ([], [item()], [ADDED]),
        ([item()], [], [REMOVED]),
        ([], [], []),
        ([item()], [item()], []),
        ([item()], [item(owner="bob")], ["owner_changed"]),
        ([item(kind="review", reviewer="ann")], [item(kind="review", reviewer="bob")], ["reviewer_changed"]),
        ([item()], [item(status="in_progress")], ["status_changed"]),
        ([item()], [item(plan="submitted")], ["plan_changed"]),
        ([item()], [item(reviewState="changes_requested")], ["review_state_changed"]),
        ([item(historyEventIds=["e1"])], [item(historyEventIds=["e3"])], ["review_state_changed"]),
        ([item()], [item(kind="blocked_dependency", blockedByTaskIds=["2"])], ["blocker_changed"]),
        ([item(blockedByTaskIds=["2", "3"])], [item(blockedByTaskIds=["2"])], ["blocker_changed"]),
        ([item()], [item(kind="clarification", needsClarification="lead")], ["clarification_changed"]),
        ([item("1"), item("2")], [item("2"), item("3")], [ADDED, REMOVED]),
        (
            [item(status="in_progress", plan="submitted", reviewState="review")],
            [item(owner="bob", needsClarification="user")],
            ["clarification_changed", "owner_changed", "plan_changed", "review_state_changed", "status_changed"],
        ),
    ],
)
def test_each_fact_has_its_reason_and_each_reason_is_told_once(former, now, reasons):
    assert between(former, now).reasons == reasons


def test_only_the_tasks_that_changed_are_named_in_the_order_of_their_numbers():
    former = [item(str(n)) for n in (1, 2, 10, 9)]
    now = [item("1"), *(item(id, status="in_progress") for id in ("10", "9", "2"))]
    assert between(former, now).task_ids == ["2", "9", "10"]


def test_of_many_tasks_the_first_ones_are_named_and_all_of_their_reasons():
    former = [item(str(n)) for n in range(100, 150)]
    now = [item(str(n), status="in_progress") for n in range(100, 149)]
    found = between(former, now)
    assert (len(found.task_ids), found.task_ids[0]) == (MOST_TASKS, "100")
    assert found.reasons == ["status_changed", REMOVED]


@pytest.mark.parametrize("former", [{"": {}}, {"work": {}}, {"a:b:c": {"status": 5}}, {"work:1": {"owner": []}}])
def test_what_is_remembered_in_another_form_is_compared_and_nothing_more(former):
    found = explain("F1", "F2", former, facts_of([item()]), 1.0)
    assert set(found.reasons) <= {ADDED, REMOVED, "status_changed", "owner_changed"}
    assert "1" in found.task_ids


FACTS = st.dictionaries(
    st.sampled_from(["work:1", "work:2", "review:1", "review:10"]),
    st.dictionaries(st.sampled_from(["owner", "status", "plan", "unknown"]), st.sampled_from(["a", "b"])),
)


@given(FACTS, FACTS)
def test_the_order_in_which_facts_are_remembered_says_nothing(former, now):
    turned, turned_now = (dict(reversed(facts.items())) for facts in (former, now))
    tasks = [{key.partition(":")[2] for key in facts} for facts in (former, now)]
    if all(len(ids) == len(facts) for ids, facts in zip(tasks, (former, now), strict=True)):
        assert explain("a", "b", former, now, 0.0) == explain("a", "b", turned, turned_now, 0.0)


@given(FACTS)
def test_nothing_changed_has_no_reason(facts):
    assert explain("a", "b", facts, facts, 0.0).reasons == []
