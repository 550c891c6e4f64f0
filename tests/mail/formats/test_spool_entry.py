"""Spooled messages: one file each, named in the order of sending."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.mail.formats.spool_entry import SpoolEntry, decode_entry, target_in_name

ID = "0b7f3a90-1111-4222-8333-444455556666"


def an_entry(**changes) -> SpoolEntry:
    fields = {
        "team": "crew",
        "agent": "ann",
        "message_id": ID,
        "raw": '{"from": "bob", "text": "hi"}',
        "created_at": 1788264000.25,
        "reason": "lock busy",
    }
    return SpoolEntry(**{**fields, **changes})


def fields_of(entry: SpoolEntry) -> list[object]:
    return [getattr(entry, name) for name in SpoolEntry.__slots__]


TEXTS = st.text(max_size=8) | st.sampled_from(['"', "\n", "\ud83d", '"message": 1', "\u2028"])
SECONDS = st.floats(0, 4e9, allow_nan=False)


class TestTheFile:
    @given(
        TEXTS,
        TEXTS,
        TEXTS,
        TEXTS,
        st.integers(0, 100),
        SECONDS,
        st.none() | st.floats(1, 4e9),
        SECONDS,
        st.none() | st.dictionaries(TEXTS, TEXTS, min_size=1, max_size=3),
        st.sampled_from(['{"from": "a", "text": "\\/ \\ud83d", "n": 1.10}', "{}", "[1e5]", "7"]),
    )
    def test_what_is_written_is_read_back(self, team, agent, id, reason, tries, made, last, due, answers, raw):
        entry = an_entry(
            team=team,
            agent=agent,
            message_id=id,
            reason=reason,
            tries=tries,
            created_at=made,
            last_attempt=last,
            next_attempt=due,
            answers=answers,
            raw=raw,
        )
        back = decode_entry(entry.encoded())
        assert back is not None
        assert fields_of(back) == fields_of(entry)
        assert entry.encoded().count(b"\n") == 1

    def test_an_entry_of_an_older_version_lacks_what_came_later(self):
        entry = decode_entry(b'{"target_team": "t", "target_agent": "a", "message_id": "i", "message": {"x": 1.10}}')
        assert entry is not None
        assert (entry.tries, entry.created_at, entry.last_attempt, entry.next_attempt) == (0, 0.0, None, 0.0)
        assert (entry.reason, entry.answers, entry.raw) == ("", None, '{"x": 1.10}')

    def test_values_of_another_kind_count_as_absent(self):
        entry = decode_entry(
            b'{"target_team": "t", "target_agent": "a", "message_id": "i", "message": {}, "retry_count": "3", '
            b'"created_at": null, "answers": [], "reason": 0}'
        )
        assert entry is not None
        assert (entry.tries, entry.created_at, entry.answers, entry.reason) == (0, 0.0, None, "")

    @pytest.mark.parametrize(
        "data",
        [
            b"",
            b"[]",
            b"{",
            b"{}",
            b'{"target_team": "t", "target_agent": "a", "message_id": "i"}',
            b'{"target_team": "t", "target_agent": "a", "message_id": 1, "message": {}}',
            b'{"target_team": "t", "target_agent": null, "message_id": "i", "message": {}}',
            b'{"target_agent": "a", "message_id": "i", "message": {}}',
        ],
    )
    def test_a_file_that_we_did_not_write_is_none(self, data):
        assert decode_entry(data) is None

    @pytest.mark.parametrize(
        "field",
        ['"retry_count": 1e400', '"retry_count": NaN', f'"created_at": 1{"0" * 400}', f'"next_attempt": -1{"0" * 400}'],
    )
    def test_a_number_beyond_all_measure_stops_nobody(self, field):
        text = '{"target_team": "t", "target_agent": "a", "message_id": "i", "message": {}, ' + field + "}"
        found = decode_entry(text.encode())
        assert found is not None
        assert (found.message_id, found.tries, found.created_at, found.next_attempt) == ("i", 0, 0.0, 0.0)


class TestTheName:
    @proves("R001-3.3-04")
    def test_it_sorts_in_the_order_of_sending(self):
        names = [an_entry().file_name(nanoseconds) for nanoseconds in (1, 999, 1_788_264_000_000_000_000)]
        assert names == sorted(names)
        assert names[0] == "0000000000000000001-0b7f3a90-ann@crew.json"

    @proves("R001-3.3-04")
    @pytest.mark.parametrize("agent", ["ann", "ann-2", "a.b", "a_b+c", "team-lead"])
    @pytest.mark.parametrize("team", ["crew", "my-crew", "v1.2", "session-1a2b3c4d"])
    @pytest.mark.parametrize("id", [ID, "m-1", "short", "a-b-c-d-e", ""])
    @pytest.mark.parametrize("suffix", ["", ".trying"])
    def test_the_target_can_be_told_from_it(self, agent, team, id, suffix):
        name = an_entry(agent=agent, team=team, message_id=id).file_name(1) + suffix
        assert target_in_name(name) == f"{agent}@{team}"

    @pytest.mark.parametrize(("agent", "team"), [("notes.json", "crew"), ("ann", "crew.json"), ("a.json.b", "crew")])
    def test_the_target_can_be_told_where_a_name_contains_the_suffix(self, agent, team):
        assert target_in_name(an_entry(agent=agent, team=team).file_name(1)) == f"{agent}@{team}"
