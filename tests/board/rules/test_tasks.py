"""What is known of a task, and what may be written into one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.board.rules.tasks import (
    CARD_FIELDS,
    LONGEST_SUBJECT,
    LONGEST_TEXT,
    PRIORITIES,
    Card,
    Change,
    Refusal,
    Stamp,
    Task,
    check_priority,
    check_subject,
    check_text,
    task_id,
    urgency,
)
from atm.core.plain import dicts_in
from atm.core.work_errors import BadTask


def test_a_card_gives_its_values_in_the_order_in_which_it_takes_them():
    values = [f"{place}" for place in range(len(CARD_FIELDS) - 1)]
    card = Card(7, *values)  # type: ignore[arg-type]
    assert card.values() == [7, *values]
    again = Card(*card.values())  # type: ignore[arg-type]
    assert again.values() == card.values()
    assert len(card.values()) == len(CARD_FIELDS)
    assert again.id == "7"


@pytest.mark.parametrize(
    ("status", "owner", "outcome", "is_finished", "is_claimed"),
    [
        ("pending", "", "", False, False),
        ("pending", "ann", "", False, False),
        ("in_progress", "ann", "", False, True),
        ("in_progress", "", "", False, False),
        ("in_progress", "", "failed", True, False),
        ("in_progress", "", "cancelled", True, False),
        ("completed", "ann", "", True, False),
        ("completed", "", "", True, False),
        ("", "", "", False, False),
    ],
)
def test_a_task_is_claimed_while_an_owner_is_at_work_on_it(status, owner, outcome, is_finished, is_claimed):
    card = Card(1, status=status, owner=owner, outcome=outcome)
    assert (card.is_finished, card.is_claimed) == (is_finished, is_claimed)


@pytest.mark.parametrize(
    ("fields", "waits"),
    [
        ({}, False),
        ({"review": "review"}, True),
        ({"review": "approved"}, False),
        ({"review": "changes_requested"}, False),
        ({"plan": "required"}, False),
        ({"plan": "submitted"}, True),
        ({"plan": "rejected"}, False),
        ({"plan": "approved"}, False),
        ({"needs": "lead"}, True),
        ({"needs": "user"}, True),
    ],
)
def test_a_claimant_waits_for_reviews_answers_and_words_about_plans(fields, waits):
    assert Card(1, status="in_progress", owner="ann", **fields).waits_for_others is waits


def test_a_task_carries_its_own_part_of_the_metadata_even_where_it_is_no_text():
    own: dict[str, Any] = {
        "result": "ok",
        "plan": {"state": "required"},
        "folder": 5,
        "review": [],
        "comments": [{"id": "1"}, 2],
    }
    task = Task(Card(3), description="d", own=own, raw="{}")
    assert (task.id, task.description, task.text("result"), task.text("folder")) == ("3", "d", "ok", "")
    assert (task.part("plan"), task.part("review"), task.part("nothing")) == ({"state": "required"}, {}, {})
    assert (task.comments, task.events, task.acceptance) == ([{"id": "1"}], [], [])


@pytest.mark.parametrize("value", [None, 1, "x", {}, True])
def test_what_is_no_list_has_no_objects_in_it(value):
    assert dicts_in(value) == []


def test_a_change_that_says_nothing_is_empty():
    change = Change()
    assert (change.event, change.fields, change.own, change.add, change.drop) == (None, {}, {}, {}, {})


def test_an_event_says_who_when_and_what_and_leaves_out_what_is_not_known():
    event = Stamp("ann", "2026-01-01T00:00:00.000Z", "e1").event("x", owner="", reason=None, attempt=0, parts=["1"])
    assert event == {
        "id": "e1",
        "type": "x",
        "at": "2026-01-01T00:00:00.000Z",
        "actor": "ann",
        "attempt": 0,
        "parts": ["1"],
    }


def test_a_refusal_has_a_code_and_words():
    refusal = Refusal("blocked", "it waits")
    assert (refusal.code, refusal.why) == ("blocked", "it waits")


@pytest.mark.parametrize(
    ("given", "clean"),
    [
        ("x", "x"),
        ("  many\n\t blanks  ", "many blanks"),
        ("x" * LONGEST_SUBJECT, "x" * LONGEST_SUBJECT),
        ("naïve — ünïcode 🙂", "naïve — ünïcode 🙂"),
    ],
)
def test_a_subject_is_one_line(given, clean):
    assert check_subject(given) == clean


@pytest.mark.parametrize("given", ["", "   ", "\n\t", "x" * (LONGEST_SUBJECT + 1)])
def test_a_subject_that_cannot_be_shown_is_refused(given):
    with pytest.raises(BadTask) as caught:
        check_subject(given)
    assert caught.value.remedy


def test_a_subject_with_a_nul_is_refused_as_any_other_text_with_one_is():
    with pytest.raises(BadTask):
        check_subject("a\0b")


@pytest.mark.parametrize(
    ("text", "is_fine"), [("", True), ("x" * LONGEST_TEXT, True), ("x" * (LONGEST_TEXT + 1), False), ("a\0", False)]
)
def test_texts_have_a_length_and_no_nul(text, is_fine):
    if is_fine:
        assert check_text(text, "note") == text
    else:
        with pytest.raises(BadTask, match="note"):
            check_text(text, "note")


@pytest.mark.parametrize("given", [*PRIORITIES, "HIGH", "Critical"])
def test_priorities_are_known_in_any_case(given):
    assert check_priority(given) in PRIORITIES


@pytest.mark.parametrize("given", ["", "urgent", "p1", "high "])
def test_a_priority_that_nobody_knows_is_refused(given):
    with pytest.raises(BadTask, match="unknown"):
        check_priority(given)


def test_what_is_urgent_comes_first_and_then_the_lowest_id():
    cards = [
        Card(number, priority=priority)
        for number, priority in enumerate(["low", "normal", "?", "critical", "high", "critical"], 1)
    ]
    assert [card.number for card in sorted(cards, key=urgency)] == [4, 6, 5, 2, 3, 1]


@pytest.mark.parametrize(
    ("given", "id"), [("7", "7"), ("#7", "7"), ("07", "7"), (" 7 ", "7"), ("0", "0"), ("9" * 15, "9" * 15)]
)
def test_a_task_is_named_by_its_number(given, id):
    assert task_id(given) == id


@pytest.mark.parametrize(
    "given", ["", "#", "x", "-1", "1.5", "٣", "²", "9" * 16, "##7", "7;rm", "../7", "1 2", "+1", "1_000"]
)
def test_what_is_no_number_is_no_task(given):
    with pytest.raises(BadTask):
        task_id(given)


@given(st.text(max_size=30))
def test_a_task_id_is_a_canonical_number_or_an_error(given):
    try:
        found = task_id(given)
    except BadTask:
        return
    assert found == str(int(found))
