"""Lines of the ledger: numbered, one JSON object each, and a torn one costs only itself."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.files.formats.json_record import last_seq
from atm.mail.formats.inbox import encode_row
from atm.mail.formats.journal import (
    MESSAGE,
    MOST_SEARCHED,
    RECEIPT,
    Line,
    decode_about,
    decode_line,
    decode_lines,
    decode_recent,
    histories,
)
from atm.mail.rules.messages import Message

NOON = "2026-09-01T12:00:00.000Z"


def a_line(**changes) -> Line:
    fields = {"kind": RECEIPT, "ids": ["m-1"], "agent": "ann", "state": "read", "at": NOON, "evidence": "shown"}
    return Line(**{**fields, **changes})


def a_row(text: str = "hello", id: str = "m-1") -> str:
    message = Message(id=id, sender="bob", text=text, timestamp=NOON, read=False)
    return encode_row(message, claudes_team=False)


TEXTS = st.text(max_size=10) | st.sampled_from([', "row": {}', '"}\n', "\n", "\u2028", "\x85", "\ud83d", '{"seq": 9}'])


class TestALine:
    @proves("R003-1.1-25")
    def test_a_receipt_is_one_line_with_its_number_first(self):
        assert a_line().numbered(7) == (
            b'{"seq": 7, "id": "m-1", "kind": "receipt", "agent": "ann", "state": "read", '
            b'"at": "2026-09-01T12:00:00.000Z", "evidence": "shown"}\n'
        )

    def test_a_receipt_about_several_messages_lists_them(self):
        assert b'"ids": ["m-1", "m-2"]' in a_line(ids=["m-1", "m-2"]).numbered(1)

    @proves("R003-1.1-26", "R003-1.1-28")
    def test_a_message_line_carries_its_row_last_and_to_the_letter(self):
        line = a_line(kind=MESSAGE, raw='{"from":"bob","text":"\\/ 1","n":1.10}').numbered(1)
        assert line.endswith(b', "row": {"from":"bob","text":"\\/ 1","n":1.10}}\n')

    @given(
        st.integers(0, 10**12),
        st.lists(TEXTS, min_size=1, max_size=3),
        TEXTS,
        TEXTS,
        TEXTS,
        st.none() | TEXTS,
    )
    def test_what_is_written_is_read_back(self, seq, ids, agent, state, evidence, text):
        raw = "" if text is None else a_row(text)
        data = a_line(ids=ids, agent=agent, state=state, evidence=evidence, raw=raw).numbered(seq)
        assert data.count(b"\n") == 1
        json.loads(data)
        entry = decode_line(data)
        assert entry is not None
        assert (entry.seq, entry.ids, entry.agent, entry.state) == (seq, ids, agent, state)
        assert (entry.at, entry.evidence, entry.raw, entry.kind) == (NOON, evidence, raw, RECEIPT)
        message = entry.message
        assert (message.text if message else None) == text

    @proves("R003-2.3-06")
    @given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=6))
    def test_a_whole_ledger_is_read_back_in_order(self, parts):
        data = b"".join(
            a_line(ids=[id], evidence=evidence, raw=a_row(text, "x")).numbered(n)
            for n, (id, evidence, text) in enumerate(parts, 1)
        )
        entries, torn = decode_lines(data)
        assert torn == 0
        assert [(e.seq, e.ids, e.evidence) for e in entries] == [(n, [p[0]], p[1]) for n, p in enumerate(parts, 1)]

    @proves("R003-6-06", "R003-9-05")
    @given(st.lists(TEXTS, min_size=1, max_size=4), st.data())
    def test_a_crash_in_the_middle_of_an_append_costs_the_last_line_alone(self, texts, data):
        lines = [a_line(raw=a_row(text)).numbered(n) for n, text in enumerate(texts, 1)]
        cut = data.draw(st.integers(0, len(lines[-1]) - 2))
        whole = b"".join(lines[:-1])
        entries, torn = decode_lines(whole + lines[-1][:cut])
        assert [entry.seq for entry in entries] == list(range(1, len(texts)))
        assert torn == (1 if cut else 0)
        # The next writer closes the torn line with a newline and goes on.
        healed = whole + lines[-1][:cut] + b"\n" + a_line().numbered(len(texts))
        assert [entry.seq for entry in decode_lines(healed)[0]] == list(range(1, len(texts) + 1))


class TestReadingALine:
    @pytest.mark.parametrize(
        "line",
        [
            b"",
            b"garbage",
            b"[]",
            b"7",
            b"{}",
            b'{"seq": "1", "id": "a"}',
            b'{"seq": 1.5, "id": "a"}',
            b'{"seq": null}',
            b'{"seq": 1, "ids": "a"}',
            b'{"seq": 1, "ids": {"a": 1}}',
            b'{"seq": 1, "id": "a"',
            b"\xff\xfe",
        ],
    )
    def test_what_is_not_a_line_of_ours_is_none(self, line):
        assert decode_line(line) is None

    def test_missing_fields_are_empty(self):
        entry = decode_line(b'{"seq": 3}')
        assert entry is not None
        assert (entry.seq, entry.ids, entry.kind, entry.agent, entry.state) == (3, [], "", "", "")
        assert (entry.at, entry.evidence, entry.raw, entry.message) == ("", "", "", None)

    def test_ids_that_are_no_strings_are_passed_over(self):
        entry = decode_line(b'{"seq": 3, "ids": ["a", 7, null, "b"]}')
        assert entry is not None
        assert entry.ids == ["a", "b"]

    def test_a_row_that_is_not_spelled_as_we_do_is_encoded_anew(self):
        entry = decode_line(b'{"row":{"from":"a","text":"b"},"seq":1,"id":"x"}')
        assert entry is not None
        assert entry.message is not None
        assert (entry.message.sender, entry.message.text) == ("a", "b")

    def test_a_row_that_is_no_message_has_none(self):
        entry = decode_line(b'{"seq": 1, "id": "x", "row": 5}')
        assert entry is not None
        assert entry.raw == "5"
        assert entry.message is None

    def test_an_entry_yields_one_event_for_each_message(self):
        entry = decode_line(a_line(ids=["m-1", "m-2"]).numbered(5))
        assert entry is not None
        events = [(e.seq, e.id, e.agent, e.state, e.at, e.evidence) for e in entry.events()]
        assert events == [(5, id, "ann", "read", NOON, "shown") for id in ("m-1", "m-2")]


class TestHistories:
    def test_states_are_kept_for_each_message_and_recipient_in_the_order_of_the_ledger(self):
        lines = [
            a_line(ids=["m-1"], agent="ann", state="queued"),
            a_line(ids=["m-1"], agent="bob", state="written"),
            a_line(ids=["m-1", "m-2"], agent="ann", state="written"),
            a_line(ids=["m-1"], agent="ann", state="read"),
        ]
        entries, _ = decode_lines(b"".join(line.numbered(n) for n, line in enumerate(lines, 1)))
        assert histories(entries) == {
            ("m-1", "ann"): ["queued", "written", "read"],
            ("m-1", "bob"): ["written"],
            ("m-2", "ann"): ["written"],
        }


class TestTheEndOfALedger:
    def test_the_last_number_is_that_of_the_last_readable_line(self):
        data = a_line().numbered(8) + a_line().numbered(9)
        assert last_seq(data) == 9
        assert last_seq(data + b"\n\n garbage\n") == 9
        assert last_seq(data + a_line().numbered(10)[:-5]) == 9

    @pytest.mark.parametrize("tail", [b"", b"\n \n", b"garbage", b'{"seq": "x"}\n'])
    def test_where_no_line_can_be_read_there_is_no_number(self, tail):
        assert last_seq(tail) is None

    def test_recent_lines_are_those_not_older_than_a_time(self):
        data = b"".join(a_line(at=f"2026-09-01T12:0{n}:00.000Z").numbered(n) for n in range(1, 6))
        recent = decode_recent(data, "2026-09-01T12:03:00.000Z")
        assert [entry.seq for entry in recent] == [3, 4, 5]
        assert decode_recent(data, "2026-09-02") == []
        assert [entry.seq for entry in decode_recent(data, "")] == [1, 2, 3, 4, 5]

    def test_torn_and_blank_lines_do_not_end_the_look_back(self):
        old = b"".join(a_line(at=f"2026-09-01T12:0{n}:00.000Z").numbered(n) for n in range(1, 4))
        data = old + b"\n\x00garbage\n" + a_line(at="2026-09-01T12:09:00.000Z").numbered(4) + b'{"seq": 5, "id'
        assert [entry.seq for entry in decode_recent(data, "2026-09-01T12:02:00.000Z")] == [2, 3, 4]

    def test_an_empty_ledger_has_nothing_recent(self):
        assert decode_recent(b"", "") == []


@pytest.mark.parametrize("others", [0, MOST_SEARCHED - 1, MOST_SEARCHED, 3 * MOST_SEARCHED])
def test_the_lines_about_a_message_are_found_however_many_others_are_asked_about(others):
    about = [["m-1"], ["m-2"], ["m-2", "m-1"], ["m-10"]]
    data = b"".join(a_line(ids=ids).numbered(seq) for seq, ids in enumerate(about, start=1))
    asked = ["m-1", *(f"unheard-of-{n}" for n in range(others))]
    assert [entry.seq for entry in decode_about(data, asked)] == [1, 3]


def test_the_lines_are_the_same_when_a_large_ledger_is_looked_at_line_by_line(monkeypatch):
    about = [["m-1"], ["m-2"], ["m-2", "m-1"], ["m-10"], ['odd", "kind": "x']]
    lines = [a_line(ids=ids, raw='{"text": "m-1", "kind": "m-1"}').numbered(seq) for seq, ids in enumerate(about, 1)]
    data = b'"m-1"\n\n{"id": "m-1", "seq": 9}\n' + b"".join(lines) + b'{"seq": 5, "id": "m-1"'
    for asked in (["m-1"], ["m-2", "m-10"], ['odd", "kind": "x'], []):
        monkeypatch.setattr("atm.mail.formats.journal.LARGEST_SEARCH", 1 << 30)
        by_search = [entry.seq for entry in decode_about(data, asked)]
        monkeypatch.setattr("atm.mail.formats.journal.LARGEST_SEARCH", 0)
        assert [entry.seq for entry in decode_about(data, asked)] == by_search
    assert by_search == []


def test_a_torn_first_line_that_names_a_message_hides_none_of_those_behind_it():
    data = b'"m-1"\n' + a_line().numbered(1) + a_line(ids=["m-2"]).numbered(2)
    assert [entry.seq for entry in decode_about(data, ["m-1"])] == [1]


def test_a_last_line_without_an_end_is_found_too():
    data = a_line(ids=["m-2"]).numbered(1) + a_line().numbered(2).rstrip(b"\n")
    assert [entry.seq for entry in decode_about(data, ["m-1"])] == [2]
