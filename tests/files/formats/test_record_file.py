"""A shelf's file: changing one record of many, the seal, and that the quick way says what decoding everything says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.files.formats import record_file
from atm.files.formats.json_record import NotJson
from atm.files.formats.record_file import (
    LARGEST,
    NAMES,
    SEALED_FROM,
    _ended,
    _opened,
    _Sealed,
    _Whole,
    no_records,
    read_records,
    spelled,
)
from atm.files.ports.records import OUTBOX, SHELVES, STALLS, STATUS

AT, LATER = "2026-08-27T10:15:30.123Z", "2026-08-27T10:15:31.000Z"

# Texts that look like what the file is made of: keys at line starts, closings, seals, escapes.
TRICKY = [
    *("", "ann", '"', "\\", "\n", "\r\n", "\t", "}", "{", ",\n", "\ud83d", "\ud83d\ude00", "😀", "\udcff", "\u2028"),
    *('\n"ann": {"state": "stolen"}', '"ann": {', '}},\n"ann": {}', '\n}}, "seal": "1:', "\\n", "members", "seal"),
]
TEXTS = st.sampled_from(TRICKY) | st.text(max_size=6)
VALUES: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
RECORDS = st.dictionaries(TEXTS, VALUES, max_size=3)
SHELF = st.dictionaries(TEXTS, RECORDS, max_size=6)
CHANGES = st.dictionaries(TEXTS, st.none() | RECORDS, max_size=4)


def written(records: dict[str, Any], shelf: str = STATUS, *, sealed_from: int = 0) -> bytes:
    """A file as our writer makes it; sealed, however small it is."""
    made = no_records(shelf).changed(records, AT, sealed_from=sealed_from)
    return made if made is not None else no_records(shelf).changed({"x": {}}, AT, sealed_from=sealed_from) or b""


def whole(data: bytes, shelf: str = STATUS) -> dict[str, Any]:
    """What decoding everything says."""
    return {key: value for key, value in _opened(data, shelf)[1].items() if isinstance(value, dict)}


def as_read_back(records: dict[str, Any]) -> Any:
    """The same records after a way through JSON: two halves of a character are one then."""
    return json.loads(json.dumps(records))


class TestTheFile:
    @proves(
        "R002-6-09",
        "R002-8.0-50",
        "R002-8.0-106",
        "R002-11.3-01",
        "R002-11.3-03",
        "R002-11.3-04",
        "R002-11.3-05",
        "R002-11.3-06",
        "R002-11.3-07",
        "R002-16.7-33",
        "R002-16.7-35",
        "R002-21-11",
        "R002-28-08",
    )
    def test_it_has_the_envelope_of_the_design(self):
        data = no_records(STATUS).changed({"ann": {"state": "caught_up"}, "bob": {}}, AT)
        assert data is not None
        assert json.loads(data) == {
            "schemaName": "member-work-sync.status",
            "schemaVersion": 1,
            "updatedAt": AT,
            "data": {"members": {"ann": {"state": "caught_up"}, "bob": {}}},
        }
        assert data.decode().splitlines()[1:3] == ['"ann": {"state": "caught_up"},', '"bob": {}']

    @proves("R002-24-02", "R002-27.1-13")
    def test_every_shelf_has_its_names(self):
        assert set(NAMES) == set(SHELVES)
        data = no_records(STALLS).changed({"a": {}}, AT)
        assert data is not None
        assert (json.loads(data)["schemaName"], json.loads(data)["data"]) == (
            "stall-monitor.journal",
            {"alerts": {"a": {}}},
        )

    def test_a_file_that_grew_large_is_sealed_and_stays_json(self):
        small = no_records(STATUS).changed({"ann": {"note": "x"}}, AT)
        large = no_records(STATUS).changed({"ann": {"note": "x" * SEALED_FROM}}, AT)
        assert small is not None
        assert large is not None
        assert b"seal" not in small
        assert json.loads(large)["seal"].startswith("1:")
        assert isinstance(read_records(large, STATUS), _Sealed)
        assert isinstance(read_records(small, STATUS), _Whole)

    def test_nothing_that_changes_makes_no_file(self):
        data = written({"ann": {"n": 1}})
        for file in (read_records(data, STATUS, 0), read_records(data, STATUS, LARGEST), no_records(STATUS)):
            assert file.changed({}, LATER) is None
            assert file.changed({"nobody": None}, LATER) is None
        assert read_records(data, STATUS, 0).changed({"ann": {"n": 1}}, LATER) is None
        assert read_records(data, STATUS, LARGEST).changed({"ann": {"n": 1}}, LATER) is None

    @pytest.mark.parametrize("sealed_from", [0, LARGEST])
    def test_a_record_that_was_changed_in_place_is_a_change(self, sealed_from):
        file = read_records(written({"ann": {"n": 1}, "bob": {}}), STATUS, sealed_from)
        record = file.records()["ann"]
        record["n"] = 2
        changed = file.changed({"ann": record}, LATER)
        assert changed is not None
        assert whole(changed) == {"ann": {"n": 2}, "bob": {}}

    @pytest.mark.parametrize("sealed_from", [0, LARGEST])
    def test_unknown_fields_of_the_envelope_and_of_the_data_survive(self, sealed_from):
        data = (
            b'{"future": [1, {"a": "\\n}}"}], "schemaVersion": 1, "data": {"hint": {"x": 1}, "members": {"ann": {}},'
            b' "more": 2}, "schemaName": "member-work-sync.status"}'
        )
        once = read_records(data, STATUS).changed({"bob": {"n": 1}}, AT, sealed_from)  # type: ignore[call-arg]
        assert once is not None
        twice = read_records(once, STATUS, sealed_from).changed({"ann": None}, LATER)
        assert twice is not None
        fields = json.loads(twice)
        assert fields["future"] == [1, {"a": "\n}}"}]
        assert fields["data"] == {"hint": {"x": 1}, "more": 2, "members": {"bob": {"n": 1}}}
        assert fields["updatedAt"] == LATER

    def test_a_file_that_an_editor_laid_out_anew_is_read_and_written_in_our_layout(self):
        data = json.dumps(json.loads(written({"ann": {"n": 1}, "bob": {"n": 2}})), indent=4).encode()
        file = read_records(data, STATUS, 0)
        assert isinstance(file, _Whole)
        assert file.records(["bob"]) == {"bob": {"n": 2}}
        changed = file.changed({"bob": {"n": 3}}, LATER, sealed_from=0)
        assert changed is not None
        assert isinstance(read_records(changed, STATUS, 0), _Sealed)
        assert whole(changed) == {"ann": {"n": 1}, "bob": {"n": 3}}

    def test_what_is_no_record_is_named_and_left_out(self):
        data = written({"ann": {}}).replace(b'"ann": {}', b'"ann": {}, "bob": 7, "cleo": null')
        file = read_records(data, STATUS)
        assert file.records() == {"ann": {}}
        assert file.dropped == ["bob", "cleo"]
        assert file.changed({"ann": {"n": 1}}, LATER)


class TestWhatCannotBeUsed:
    GOOD = json.dumps({"schemaName": "member-work-sync.status", "schemaVersion": 1, "data": {"members": {}}})

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"\0" * 100,
            b"[]",
            b"null",
            b"{",
            b"{}",
            b"\xff\xfe{\0}\0",
            GOOD[:-1].encode(),
            (GOOD + "x").encode(),
            GOOD.replace("status", "outbox").encode(),
            GOOD.replace("1", "2").encode(),
            GOOD.replace("1", "0").encode(),
            GOOD.replace("1", "true").encode(),
            GOOD.replace("1", '"1"').encode(),
            GOOD.replace("1", "1.0").encode(),
            GOOD.replace("1", "9" * 5000).encode(),
            GOOD.replace("1", "[" * 400 + "]" * 400).encode(),
            GOOD.replace('"members": {}', '"members": []').encode(),
            GOOD.replace("members", "items").encode(),
            GOOD.replace('{"members": {}}', "[]").encode(),
            b"[" * 100_000,
            b'{"a":' * 100_000,
        ],
    )
    def test_it_is_refused_with_a_short_reason(self, data):
        with pytest.raises(NotJson) as refused:
            read_records(data, STATUS)
        assert 0 < len(str(refused.value)) < 300
        assert str(refused.value).isprintable()

    @proves("R002-8.0-50", "R002-16.7-35")
    def test_a_later_version_says_so(self):
        with pytest.raises(NotJson, match="a later version of atm"):
            read_records(self.GOOD.replace("1", "2").encode(), STATUS)

    def test_a_sealed_file_of_another_shelf_or_version_is_refused_too(self):
        with pytest.raises(NotJson, match="its schema is"):
            read_records(written({"a": {}}, OUTBOX), STATUS, 0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(record_file, "VERSION", 2)
            data = written({"a": {}})
        with pytest.raises(NotJson, match="a later version of atm"):
            read_records(data, STATUS, 0)

    def test_one_that_is_too_large_is_refused(self):
        with pytest.raises(NotJson, match="64 MB"):
            read_records(b" " * (LARGEST + 1), STATUS)


class TestTheQuickWay:
    @given(SHELF)
    def test_what_is_written_is_read(self, records):
        for sealed_from in (0, LARGEST):
            data = written(records, sealed_from=sealed_from)
            expected = as_read_back(records) or {"x": {}}
            assert json.loads(data)["data"]["members"] == expected
            assert read_records(data, STATUS, 0).records() == expected

    @given(SHELF, st.lists(TEXTS, max_size=4))
    def test_a_wanted_record_is_what_decoding_everything_says(self, records, keys):
        data = written(records)
        file = read_records(data, STATUS, 0)
        assert isinstance(file, _Sealed)
        everything = whole(data)
        wanted = [*keys, *records]
        assert file.records(wanted) == {spelled(k): everything[spelled(k)] for k in wanted if spelled(k) in everything}
        assert file.records(wanted) == read_records(data, STATUS, LARGEST).records(wanted)

    @given(SHELF, st.lists(CHANGES, max_size=4))
    def test_changes_of_lines_and_changes_of_everything_come_to_the_same(self, records, rounds):
        quick = slow = written(records)
        for changes in rounds:
            file = read_records(quick, STATUS, 0)
            assert isinstance(file, _Sealed)
            quick = file.changed(changes, LATER) or quick
            slow = read_records(slow, STATUS, LARGEST).changed(changes, LATER) or slow
            assert whole(quick) == whole(slow)
            assert list(whole(quick)) == list(whole(slow))

    @given(SHELF)
    def test_the_bytes_of_the_others_stay(self, records):
        before = written({**records, "ann": {"n": 1}})
        after = read_records(before, STATUS, 0).changed({"ann": {"n": 2}}, AT)
        assert after is not None
        seal = before.rindex(b'"seal"')
        assert after[:seal] == before[:seal].replace(b'\n"ann": {"n": 1}', b'\n"ann": {"n": 2}')

    @given(SHELF, st.data())
    def test_whatever_is_done_to_a_file_the_quick_way_does_not_misread_it(self, records, data):
        before = written({"ann": {"state": "right"}, **records})
        after = data.draw(st.sampled_from(MEDDLING))(before, data.draw)
        try:
            expected = whole(after)
        except NotJson:
            with pytest.raises(NotJson):
                read_records(after, STATUS, 0).records(["ann", "bob"])
            return
        file = read_records(after, STATUS, 0)
        keys = [*expected, "ann", "bob"]
        assert file.records(keys) == {key: expected[key] for key in keys if key in expected}
        changed = file.changed({"ann": {"state": "new"}, "bob": None}, LATER) or after
        kept = {key: value for key, value in expected.items() if key not in ("ann", "bob")}
        assert whole(changed) == {**kept, "ann": {"state": "new"}}


def _with_bytes(data: bytes, draw: Any) -> bytes:
    at: int = draw(st.integers(0, len(data)))
    new: bytes = draw(st.binary(max_size=3) | st.sampled_from([b"\n", b"{", b"}", b",", b'"', b" ", b"\r"]))
    return data[:at] + new + data[at + draw(st.integers(0, 3)) :]


def _with_swapped_lines(data: bytes, draw: Any) -> bytes:
    lines = data.split(b"\n")
    one, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def _with_doubled_line(data: bytes, draw: Any) -> bytes:
    lines = data.split(b"\n")
    lines.insert(1, draw(st.sampled_from(['"ann": {"state": "wrong"},', '"\\u0061nn": {"state": "wrong"},'])).encode())
    return b"\n".join(lines)


def _with_lines_inside_a_record(data: bytes, draw: Any) -> bytes:
    """`ann` at the start of a line, but inside of another record."""
    return data.replace(b'{\n"', b'{\n"zoe": {"x": {"y": {},\n"ann": {"state": "wrong"},\n"z": {}}},\n"', 1)


def _with_everything_again(data: bytes, draw: Any) -> bytes:
    """A second map of the same name: of two, the last one counts."""
    return data.replace(b'\n}}, "seal"', b'\n}, "members": {\n"ann": {"state": "last"}\n}}, "seal"', 1)


def _with_other_ends(data: bytes, draw: Any) -> bytes:
    end: bytes = draw(st.sampled_from([b"", b" ", b"\n", b"\0"]))
    return data.replace(b"\n", b"\r\n") + end


def _cut_off(data: bytes, draw: Any) -> bytes:
    return data[: draw(st.integers(0, len(data)))]


def _laid_out_anew(data: bytes, draw: Any) -> bytes:
    fields = json.loads(data)
    return json.dumps(fields, indent=draw(st.sampled_from([None, 0, 1, 4])), sort_keys=draw(st.booleans())).encode()


def _with_a_mark_before(data: bytes, draw: Any) -> bytes:
    return b"\xef\xbb\xbf" + data


def _twice(data: bytes, draw: Any) -> bytes:
    return data + data


MEDDLING = [
    *(_with_bytes, _with_swapped_lines, _with_doubled_line, _with_lines_inside_a_record, _with_everything_again),
    *(_with_other_ends, _cut_off, _laid_out_anew, _with_a_mark_before, _twice),
]


def test_one_byte_more_less_or_different_breaks_the_seal():
    data = written({"ann": {"n": 1}, "bob": {"n": 2}})
    assert isinstance(read_records(data, STATUS, 0), _Sealed)
    for at in range(len(data)):
        for other in (data[:at] + data[at + 1 :], data[:at] + b" " + data[at:], _flipped(data, at)):
            assert not is_sealed(other), other


def _flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def is_sealed(data: bytes) -> bool:
    try:
        return isinstance(read_records(data, STATUS, 0), _Sealed)
    except NotJson:
        return False


def test_whoever_forges_the_seal_gets_at_most_a_record():
    """The quick way then reads a line inside of another record: no error, and nothing he could not write."""
    head = no_records(STATUS).changed({"x": {}}, AT, sealed_from=0)
    assert head is not None
    forged = head[: head.index(b"\n")] + b'\n"zoe": {"x": {"y": {},\n"ann": {"n": 1},\n"z": {}}},\n"bob": 7'
    file = read_records(_ended([forged], is_sealed=True), STATUS, 0)
    assert file.records(["ann", "bob"]) == {"ann": {"n": 1}}
    with pytest.raises(NotJson):
        file.records(["zoe"])


def test_many_keys_at_once_are_found_like_one_at_a_time():
    odd = ['a": {', "a\\", 'a\\": {"b"', "ä", "a\nb", "", " ", '"', "m1", "m10", "m100"]
    known: dict[str, Any] = {
        **{f"m{n}": {"n": n, "says": '\n"m1": {'} for n in range(60)},
        **{key: {"odd": key} for key in odd},
    }
    written = no_records("status").changed(known, AT, 0)
    assert written is not None
    sealed = read_records(written, "status", 0)
    asked = [*known, "nobody", "m"]
    assert sealed.records(asked) == known == {key: one for k in asked for key, one in sealed.records([k]).items()}
    changed = sealed.changed({key: {"new": key} for key in known}, AT)
    assert changed is not None
    assert read_records(changed, "status", 0).records() == {key: {"new": key} for key in known}
