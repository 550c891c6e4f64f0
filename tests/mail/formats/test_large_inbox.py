"""What is said of a large inbox by its bytes is what decoding all of it would say."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.mail.formats import inbox, large_inbox
from atm.mail.formats.inbox import LARGEST_ROW, Inbox, only, spliced_at, unread, unread_spans
from atm.mail.formats.large_inbox import (
    backlog_at_end,
    backlog_in,
    backlog_of,
    glance_at,
    rows_named,
    sender_of,
    urgent_at_end,
)
from atm.mail.rules.messages import ACK_MARKER, REQUEST_MARKER, URGENT_MARK

NAMES = st.sampled_from(["ann", "Bob", "human", 'o"dd', "back\\slash", "д", "x" * 400, ""])
TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [f"{URGENT_MARK}stop", f"so {URGENT_MARK}", f"{ACK_MARKER}1", f"{REQUEST_MARKER}2", '"read": false}', '"id-0"']
    ),
)


def row(number: int, sender: str, text: str, read: bool) -> dict[str, object]:
    return {"from": sender, "text": text, "timestamp": "t", "msg_id": f"id-{number}", "read": read}


ROWS = st.lists(st.tuples(NAMES, TEXTS, st.booleans()), max_size=8).map(
    lambda rows: [row(number, *facts) for number, facts in enumerate(rows)]
)
SPELLINGS = st.sampled_from(["ours", "indented", "one line"])


def spelled(rows: list[dict[str, object]], spelling: str) -> bytes:
    if spelling == "ours":
        return only([json.dumps(one) for one in rows])
    return json.dumps(rows, indent=2 if spelling == "indented" else None, ensure_ascii=spelling == "indented").encode()


def is_human(sender: str) -> bool:
    return sender == "human"


@given(ROWS, SPELLINGS, NAMES)
def test_the_backlog_is_what_decoding_everything_finds(rows, spelling, name):
    data = spelled(rows, spelling)
    found = backlog_in(data, lambda sender: sender == name)
    slow = backlog_of(Inbox(data).rows, lambda sender: sender == name)
    assert (found.rows, found.size) == (slow.rows, slow.size)
    assert found.rows == sum(one["from"] == name and not one["read"] for one in rows)


@given(ROWS, SPELLINGS)
def test_the_end_of_a_file_counts_no_more_than_all_of_it(rows, spelling):
    data = spelled(rows, spelling)
    for size in (10, 100, 300, len(data)):
        assert backlog_at_end(data[-size:], lambda _: True).rows <= backlog_in(data, lambda _: True).rows


@given(ROWS, SPELLINGS)
def test_senders_are_found_without_decoding(rows, spelling):
    data = spelled(rows, spelling)
    for (start, end), message in zip(unread_spans(data) or [], unread(data), strict=False):
        assert sender_of(data, start, end) == message.sender


@given(ROWS, SPELLINGS, st.integers(1, 9), st.integers(0, 500))
def test_a_glance_is_some_of_the_unread_in_their_order_and_counts_the_rest(rows, spelling, most_rows, most_bytes):
    data = spelled(rows, spelling)
    spans = unread_spans(data)
    if spans is None:
        return
    seen = glance_at(data, spans, is_human, most_rows, most_bytes)
    assert seen is not None
    all_ids = [message.id for message in unread(data)]
    ids = [message.id for message in seen.messages]
    assert ids == [id for id in all_ids if id in ids]
    assert len(ids) + seen.left == len(all_ids)
    assert len(ids) <= most_rows
    assert bool(ids) == bool(all_ids)


@given(ROWS, st.integers(1, 9))
def test_a_glance_finds_the_urgent_messages_of_people_then_the_others_then_the_oldest(rows, most_rows):
    data = only([json.dumps(one) for one in rows])
    seen = glance_at(data, unread_spans(data) or [], is_human, most_rows, 1 << 20)
    assert seen is not None

    def rank(message) -> int:
        if message.text.startswith(URGENT_MARK):
            return 0 if is_human(message.sender) else 1
        return 2 if ACK_MARKER in message.text or REQUEST_MARKER in message.text else 3

    expected = sorted(unread(data), key=rank)[:most_rows]
    assert {message.id for message in seen.messages} == {message.id for message in expected}


def test_a_row_that_nobody_takes_apart_is_passed_over():
    rows = [row(0, "ann", "x" * LARGEST_ROW, False), row(1, "ann", "fine", False)]
    data = only([json.dumps(one) for one in rows])
    seen = glance_at(data, unread_spans(data) or [], is_human, 50, 1 << 20)
    assert seen is not None
    assert ([message.id for message in seen.messages], seen.left) == (["id-1"], 0)


def test_a_row_of_the_largest_size_is_still_taken_apart(monkeypatch):
    rows = [json.dumps(row(number, "ann", f"{URGENT_MARK}x" + "y" * number, False)) for number in range(3)]
    monkeypatch.setattr(large_inbox, "LARGEST_ROW", len(rows[1]))
    data = only(rows)
    seen = glance_at(data, unread_spans(data) or [], is_human, 50, 1 << 20)
    assert seen is not None
    assert ([message.id for message in seen.messages], seen.left) == (["id-0", "id-1"], 0)
    assert [message.id for message in urgent_at_end(data, is_human, 50, 1 << 20)] == ["id-0", "id-1"]


@pytest.mark.parametrize("spare", [0, -1], ids=["all that fits", "one byte less"])
def test_rows_are_taken_apart_as_long_as_their_bytes_fit(spare):
    rows = [json.dumps(row(number, "ann", f"{URGENT_MARK}stop", False)) for number in range(3)]
    data, most_bytes = only(rows), 2 * len(rows[0]) + spare
    seen = glance_at(data, unread_spans(data) or [], is_human, 50, most_bytes)
    assert seen is not None
    expected = ["id-0", "id-1"] if spare == 0 else ["id-0"]
    assert ([message.id for message in seen.messages], seen.left) == (expected, 3 - len(expected))
    assert [message.id for message in urgent_at_end(data, is_human, 50, most_bytes)] == expected


@given(ROWS, SPELLINGS, st.integers(1, 2000))
def test_urgent_mail_at_the_end_is_urgent_and_unread(rows, spelling, size):
    data = spelled(rows, spelling)
    ids = {message.id for message in unread(data)}
    for message in urgent_at_end(data[-size:], is_human, 50, 1 << 20):
        assert message.id in ids
        assert any(mark in message.text for mark in (URGENT_MARK, ACK_MARKER, REQUEST_MARKER))


def test_what_we_added_to_a_file_of_another_layout_is_found_at_its_end():
    foreign = json.dumps([row(0, "ann", "x" * 5000, False)])[:-1]
    ours = json.dumps(row(1, "human", f"{URGENT_MARK}stop", False))
    data = f"{foreign},\n  {ours}\n]\n".encode()
    assert [message.id for message in urgent_at_end(data[-1000:], is_human, 50, 1 << 20)] == ["id-1"]
    assert urgent_at_end(data[-20:], is_human, 50, 1 << 20) == []


@given(ROWS, SPELLINGS, st.data(), st.booleans())
def test_rows_are_found_and_marked_by_their_ids(rows, spelling, data, read):
    content = spelled(rows, spelling)
    keys = set(data.draw(st.lists(st.sampled_from([one["msg_id"] for one in rows]), max_size=3)) if rows else [])
    found = rows_named(content, keys)
    if found is None:
        return
    assert {message.id for _, _, message in found} == keys
    keep, rest = spliced_at(content, found, keys, read)
    expected = [{**one, "read": read if one["msg_id"] in keys else one["read"]} for one in rows]
    assert json.loads(content[:keep] + rest) == expected


@pytest.mark.parametrize("keys", [{("ann", "t", "text")}, {"nowhere"}, {"id-0", "nowhere"}])
def test_a_key_that_is_not_found_by_a_search_is_left_to_whoever_decodes(keys):
    assert rows_named(only([json.dumps(row(0, "ann", "text", False))]), keys) is None


def test_an_id_that_another_row_quotes_is_found_where_it_is_the_id():
    rows = [{"from": "ann", "text": "one", "color": "id-1", "read": False}, row(1, "ann", "here", False)]
    found = rows_named(only([json.dumps(one) for one in rows]), {"id-1"})
    assert found is not None
    assert [message.text for _, _, message in found] == ["here"]


class TestWhatWasGoneThroughBefore:
    """A process keeps in mind how far an inbox was read. That saves time, and changes nothing."""

    @pytest.fixture(autouse=True)
    def eager(self, monkeypatch):
        monkeypatch.setattr(inbox, "WORTH_NOTING", 200)
        inbox._prefixes.clear()
        yield
        inbox._prefixes.clear()

    def test_versions_that_follow_one_another_are_gone_through_as_if_each_were_the_first(self):
        chance, rows = Random(3), [row(n, "ann", "x" * 50, True) for n in range(30)]
        notes = 0
        for number in range(400):
            kind = chance.choice(["add", "read", "turn back", "drop", "odd", "compact"])
            if kind == "add":
                rows.append(row(1000 + number, "bob", "{" * chance.randint(0, 9), False))
            elif kind == "read":
                rows = [{**one, "read": True} for one in rows]
            elif kind == "turn back":
                rows[chance.randrange(len(rows))]["read"] = False
            elif kind == "drop" and len(rows) > 20:
                rows.pop(chance.randrange(len(rows)))
            texts = [json.dumps(one) for one in rows]
            if kind == "odd":
                texts[chance.randrange(len(texts))] = '{"read": true, "from": "eve", "text": "flag first"}'
            data = only(texts) if kind != "compact" else json.dumps(rows).encode()
            found, notes = unread_spans(data), notes + bool(inbox._prefixes)
            kept = dict(inbox._prefixes)
            inbox._prefixes.clear()
            assert found == unread_spans(data), kind
            inbox._prefixes.clear()
            inbox._prefixes.update(kept)
        assert notes > 100

    def test_what_is_known_is_not_gone_through_again(self):
        rows = [row(n, "ann", "x" * 50, True) for n in range(100)]
        assert unread_spans(only([json.dumps(one) for one in rows])) == []
        (known,) = inbox._prefixes.values()
        data = only([json.dumps(one) for one in [*rows, row(100, "bob", "new", False)]])
        assert inbox._read_prefix(data) == known[0]
        ((start, end),) = unread_spans(data) or []
        assert json.loads(data[start:end])["text"] == "new"
