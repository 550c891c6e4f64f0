"""An inbox in numbers: the same as what comes of taking every row apart."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.files.formats.json_record import NotJson
from atm.mail.formats.inbox import EMPTY, Inbox
from atm.mail.formats.inbox_counts import InboxCounts, count_rows
from atm.mail.formats.protocol_message import idle_sender

IDLE_NOTICE = json.dumps({"type": "idle_notification", "from": "bob"})
ROWS: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {},
    optional={
        "from": st.sampled_from(["ann", "bob", 7]),
        "text": st.sampled_from(["hello", IDLE_NOTICE, "idle_notification", "{", 7]),
        "content": st.sampled_from(["old", 7]),
        "timestamp": st.sampled_from(["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z", 7]),
        "read": st.sampled_from([True, False, "yes"]),
        "type": st.sampled_from(["message", "idle_notification", 7]),
        "new": st.just(1),
    },
)


def one_by_one(data: bytes) -> InboxCounts:
    rows = Inbox(data).rows
    messages = [row for row in rows if row.understood]
    idle = [row for row in messages if idle_sender(row) is not None]
    spoken = [row for row in messages if idle_sender(row) is None]
    return InboxCounts(
        total=len(messages),
        unread=sum(not row.read for row in spoken),
        idle=len(idle),
        malformed=len(rows) - len(messages),
        latest=max((row.timestamp for row in spoken or messages), default=""),
        unknown={name for row in messages for name in row.unknown},
    )


@given(st.lists(ROWS | st.integers() | st.none(), max_size=6))
def test_counting_says_what_taking_apart_says(rows):
    data = json.dumps(rows).encode()
    assert count_rows(data) == one_by_one(data)


def test_an_empty_inbox_has_nothing():
    assert count_rows(EMPTY) == InboxCounts()


@pytest.mark.parametrize("data", [b"", b"{}", b"[", b"[{}", b"[] x", b"\xff"])
def test_what_is_no_inbox_is_not_counted(data):
    with pytest.raises(NotJson):
        count_rows(data)


def test_one_row_that_is_nested_too_deeply_hides_no_other():
    deep = b'{"from": "eve", "text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    data = b'[{"from": "ann", "text": "hello"}, ' + deep + b"]"
    assert (count_rows(data).total, count_rows(data).malformed) == (1, 1)


def test_half_a_character_and_numbers_of_any_size_are_no_trouble():
    data = b'[{"from": "ann", "text": "\\ud83d", "timestamp": "x", "n": 123456789012345678901234567890}]'
    assert count_rows(data).total == 1
