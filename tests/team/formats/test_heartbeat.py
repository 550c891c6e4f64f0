"""`heartbeats/{member}.json`."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.files.formats.json_record import NotJson
from atm.team.formats.heartbeat import decode_beat, encode_beat
from atm.team.rules.liveness import Beat

SEEDS = {
    "teammate_id": "ann",
    "timestamp_utc_ms": 1_788_000_000_500,
    "task_claimed": None,
    "context_usage_percent": None,
    "status": "idle",
    "message_seq": 0,
    "checkpoint_seq": 0,
}
"""What seed 003 section 3.1 wants in every heartbeat; unknown is null."""


@proves(
    "R003-3.1-02", "R003-3.1-03", "R003-3.1-04", "R003-3.1-05", "R003-3.1-06", "R003-3.1-07", "R003-3.1-08", "R003-9-10"
)
def test_a_beat_says_what_is_known_and_nothing_else():
    data = encode_beat("ann", Beat(at=1_788_000_000.5, source="test", host="here"))
    own = {"member": "ann", "at": "2026-08-29T10:40:00.500Z", "source": "test", "host": "here"}
    assert json.loads(data) == {**own, **SEEDS}
    assert data.endswith(b"}\n")


@given(
    st.integers(0, 4_000_000_000_000),
    st.text(min_size=1, max_size=8),
    st.none() | st.integers(1, 2**22),
    st.sampled_from(["", "idle", "working"]),
    st.none() | st.integers(0, 4_000_000_000_000),
    st.none() | st.integers(0, 10**9),
)
def test_a_beat_is_read_back_to_the_millisecond(at, source, pid, state, since, uptime):
    beat = Beat(
        at=at / 1000,
        source=source,
        host="here",
        pid=pid,
        state=state,
        state_since=None if since is None else since / 1000,
        uptime=None if uptime is None else uptime / 1000,
    )
    found = decode_beat(encode_beat("ann", beat))
    assert found is not None
    assert found.at == pytest.approx(beat.at, abs=0.001)
    assert (found.source, found.host, found.pid, found.state) == (source, "here", pid, state)
    assert found.state_since == pytest.approx(beat.state_since, abs=0.001)
    assert found.uptime == pytest.approx(beat.uptime, abs=0.001)


@pytest.mark.parametrize("data", [b"{}", b'{"at": ""}', b'{"at": "yesterday"}', b'{"at": null}', b'{"at": {}}'])
def test_a_beat_without_a_time_is_none(data):
    assert decode_beat(data) is None


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b"\xff\xfe", b"null"])
def test_a_file_that_is_no_beat_is_refused(data):
    with pytest.raises(NotJson):
        decode_beat(data)


@pytest.mark.parametrize(
    ("fields", "pid", "uptime"),
    [
        ('"pid": "7", "uptime": "1"', None, None),
        ('"pid": true, "uptime": false', None, None),
        ('"pid": 1.5, "uptime": null', None, None),
        ('"pid": 7, "uptime": 3', 7, 3.0),
    ],
)
def test_fields_of_another_kind_are_not_known(fields, pid, uptime):
    found = decode_beat(b'{"at": "2026-01-01T00:00:00.000Z", ' + fields.encode() + b"}")
    assert found is not None
    assert (found.pid, found.uptime, found.source, found.state) == (pid, uptime, "heartbeat", "")


def test_an_uptime_that_no_clock_can_show_breaks_nobodys_liveness():
    data = b'{"at": "2026-01-01T00:00:00.000Z", "uptime": 1' + b"0" * 400 + b"}"
    found = decode_beat(data)
    assert found is not None
    assert found.at


@proves(
    "R003-2.3-08",
    "R003-3.1-02",
    "R003-3.1-03",
    "R003-3.1-04",
    "R003-3.1-05",
    "R003-3.1-06",
    "R003-3.1-07",
    "R003-3.1-08",
)
def test_the_seeds_fields_are_read_back_and_garbage_in_them_is_unknown():
    said = Beat(at=1.0, source="test", task="3", context=47, message=43, checkpoint=127)
    found = decode_beat(encode_beat("ann", said))
    assert found is not None
    assert (found.task, found.context, found.message, found.checkpoint) == ("3", 47, 43, 127)
    wrong = b'{"at": "2026-08-29T10:40:00.500Z", "task_claimed": 3, "context_usage_percent": 470, "message_seq": -1}'
    found = decode_beat(wrong)
    assert found is not None
    assert (found.task, found.context, found.message) == ("", None, 0)
