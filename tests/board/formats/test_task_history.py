"""Lines of `tasks.jsonl`: what happened, to what, and how it stood afterwards."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.board.formats.task_history import OBSERVED, VANISHED, Past, PastLine, decode_past, gone_in, state_of
from atm.board.rules.tasks import MOST_NUMBERS, Card

WORDS = st.text(max_size=10)
EVENTS = st.dictionaries(
    WORDS.filter(lambda key: key not in ("seq", "task", "after")),
    st.none() | WORDS | st.integers() | st.lists(WORDS, max_size=2),
    max_size=4,
)


def test_a_line_says_everything():
    card = Card(7, "do it", status="in_progress", owner="ann")
    line = PastLine(card, {"id": "e", "type": "x", "at": "t", "actor": "ann"}).numbered(3)
    assert line.endswith(b"}\n")
    assert json.loads(line) == {
        "seq": 3,
        "task": "7",
        "id": "e",
        "type": "x",
        "at": "t",
        "actor": "ann",
        "after": {"status": "in_progress", "owner": "ann", "outcome": "", "subject": "do it"},
    }


@given(EVENTS, st.integers(1, 10**9), WORDS)
def test_a_line_is_read_back_as_it_was(event, seq, subject):
    card = Card(7, subject)
    found, torn = decode_past(PastLine(card, event).numbered(seq))
    assert (torn, len(found)) == (0, 1)
    past = found[0]
    assert (past.seq, past.task, past.event, past.after) == (seq, "7", event, state_of(card))


@pytest.mark.parametrize("key", ["seq", "task", "after"])
def test_an_event_of_another_hand_cannot_pass_for_the_number_or_the_task_of_its_line(key):
    found, torn = decode_past(PastLine(Card(7), {"id": "e", key: "x"}).numbered(3))
    assert torn == 0
    assert (found[0].seq, found[0].task) == (3, "7")
    assert found[0].after["status"] == "pending"


def test_the_card_is_taken_as_it_was_when_the_line_was_made():
    card = Card(7, status="pending")
    line = PastLine(card, {})
    card.status = "completed"
    assert decode_past(line.numbered(1))[0][0].after["status"] == "pending"


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b'{"seq": "1", "task": "7"}',
        b'{"seq": 1}',
        b'{"seq": 1, "task": 7}',
        b'{"task": "7"}',
    ],
)
def test_a_line_that_cannot_be_read_costs_itself(line):
    good = PastLine(Card(1), {"id": "e"}).numbered(1)
    found, torn = decode_past(good + line + b"\n\n  \n" + good)
    assert (len(found), torn) == (2, 1)


def test_a_word_that_is_none_is_empty():
    past = decode_past(PastLine(Card(1), {"id": "e", "attempt": 3}).numbered(1))[0][0]
    assert (past.word("id"), past.word("attempt"), past.word("nothing")) == ("e", "", "")


@given(st.binary(max_size=200))
def test_whatever_stands_in_the_file_nothing_is_raised_and_nothing_is_made_up(data):
    found, torn = decode_past(data)
    assert found == []
    assert torn == sum(1 for line in data.split(b"\n") if line.strip())


@pytest.mark.parametrize("task", ["", "seven", "-7", "7.0", "٧", str(MOST_NUMBERS + 1)])
def test_a_line_about_what_is_no_tasks_number_brings_nothing_onto_the_board(task):
    assert gone_in([Past(1, task, {"type": VANISHED}, {"subject": "do it"})]) == {}


def test_of_each_task_the_last_line_tells_how_it_was_and_whether_its_file_is_gone():
    past = [
        Past(1, "7", {"type": OBSERVED}, {"subject": "do it", "status": "pending", "owner": "ann"}),
        Past(2, str(MOST_NUMBERS), {"type": VANISHED}, {}),
        Past(3, "7", {"type": VANISHED}, {"subject": "do it", "status": "completed", "owner": 5, "outcome": "done"}),
        Past(4, str(MOST_NUMBERS), {"type": OBSERVED}, {"subject": "last"}),
    ]
    found = gone_in(past)
    assert {number: (*state_of(card).values(), is_gone) for number, (card, is_gone) in found.items()} == {
        7: ("completed", "", "done", "do it", True),
        MOST_NUMBERS: ("", "", "", "last", False),
    }
