"""Endpoints and surfacing notes as files: there and back, and garbage is nobody's endpoint."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from atm.files.formats.json_record import encode, to_bytes
from atm.mail.formats.surfacing_note import decode_note, encode_note
from atm.mail.rules.surfacing import ShowingNote
from atm.team.formats.endpoint import decode_endpoint, encode_endpoint
from atm.team.rules.endpoints import Endpoint

PLAIN = st.text()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.integers(10**300, 10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ENDPOINT_FIELDS = ("vendor", "session", "host", "boot", "server", "pane", "pane_command", "url")


@given(
    texts=st.fixed_dictionaries(dict.fromkeys(ENDPOINT_FIELDS, PLAIN)),
    at=st.floats(min_value=0, max_value=4e9),
    pid=st.none() | st.integers(),
    url_pid=st.none() | st.integers(),
    wakes_itself=st.booleans(),
    unconfirmed=st.lists(PLAIN),
)
def test_an_endpoint_survives_its_file(texts, at, pid, url_pid, wakes_itself, unconfirmed):
    more = {"pane_pid": pid, "url_pid": url_pid, "wakes_itself": wakes_itself, "unconfirmed": unconfirmed}
    given_one = Endpoint(**texts, at=at, **more)
    found = decode_endpoint(encode_endpoint("ann", given_one))
    assert found is not None
    assert found.at == pytest.approx(at, abs=0.001)
    assert {name: getattr(found, name) for name in ENDPOINT_FIELDS} == texts
    assert {name: getattr(found, name) for name in more} == more


@given(
    keys=st.lists(st.text(min_size=1) | st.tuples(PLAIN, PLAIN, PLAIN)),
    channel=PLAIN,
    where=PLAIN,
    at=st.floats(min_value=0, max_value=4e9),
)
def test_a_note_survives_its_file(keys, channel, where, at):
    found = decode_note(encode_note(ShowingNote(keys=keys, channel=channel, at=at, where=where)))
    assert found is not None
    assert (found.keys, found.channel, found.where, found.at) == (keys, channel, where, at)


GARBAGE = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe\x00",
    b'"text"',
    b"{}" * 2,
    b"[" * 100_000,
    b'{"at": null}',
    b'{"at": "yesterday", "keys": []}',
    b'{"at": "yesterday", "vendor": "claude"}',
    b'{"at": true}',
    b'{"keys": ["m-1"]}',
    b'{"at": NaN, "keys": {}}',
]


@pytest.mark.parametrize("data", GARBAGE, ids=lambda data: repr(data[:20]))
def test_what_is_no_endpoint_is_none(data):
    assert decode_endpoint(data) is None


@pytest.mark.parametrize("data", GARBAGE, ids=lambda data: repr(data[:20]))
def test_what_is_no_note_is_none(data):
    assert decode_note(data) is None


@given(data=st.binary())
def test_no_bytes_make_either_of_them_raise(data):
    assert decode_endpoint(data) is None
    assert decode_note(data) is None


@given(fields=st.fixed_dictionaries(dict.fromkeys((*ENDPOINT_FIELDS, "pane_pid", "unconfirmed"), JSON)))
def test_an_endpoint_with_wrong_kinds_is_read_as_far_as_it_goes(fields):
    found = decode_endpoint(to_bytes(encode({"at": "2026-08-27T10:15:30.123Z", **fields})))
    assert found is not None
    read = {name: getattr(found, name) for name in ENDPOINT_FIELDS}
    assert read == {name: fields[name] if isinstance(fields[name], str) else "" for name in ENDPOINT_FIELDS}
    assert found.pane_pid == (fields["pane_pid"] if type(fields["pane_pid"]) is int else None)
    waiting = fields["unconfirmed"] if isinstance(fields["unconfirmed"], list) else []
    assert found.unconfirmed == [id for id in waiting if isinstance(id, str)]


@given(at=JSON, keys=JSON, channel=JSON, where=JSON)
@example(at=10**400, keys=["m-1"], channel="hook", where="")
@example(at=1.0, keys=[["bob", {"a": 1}, []]], channel="hook", where="")
@example(at=1.0, keys=[[["bob"]], [1, 2, 3], "m-1", None, 7], channel="hook", where="")
def test_a_note_with_wrong_kinds_never_raises_and_its_keys_can_be_looked_up(at, keys, channel, where):
    """A note that cannot be used would keep an agent's mail from it for ever: nobody else removes it."""
    found = decode_note(to_bytes(encode({"at": at, "keys": keys, "channel": channel, "where": where})))
    if isinstance(at, int | float) and isinstance(keys, list):
        assert found is not None
        assert {*found.keys} >= {key for key in keys if isinstance(key, str) and key}
        assert f"{found.channel}{found.where}" == f"{channel or ''}{where or ''}"
    else:
        assert found is None
