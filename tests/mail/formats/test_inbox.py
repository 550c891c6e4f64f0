"""Inbox files: every spelling is read, every row survives, and three speeds tell one story."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.chaos import examples
from tests.proving import proves

from atm.files.formats.json_record import NotJson, RawArray, RawObject, encode, to_text
from atm.mail.formats.inbox import (
    EMPTY,
    Inbox,
    changed_rows,
    decode_row,
    encode_row,
    is_array,
    malformed,
    marked,
    only,
    spliced,
    tail_of,
    unread,
    unread_rows,
    with_read,
)
from atm.mail.rules.messages import Message


def a_message(**changes) -> Message:
    fields = {"id": "id-1", "sender": "bob", "text": "hello", "timestamp": "2026-08-27T10:00:00.000Z", "read": False}
    return Message(**{**fields, **changes})


def decoded(raw: str) -> Message:
    message = decode_row(raw)
    assert message is not None
    return message


# Generated inboxes: rows that look like rows, texts that look like rows, and the layouts in which they lie.

TRICKY = st.sampled_from(
    [
        '"read": false',
        '"read": true',
        'a\n  {"read": false}',
        "\n  {",
        ",\n  {",
        "\\n  {",
        "}\n]\n",
        "read",
        '\\"read\\": false',
        "}",
        "{",
        "]",
        "\ud83d",
        "é\u2028😀",
        "",
        " ",
    ]
)
TEXTS = TRICKY | st.text(max_size=12) | st.tuples(TRICKY, TRICKY).map("".join)
TIMES = st.sampled_from(["2026-08-27T10:00:00.000Z", "2026-08-27T10:00:01.000Z", "", "yesterday"])
IDS = st.sampled_from(["message_id", "msg_id", "messageId", "id"])
UNKNOWN = st.recursive(
    TEXTS | st.integers() | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["read", "from", "x", ""]), inner, max_size=2)
    ),
    max_leaves=4,
)


@st.composite
def row_values(draw, *, always_says_read: bool):
    """A message row in any order of fields; other fields may hold flags of their own."""
    fields = {"from": draw(TEXTS), draw(st.sampled_from(["text", "text", "content"])): draw(TEXTS)}
    if draw(st.booleans()):
        fields["timestamp"] = draw(TIMES)
    if draw(st.booleans()):
        fields[draw(IDS)] = draw(st.sampled_from(["a-1", "a-2", "é", ""]) | st.uuids().map(str))
    if draw(st.booleans()):
        fields["summary"] = draw(TEXTS)
    if draw(st.integers(0, 3)) == 0:
        fields["extra"] = draw(UNKNOWN)
    if draw(st.integers(0, 3)) == 0:
        fields["quoted"] = {"read": draw(st.booleans())}
    if always_says_read or draw(st.booleans()):
        fields["read"] = draw(st.booleans())
    if not always_says_read and draw(st.integers(0, 5)) == 0:
        fields["read"] = draw(UNKNOWN)
    return dict(draw(st.permutations(list(fields.items()))))


HARMLESS_JUNK: st.SearchStrategy[Any] = st.integers() | st.booleans() | st.none() | st.just([]) | st.just("a string")
ANY_JUNK: st.SearchStrategy[Any] = (
    HARMLESS_JUNK | UNKNOWN | st.sampled_from(["}", '{"read": false}', [{"read": False}], {"read": False}])
)


def _a_row_a_line(rows: list[str]) -> str:
    return "[\n  " + ",\n  ".join(rows) + "\n]\n" if rows else "[]\n"


LAYOUTS: dict[str, Callable[[list[Any]], str]] = {
    "ours": lambda rows: _a_row_a_line([encode(row) for row in rows]),
    "a compact row a line": lambda rows: _a_row_a_line([json.dumps(row, separators=(",", ":")) for row in rows]),
    "two spaces": lambda rows: json.dumps(rows, indent=2),
    "two spaces and a newline": lambda rows: json.dumps(rows, indent=2) + "\n",
    "four spaces": lambda rows: json.dumps(rows, indent=4),
    "tabs": lambda rows: json.dumps(rows, indent="\t"),
    "compact": lambda rows: json.dumps(rows, separators=(",", ":")),
    "spaced": json.dumps,
    "windows": lambda rows: json.dumps(rows, indent=2).replace("\n", "\r\n"),
    "byte order mark": lambda rows: "\ufeff" + json.dumps(rows, indent=2),
    "mixed": lambda rows: _a_row_a_line([json.dumps(row, indent=2).replace("\n", "\n  ") for row in rows]),
}


SCANNED_QUICKLY = ("ours", "a compact row a line", "two spaces", "two spaces and a newline", "mixed")


@st.composite
def inboxes(draw, *, always_says_read: bool = True, junk=HARMLESS_JUNK, layouts=tuple(LAYOUTS)) -> bytes:
    rows = draw(st.lists(row_values(always_says_read=always_says_read) | junk, max_size=5))
    text = LAYOUTS[draw(st.sampled_from(layouts))](rows)
    return text.encode("utf-8")


class TestEncodeRow:
    @proves("R001-3.1-05", "R001-3.1-06", "R001-3.1-11")
    def test_a_row_in_our_team_has_both_ids_and_claudes_order(self):
        row = encode_row(a_message(summary="hi", color="blue"), claudes_team=False)
        assert row == (
            '{"from": "bob", "text": "hello", "summary": "hi", "timestamp": "2026-08-27T10:00:00.000Z", '
            '"color": "blue", "message_id": "id-1", "msgV": 1, "msg_id": "id-1", "type": "message", "read": false}'
        )

    @proves("R001-3.1-11")
    def test_a_row_in_claudes_team_has_exactly_the_fields_that_its_validator_knows(self):
        row = json.loads(encode_row(a_message(summary="hi", color="blue"), claudes_team=True))
        assert list(row) == ["from", "text", "summary", "timestamp", "color", "msgV", "msg_id", "type", "read"]

    @proves("R001-3.1-07")
    @pytest.mark.parametrize("claudes_team", [True, False])
    def test_optional_fields_are_left_out_when_empty(self, claudes_team):
        row = json.loads(encode_row(a_message(summary="", color=None), claudes_team=claudes_team))
        assert "summary" not in row
        assert "color" not in row

    @proves("R001-3.1-07", "R001-8.3-01")
    @given(
        st.text(),
        st.text() | TRICKY,
        st.none() | st.text(min_size=1),
        st.none() | st.text(min_size=1),
        st.booleans(),
        st.booleans(),
    )
    def test_what_is_written_is_read_back(self, sender, text, summary, color, read, claudes_team):
        message = a_message(sender=sender, text=text, summary=summary, color=color, read=read)
        raw = encode_row(message, claudes_team=claudes_team)
        assert "\n" not in raw
        raw.encode("utf-8")
        back = decoded(raw)
        assert (back.id, back.sender, back.text, back.timestamp) == ("id-1", sender, text, message.timestamp)
        assert (back.read, back.summary, back.color, back.kind) == (read, summary, color, "message")
        assert back.raw == raw
        assert back.unknown == ()


class TestDecodeRow:
    @proves("R000-version-sensitivity-02")
    @pytest.mark.parametrize("spelling", ["message_id", "msg_id", "messageId", "id"])
    def test_every_spelling_of_the_id_is_read(self, spelling):
        assert decoded(f'{{"from": "a", "text": "b", "{spelling}": "x"}}').id == "x"

    @proves("R001-3.1-08")
    @pytest.mark.parametrize(
        ("ids", "expected"),
        [
            ('"id": "d", "messageId": "c", "msg_id": "b", "message_id": "a"', "a"),
            ('"id": "d", "messageId": "c", "msg_id": "b"', "b"),
            ('"id": "d", "messageId": "c"', "c"),
            ('"message_id": "", "msg_id": null, "messageId": 7, "id": "d"', "d"),
            ('"message_id": "", "id": 5', None),
            ('"other": 1', None),
        ],
    )
    def test_of_several_ids_ours_comes_first_and_what_is_no_string_is_no_id(self, ids, expected):
        assert decoded(f'{{"from": "a", "text": "b", {ids}}}').id == expected

    @proves("R001-3.1-08", "R001-3.1-12")
    def test_a_row_without_an_id_is_known_by_sender_time_and_text(self):
        row = decoded('{"from": "a", "text": "b", "timestamp": "t"}')
        assert row.id is None
        assert row.key == ("a", "t", "b")

    def test_content_stands_for_text_where_there_is_no_text(self):
        assert decoded('{"from": "a", "content": "c"}').text == "c"
        assert decoded('{"from": "a", "content": "c", "text": "t"}').text == "t"

    @proves("R001-3.1-03", "R001-3.1-04")
    @pytest.mark.parametrize(
        "raw",
        [
            "1",
            "null",
            "true",
            '"a"',
            "[]",
            "{}",
            '{"text": "b"}',
            '{"from": "a"}',
            '{"from": null, "text": "b"}',
            '{"from": "a", "text": 1}',
            '{"from": "a", "text": null, "content": "c"}',
            "not json",
            "",
        ],
    )
    def test_what_is_not_a_message_is_none(self, raw):
        assert decode_row(raw) is None

    @pytest.mark.parametrize(
        ("flag", "read"), [("true", True), ("false", False), ("1", False), ('"true"', False), ("null", False)]
    )
    def test_only_true_is_read(self, flag, read):
        assert decoded(f'{{"from": "a", "text": "b", "read": {flag}}}').read is read

    @proves("R001-3.1-01", "R001-8.3-10")
    def test_fields_of_another_kind_count_as_absent(self):
        row = decoded('{"from": "a", "text": "b", "timestamp": 5, "summary": [], "color": {}, "type": null}')
        assert (row.timestamp, row.summary, row.color, row.kind) == ("", None, None, "message")

    @proves("R001-3.1-14")
    def test_unknown_fields_are_named_in_their_order(self):
        row = decoded('{"zeta": 1, "from": "a", "text": "b", "alpha": {"from": "x"}, "msgV": 2}')
        assert row.unknown == ("zeta", "alpha")

    def test_a_stand_in_for_a_row_that_is_no_message_counts_as_read(self):
        row = malformed("17")
        assert (row.understood, row.read, row.raw, row.id) == (False, True, "17", None)


class TestInbox:
    def test_messages_and_malformed_rows_are_told_apart(self):
        inbox = Inbox(b'[1, {"from": "a", "text": "b"}, {"text": "c"}]')
        assert [row.text for row in inbox.messages] == ["b"]
        assert inbox.malformed_rows == 2
        assert [row.raw for row in inbox.rows] == ["1", '{"from": "a", "text": "b"}', '{"text": "c"}']

    def test_a_message_that_calls_itself_malformed_is_a_message(self):
        data = b'[\n  {"from": "a", "text": "b", "type": "malformed", "read": false}\n]\n'
        assert [row.text for row in Inbox(data).messages] == ["b"]
        assert Inbox(data).malformed_rows == 0

    def test_a_row_that_is_no_message_never_has_the_key_of_one(self):
        rows = Inbox(b'[5, {"from": "", "text": "5", "read": false}]').rows
        assert rows[0].key != rows[1].key

    def test_marking_a_message_never_stumbles_over_a_row_that_is_none(self):
        data = b'[5, {"from": "", "text": "5", "read": false}]'
        after = Inbox(marked(data, {("", "", "5")}, True))
        assert [row.raw for row in after.rows] == ["5", '{"from": "", "text": "5", "read": true}']

    @pytest.mark.parametrize("data", [b"[]", b"[]\n", b"[\n]\n", b" [ ] ", b"\xef\xbb\xbf[]"])
    def test_an_empty_array_is_an_inbox_without_rows(self, data):
        assert Inbox(data).rows == []
        assert is_array(data)
        assert unread(data) == []

    @given(inboxes(always_says_read=False, junk=ANY_JUNK))
    def test_every_row_is_there_in_order_and_to_the_letter(self, data):
        assert [row.raw for row in Inbox(data).rows] == RawArray(to_text(data)).items

    @given(inboxes(always_says_read=False, junk=ANY_JUNK))
    def test_a_change_that_changes_nothing_keeps_every_byte(self, data):
        assert changed_rows(data, list) == data

    @given(inboxes(always_says_read=False, junk=ANY_JUNK), st.data())
    def test_taking_rows_out_leaves_the_others_to_the_letter(self, data, choice):
        keep = choice.draw(st.lists(st.booleans(), min_size=len(Inbox(data).rows), max_size=len(Inbox(data).rows)))
        after = changed_rows(data, lambda rows: [row for row, kept in zip(rows, keep, strict=True) if kept])
        before = RawArray(to_text(data)).items
        assert RawArray(to_text(after)).items == [raw for raw, kept in zip(before, keep, strict=True) if kept]


class TestAppending:
    @pytest.mark.parametrize(
        ("data", "cut"),
        [
            (b'[{"a": 1}]', 9),
            (b'[\n  {"a": 1}\n]\n', 12),
            (b'[{"a": 1} \n\t ] \r\n', 9),
            (b"[]", None),
            (b"[\n]\n", None),
            (b"[1]", None),
            (b'["}"]', None),
            (b'{"a": [{}]}', None),
            (b' [{"a": 1}]', None),
            (b'\xef\xbb\xbf[{"a": 1}]', None),
            (b'[{"a": 1}', None),
            (b'[{"a": 1},]', None),
            (b'[{"a": 1}]x', None),
            (b"", None),
        ],
    )
    def test_the_end_tells_where_a_row_can_be_spliced_in(self, data, cut):
        assert tail_of(data[:1], data, len(data)) == cut

    @given(inboxes(always_says_read=False, junk=ANY_JUNK), st.integers(1, 200), st.lists(TEXTS, min_size=1, max_size=3))
    def test_a_splice_judged_by_the_ends_adds_the_rows_and_changes_none(self, data, window, texts):
        raws = [encode_row(a_message(text=text), claudes_team=True) for text in texts]
        cut = tail_of(data[:1], data[-window:], len(data))
        if cut is None:
            return
        after = data[:cut] + spliced(raws)
        assert RawArray(to_text(after)).items == [*RawArray(to_text(data)).items, *raws]

    @given(st.lists(TEXTS, max_size=4), st.lists(TEXTS, min_size=1, max_size=3))
    def test_what_we_wrote_can_always_be_spliced(self, before, added):
        data = only([encode_row(a_message(text=text), claudes_team=False) for text in before])
        raws = [encode_row(a_message(text=text), claudes_team=False) for text in added]
        cut = tail_of(data[:1], data[-4096:], len(data))
        assert (cut is None) == (not before)
        if cut is not None:
            assert data[:cut] + spliced(raws) == only([*RawArray(to_text(data)).items, *raws])

    def test_an_inbox_of_no_rows_is_the_empty_one(self):
        assert only([]) == EMPTY
        assert only(["{}", "1"]) == b"[\n  {},\n  1\n]\n"


class TestUnread:
    @given(inboxes(layouts=SCANNED_QUICKLY))
    def test_the_quick_scan_agrees_with_the_full_decode(self, data):
        quick = unread_rows(data)
        if quick is None:
            return
        full = [row for row in Inbox(data).messages if not row.read]
        assert [message.raw for _, _, message in quick] == [row.raw for row in full]
        assert [to_text(data[start:end]) for start, end, _ in quick] == [row.raw for row in full]

    @settings(max_examples=examples(200))
    @given(inboxes(always_says_read=False, junk=ANY_JUNK, layouts=SCANNED_QUICKLY))
    def test_the_quick_scan_agrees_with_the_full_decode_whatever_the_rows_are(self, data):
        quick = unread_rows(data)
        if quick is None:
            return
        full = [row for row in Inbox(data).messages if not row.read]
        assert [message.raw for _, _, message in quick] == [row.raw for row in full]
        assert [to_text(data[start:end]) for start, end, _ in quick] == [row.raw for row in full]

    def test_a_row_without_a_flag_of_its_own_is_unread_however_many_flags_stand_inside_it(self):
        data = b'[\n  {"from": "a", "text": "b", "quoted": {"read": true}}\n]\n'
        assert [row.text for row in unread(data)] == ["b"]

    @pytest.mark.parametrize("nested", ["true", "false"])
    def test_a_nested_flag_in_one_row_never_stands_for_the_missing_flag_of_another(self, nested):
        first = f'{{"from": "a", "text": "1", "quoted": {{"read": {nested}}}, "read": true}}'
        data = only([first, '{"from": "a", "text": "2"}'])
        assert [row.text for row in unread(data)] == ["2"]

    def test_an_unread_row_ends_where_it_ends(self):
        data = b'[\n  {"from": "a", "text": "b", "read": false},\n  "}"\n]\n'
        assert [row.raw for row in unread(data)] == ['{"from": "a", "text": "b", "read": false}']

    @given(inboxes())
    def test_unread_mail_is_found_by_whichever_way(self, data):
        assert [row.raw for row in unread(data)] == [row.raw for row in Inbox(data).messages if not row.read]

    @given(st.lists(TEXTS, min_size=1, max_size=5), st.booleans())
    def test_what_we_write_is_always_scanned_quickly(self, texts, claudes_team):
        raws = [
            encode_row(a_message(id=f"id-{i}", text=text, read=bool(i % 2)), claudes_team=claudes_team)
            for i, text in enumerate(texts)
        ]
        quick = unread_rows(only(raws))
        assert quick is not None
        assert [message.raw for _, _, message in quick] == raws[::2]

    @pytest.mark.parametrize(
        "data",
        [
            b'[{"from": "a", "text": "b", "read": false}]',
            b'[\n    {"from": "a", "text": "b", "read": false}\n]',
            b'[\n  {"from": "a", "text": "b"}\n]',
            b'[\n  {"from": "a", "text": "b", "read" : false}\n]',
            b'[\n  {"from": "a", "text": "b", "read": 0}\n]',
            b'[\n  {"text": "b", "read": false}\n]',
            b"[]",
            b"",
        ],
    )
    def test_an_unusual_layout_is_left_to_the_full_decode(self, data):
        assert unread_rows(data) is None

    def test_a_torn_file_is_not_an_inbox_without_mail(self):
        with pytest.raises(NotJson):
            unread(b'[\n  {"from": "a", "text": "b", "read": true}')


class TestMarking:
    @proves("R001-3.1-09")
    @given(inboxes(), st.booleans(), st.data())
    def test_exactly_the_named_rows_change_and_only_in_their_flag(self, data, read, choice):
        before = Inbox(data).rows
        candidates = [row.key for row in before if row.understood and row.id != ""]
        keys = set(choice.draw(st.lists(st.sampled_from(candidates), max_size=3))) if candidates else set()
        after = Inbox(marked(data, keys, read)).rows
        assert len(after) == len(before)
        for old, new in zip(before, after, strict=True):
            if old.key in keys and old.understood:
                assert new.read is read
                assert new.raw == RawObject(old.raw).with_raw("read", "true" if read else "false").text
            else:
                assert new.raw == old.raw

    @given(inboxes(), st.booleans())
    def test_marking_twice_is_marking_once(self, data, read):
        keys = {row.key for row in Inbox(data).messages}
        once = marked(data, keys, read)
        assert Inbox(marked(once, keys, read)).with_rows(Inbox(once).rows) == Inbox(once).with_rows(Inbox(once).rows)
        assert all(row.read is read for row in Inbox(once).messages)

    def test_in_a_layout_that_is_scanned_quickly_every_other_byte_stays(self):
        data = (
            b'[\n  {"from": "a", "text": "1", "n": 1.10, "read":false},\n  {"read": false, "from": "a", "text": "2"}\n]'
        )
        assert marked(data, {("a", "", "1")}, True) == data.replace(b'"read":false', b'"read":true')
        assert marked(data, {("a", "", "2")}, True) == data.replace(b'"read": false', b'"read": true')
        assert marked(data, {("a", "", "3")}, True) == data

    def test_a_row_without_a_flag_gets_one_at_its_end(self):
        row = with_read(decoded('{"from": "a", "text": "b"}'), True)
        assert row.read
        assert row.raw == '{"from": "a", "text": "b", "read": true}'

    def test_a_flag_of_another_kind_is_replaced(self):
        assert with_read(decoded('{"from": "a", "text": "b", "read": "no"}'), True).raw.endswith('"read": true}')

    @pytest.mark.parametrize("raw", ["42", '{"neither": 1}', '{"from": "a"}', "[1, 2]"])
    def test_a_row_that_is_no_message_has_no_flag_and_stays_as_it_is(self, raw):
        row = Inbox(only([raw])).rows[0]
        assert not row.understood
        assert with_read(row, True).raw == raw
