"""The index: what was seen, row by row, and losing a line costs one file."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.board.formats.board_index import UNSETTLED, Row, decode_lines, encode_rows, is_line, is_unchanged, row_of
from atm.board.rules.tasks import CARD_FIELDS, MOST_NUMBERS, Card

WORDS = st.text(max_size=12)
CARDS = st.builds(
    Card,
    number=st.integers(0, 10**15 - 1),
    subject=WORDS,
    status=WORDS,
    owner=WORDS,
    blocked_by=st.lists(WORDS, max_size=3),
    blocks=st.lists(WORDS, max_size=3),
    priority=WORDS,
    outcome=WORDS,
    claim_id=WORDS,
    claimed_at=WORDS,
    failures=st.integers(0, 99),
    max_retries=st.integers(0, 99),
    review=WORDS,
    reviewer=WORDS,
    needs=WORDS,
    plan=WORDS,
    files=st.lists(WORDS, max_size=3),
    is_hidden=st.booleans(),
    last_event=WORDS,
    problem=WORDS,
    key=WORDS,
    runtime=WORDS,
    source=WORDS,
)
NUMBERS = st.integers(0, 2**63)
ROWS = st.builds(Row, CARDS, st.tuples(NUMBERS, NUMBERS, NUMBERS), is_proven=st.booleans(), is_gone=st.booleans())


def decode_rows(data: bytes) -> tuple[dict[int, Row], int]:
    """What counts of an index."""
    lines, count, _ = decode_lines(data)
    return {number: row_of(line) for number, line in lines.items() if is_line(line)}, count


def facts(row: Row) -> list[object]:
    values = [list(value) if isinstance(value, tuple) else value for value in row.card.values()]
    return [row.version, row.is_proven, row.is_gone, *values]


@given(st.lists(ROWS, max_size=5))
def test_rows_are_read_back_as_they_were_and_later_ones_win(rows):
    found, lines = decode_rows(encode_rows(rows))
    assert lines == len(rows)
    assert {number: facts(row) for number, row in found.items()} == {row.card.number: facts(row) for row in rows}


@given(st.lists(ROWS, min_size=1, max_size=4), st.data())
def test_a_torn_last_line_costs_that_line_alone(rows, data):
    whole = encode_rows(rows)
    last = len(encode_rows(rows[:-1]))
    cut = data.draw(st.integers(last, len(whole) - 2))
    found, _ = decode_rows(whole[:cut])
    assert {number: facts(row) for number, row in found.items()} == {row.card.number: facts(row) for row in rows[:-1]}


@given(st.lists(ROWS, max_size=3), st.binary(max_size=30), st.lists(ROWS, max_size=3))
def test_garbage_between_the_lines_costs_nothing_but_itself(before, garbage, after):
    junk = b"?" + garbage.replace(b"\n", b" ") + b"\n"
    found, _ = decode_rows(encode_rows(before) + junk + encode_rows(after))
    assert {number: facts(row) for number, row in found.items()} == {
        row.card.number: facts(row) for row in [*before, *after]
    }


@given(st.binary(max_size=200))
def test_whatever_stands_in_the_file_nothing_is_raised_and_no_row_is_made_up(data):
    assert decode_rows(data)[0] == {}


def test_default_cards_with_tuples_come_back_as_lists():
    row = decode_rows(encode_rows([Row(Card(7), UNSETTLED, is_proven=False)]))[0][7]
    assert (row.version, row.is_proven, row.is_gone) == (UNSETTLED, False, False)
    assert [*row.card.blocked_by, *row.card.blocks, *row.card.files] == []
    assert (row.card.status, row.card.max_retries) == ("pending", 2)


LINE = json.loads(encode_rows([Row(Card(7, "subject"), (1, 2, 3), is_proven=True)]))


@pytest.mark.parametrize(
    "line",
    [
        [],
        {},
        7,
        "x",
        LINE[:1],
        LINE[:4],
        [LINE[0] + 64, *LINE[1:]],
        ["x", *LINE[1:]],
        [*LINE[:4], "no number", "subject"],
        [*LINE, *[0] * len(CARD_FIELDS)],
    ],
)
def test_a_line_that_is_no_row_is_passed_over(line):
    assert decode_rows(json.dumps(line).encode() + b"\n")[0] == {}
    good = encode_rows([Row(Card(8), UNSETTLED, is_proven=False)])
    assert [*decode_rows(good + json.dumps(line).encode() + b"\n")[0]] == [8]


def test_an_empty_file_is_an_empty_index():
    assert decode_rows(b"") == ({}, 0)


def test_ten_thousand_rows_are_read():
    data = encode_rows(
        [Row(Card(n, "subject " * 5, last_event="x" * 36), (n, 1, 1), is_proven=True) for n in range(10_000)]
    )
    assert len(decode_rows(data)[0]) == 10_000


@pytest.mark.parametrize(
    "version", [(12, 340, 5), (11, 341, 5), (11, 340, 6)], ids=["another file", "another size", "another time"]
)
def test_a_file_is_as_it_was_seen_only_if_it_is_the_same_one_of_the_same_size_and_time(version):
    seen = (11, 340, 5)
    line = decode_lines(encode_rows([Row(Card(7), seen, is_proven=True)]))[0][7]
    assert is_unchanged(line, seen)
    assert not is_unchanged(line, version)


def test_a_file_that_came_back_is_not_as_it_was_seen():
    gone = decode_lines(encode_rows([Row(Card(7), (11, 340, 5), is_proven=True, is_gone=True)]))[0][7]
    assert not is_unchanged(gone, (11, 340, 5))


@pytest.mark.parametrize(
    ("number", "is_ours"), [(-1, False), (0, True), (MOST_NUMBERS, True), (MOST_NUMBERS + 1, False)]
)
def test_a_line_is_about_a_number_that_a_task_can_have(number, is_ours):
    line = json.loads(encode_rows([Row(Card(number), (1, 2, 3), is_proven=True)]))
    assert is_line(line) is is_ours


def test_a_line_with_every_field_of_a_card_is_ours_and_one_with_another_is_not():
    line = [*json.loads(encode_rows([Row(Card(7, merged="c0ffee"), (1, 2, 3), is_proven=True)]))]
    assert is_line(line)
    assert not is_line([*line, "more"])
