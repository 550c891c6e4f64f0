"""The index of an inbox beside what the whole file says, over versions that follow one another in every way."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.files.formats.json_record import NotJson
from atm.mail.formats import row_index
from atm.mail.formats.inbox import Inbox, only
from atm.mail.formats.row_index import RowIndex, indexed, label_of


@pytest.fixture(autouse=True)
def short_stretches(monkeypatch):
    monkeypatch.setattr(row_index, "STRETCH", 150)


def row(number: int, read: bool, text: str = "hello", *, has_id: bool = True) -> str:
    fields = {"from": "ann", "text": text, "timestamp": "2026-11-16T10:00:00.000Z", "read": read}
    return json.dumps({**fields, "msg_id": f"id-{number}"} if has_id else fields)


def flags_of(data: bytes) -> dict[str, bool]:
    flags: dict[str, bool] = {}
    for message in Inbox(data).messages:
        flags[label_of(message)] = message.read and flags.get(label_of(message), True)
    return flags


ROWS = st.lists(
    st.one_of(
        st.builds(row, st.integers(0, 9), st.booleans(), st.sampled_from(["", "[{", "ü\n  {", "x" * 200])),
        st.builds(lambda read: row(0, read, has_id=False), st.booleans()),
        st.sampled_from(["null", "[]", '{"odd": 1}']),
    ),
    max_size=12,
)
LAYOUTS = st.sampled_from([only, lambda rows: ("[" + ",".join(rows) + "]").encode()])


@given(ROWS, ROWS, st.integers(0, 12), LAYOUTS)
def test_an_index_brought_up_to_date_is_the_index_of_the_new_version(first, more, kept, layout):
    former = indexed(layout(first)).index
    data = layout([*first[:kept], *more])
    found = indexed(data, former)
    assert found.index.flags() == flags_of(data)
    assert found.has_rows == bool(Inbox(data).rows)
    assert found.index.labels == [label_of(message) for message in Inbox(data).messages]
    same = sum(len(stretch) for stretch in found.index.stretches[: found.unchanged])
    assert [m.raw for m in found.messages] == [m.raw for m in Inbox(data).messages][same:]
    assert found.index.labels[:same] == former.labels[:same]


def test_what_is_the_same_to_the_byte_is_not_taken_apart_again():
    rows = [row(number, True) for number in range(50)]
    former = indexed(only(rows)).index
    found = indexed(only([*rows, row(50, False)]), former)
    assert len(found.messages) <= 3
    assert [message.id for message in found.messages][-1] == "id-50"


def test_a_row_that_changed_early_is_noticed():
    rows = [row(number, True) for number in range(50)]
    former = indexed(only(rows)).index
    found = indexed(only([row(0, False), *rows[1:]]), former)
    assert found.unchanged == 0
    assert found.index.flags()["id-0"] is False


@pytest.mark.parametrize("end", [b",\n]\n", b"\n", b" {}\n]\n", b"] ]", b"", b",,\n {}]"])
def test_what_is_no_list_is_none_however_much_of_it_was_known(end):
    rows = [row(number, True) for number in range(50)]
    former = indexed(only(rows)).index
    broken = only(rows).rstrip()[:-1].rstrip() + end
    with pytest.raises(NotJson):
        indexed(broken)
    with pytest.raises(NotJson):
        indexed(broken, former)


def test_nothing_has_no_rows():
    assert not indexed(b"[]\n").has_rows
    assert len(indexed(b"[]\n").index) == 0
    assert RowIndex().flags() == {}
