"""The eight types of messages: what each carries, who may send it, and what it says in words."""

from __future__ import annotations

import pytest
from tests.proving import proves

from atm.core.errors import BadMessage
from atm.mail.rules import message_types
from atm.mail.rules.message_types import (
    ALL,
    LONGEST_VALUE,
    check_by_hand,
    checked_metadata,
    in_words,
    is_yes,
    read_pairs,
    shutdown_id,
)
from atm.mail.rules.messages import SENT_BY_HAND, TYPES


@proves("R004-messaging-M1")
def test_there_are_eight_types_and_the_table_has_each():
    assert (
        tuple(ALL)
        == TYPES
        == (
            *("text", "status_update", "shutdown_request", "shutdown_response", "plan_submission", "plan_approval"),
            *("task_assignment", "broadcast"),
        )
    )


def test_what_a_type_needs_and_where_its_text_goes_is_among_what_it_has():
    for one in ALL.values():
        assert {*one.needs, *([one.words] if one.words else [])} <= {*one.keys}, one.name


def test_those_that_may_be_asked_for_by_name_are_those_of_the_table():
    assert tuple(name for name, one in ALL.items() if one.by_hand) == SENT_BY_HAND


def test_a_type_that_nobody_sends_by_hand_says_what_makes_it():
    assert all(one.made_by for one in ALL.values() if not one.by_hand)


@pytest.mark.parametrize("type", ["plan_approval", "plan_submission", "task_assignment", "broadcast"])
def test_what_the_board_says_is_not_said_by_hand_not_even_by_the_lead(type):
    with pytest.raises(BadMessage) as refused:
        check_by_hand(type, is_boss=True)
    assert "`atm " in refused.value.remedy
    assert type not in SENT_BY_HAND


def test_only_the_lead_or_a_human_asks_somebody_to_end():
    assert check_by_hand("shutdown_request", is_boss=True).name == "shutdown_request"
    with pytest.raises(BadMessage, match="only the lead or a human"):
        check_by_hand("shutdown_request", is_boss=False)


@pytest.mark.parametrize("type", ["text", "status_update", "shutdown_response"])
def test_anybody_says_how_they_are_and_whether_they_end(type):
    assert check_by_hand(type, is_boss=False).name == type


def test_an_unknown_type_is_answered_with_those_that_there_are():
    with pytest.raises(BadMessage) as refused:
        check_by_hand("grant", is_boss=True)
    assert "status_update" in refused.value.remedy


def test_the_text_is_in_the_metadata_and_what_was_given_there_comes_first():
    assert checked_metadata("status_update", {"state": "blocked"}, "no schema") == {
        "state": "blocked",
        "note": "no schema",
    }
    given = {"note": "short", "state": "blocked"}
    assert checked_metadata("status_update", given, "long")["note"] == "short"


def test_a_long_text_is_in_the_metadata_by_its_beginning():
    assert len(checked_metadata("status_update", {"state": "idle"}, "x" * 5_000)["note"]) == LONGEST_VALUE


@pytest.mark.parametrize(
    ("type", "given", "words"),
    [
        ("status_update", {}, "needs 'state'"),
        ("status_update", {"state": " "}, "needs 'state'"),
        ("status_update", {"state": "idle", "mood": "good"}, "has no metadata 'mood'"),
        ("text", {"state": "idle"}, "has no metadata 'state'"),
        ("shutdown_response", {"approved": "maybe"}, "cannot be 'maybe'"),
        ("status_update", {"state": "x" * (LONGEST_VALUE + 1)}, "more than the"),
        ("status_update", {"state": "a\0b"}, "NUL"),
    ],
)
def test_metadata_that_does_not_belong_to_the_type_is_refused(type, given, words):
    with pytest.raises(BadMessage, match=words):
        checked_metadata(type, given)


@pytest.mark.parametrize(("said", "means"), [("yes", "true"), ("True", "true"), ("no", "false"), ("false", "false")])
def test_a_yes_has_one_spelling(said, means):
    assert checked_metadata("shutdown_response", {"approved": said}) == {"approved": means}


def test_only_a_clear_yes_is_one():
    assert is_yes({"approved": "true"})
    assert not any(map(is_yes, ({}, {"approved": "false"}, {"approved": "1"}, {"approved": "TRUE"})))


@proves("R004-messaging-M2e")
def test_metadata_is_a_map_of_strings():
    assert read_pairs(["state=blocked", "note=a=b", "task_id="]) == {"state": "blocked", "note": "a=b", "task_id": ""}


@pytest.mark.parametrize("pairs", [["state"], ["=x"], ["state=a", "state=b"]])
def test_what_is_no_key_and_value_is_refused(pairs):
    with pytest.raises(BadMessage):
        read_pairs(pairs)


@pytest.mark.parametrize(
    ("type", "metadata", "text", "words"),
    [
        ("status_update", {"state": "blocked", "task_id": "3"}, "no schema", "Status of #3: blocked\nno schema"),
        ("status_update", {"state": "idle"}, "", "Status: idle"),
        ("status_update", {"state": "idle", "note": "all done"}, "", "Status: idle\nall done"),
        ("shutdown_request", {"request_id": "r"}, "the day is over", "You are asked to end.\nthe day is over"),
        ("shutdown_response", {"approved": "true"}, "", "Asked to end: yes, I end."),
        ("shutdown_response", {"approved": "false"}, "a migration", "Asked to end: no, not yet.\na migration"),
        ("text", {}, "hello", "hello"),
    ],
)
def test_each_reads_as_words(type, metadata, text, words):
    assert in_words(type, metadata, text) == words


def test_a_request_to_end_has_an_id_that_both_sides_know():
    assert shutdown_id(1788000200.0, "scout") == "shutdown-1788000200000@scout"
    assert message_types.ALL["shutdown_response"].keys == ("approved", "request_id", "reason")
