"""The queue as JSON: what is written is read back, and what somebody else wrote does no harm."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.files.formats.json_record import NotJson
from atm.merges.formats.queue_file import (
    decode_collisions,
    decode_queue,
    encode_collisions,
    encode_queue,
    item_fields,
)
from atm.merges.rules.items import CONFLICT, MergeCheck, MergeItem, MergeQueue, MergeRival
from atm.merges.rules.radar import Collision

ITEM = MergeItem(
    task="3",
    agent="bob",
    branch="atm/work/t/3-bob",
    head="abc",
    base="def",
    status=CONFLICT,
    waits_for=["1"],
    conflicts=["x"],
    rivals=[MergeRival(task="2", agent="cat", subject="Two")],
    checks=[MergeCheck(command="make test", ok=False, code=2, output="red")],
    lost=["half"],
    needs_human=True,
    reason="why",
    attempts=2,
)


def test_what_is_written_is_read_back():
    queue = MergeQueue(team="t", branch="atm/result/t", items=[ITEM], before=["1"])
    assert decode_queue(encode_queue(queue)) == queue


def test_it_is_written_in_the_words_of_the_contract():
    said = item_fields(ITEM)
    assert said["conflict"] == {"files": ["x"], "with": [{"task": "2", "agent": "cat", "subject": "Two"}]}
    assert said["checks"] == [{"command": "make test", "ok": False, "code": 2, "output": "red"}]
    expected = {"task", "agent", "branch", "head", "status", "waits_for", "commit", "lost", "needs_human", "reason"}
    assert {*said} >= {*expected, "attempts"}
    assert (item_fields(MergeItem(task="1"))["conflict"], item_fields(MergeItem(task="1"))["commit"]) == (None, None)


@pytest.mark.parametrize("data", [b"", b"[]", b"nonsense", b'{"items": []}', b'{"team": 7}'])
def test_what_is_no_queue_is_refused(data):
    with pytest.raises(NotJson):
        decode_queue(data)


def test_items_that_make_no_sense_are_passed_over():
    said = {"team": "t", "items": [7, {}, {"task": "1", "status": "nonsense"}, {"task": "2", "status": "merged"}]}
    assert [one.task for one in decode_queue(json.dumps(said).encode()).items] == ["2"]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_a_value_of_another_kind_is_as_if_it_were_not_there(value):
    said = {
        "team": "t",
        "items": [{"task": "1", "status": "queued", "files": value, "conflict": value, "attempts": value}],
    }
    (read,) = decode_queue(json.dumps(said).encode()).items
    assert all(isinstance(one, str) for one in (*read.files, *read.conflicts))
    assert isinstance(read.attempts, int)


def test_collisions_are_read_back():
    found = [Collision(tasks=["1", ""], agents=["ann", ""], files=["x"], conflicts=["x"], lines={})]
    assert decode_collisions(encode_collisions(found)) == found
    with_lines = [Collision(tasks=["1", "2"], agents=["ann", "bob"], files=["x"], lines={"x": [[1, 2]]})]
    assert decode_collisions(encode_collisions(with_lines)) == with_lines
