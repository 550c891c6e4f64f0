"""Requests and answers in files: what we wrote we read again, and what others changed counts for nothing."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atm.approvals.formats.records import (
    AuditLine,
    approval_json,
    cut,
    decode_given,
    decode_mark,
    decode_request,
    encode_given,
    encode_mark,
    encode_request,
)
from atm.approvals.rules.calls import MOST_SHOWN
from atm.approvals.rules.requests import (
    APPROVED,
    CANCELLED,
    DENIED,
    EXPIRED,
    LEFT,
    USED,
    Approval,
    GivenAnswer,
    RuleNote,
)
from atm.files.formats.json_record import NotJson

SECRET = b"s" * 32
TEXT = st.text(max_size=8)
MOMENT = st.integers(0, 4_000_000_000).map(float)


def request(**more: object) -> Approval:
    facts: dict[str, object] = {"tier": "human", "operation": "git_push", "tool": "Bash", "command": "git push"}
    facts |= {
        "requester": "bob",
        "asked_at": 1000.0,
        "expires_at": 2800.0,
        "digest": "d",
        "rule": RuleNote("f", 2, "t"),
    }
    return Approval("a1", team="crew", **(facts | more))  # type: ignore[arg-type]


def facts_of(one: Approval) -> list[object]:
    rule = (one.rule.file, one.rule.number, one.rule.text)
    return [getattr(one, name) for name in Approval.__slots__ if name not in ("rule", "answer")] + [rule]


REQUESTS = st.builds(
    request,
    requester=TEXT,
    tier=TEXT,
    operation=TEXT,
    tool=TEXT,
    command=TEXT,
    folder=TEXT,
    diff=TEXT,
    task=TEXT,
    session=TEXT,
    digest=TEXT,
    why=TEXT,
    paths=st.lists(TEXT, max_size=3),
    asked_at=MOMENT,
    expires_at=MOMENT,
    rule=st.builds(RuleNote, TEXT, st.integers(0, 1000), TEXT),
)
ANSWERS = st.builds(
    GivenAnswer,
    st.sampled_from([APPROVED, DENIED, CANCELLED, EXPIRED]),
    by=TEXT,
    how=TEXT,
    pid=st.integers(1, 10**6),
    at=MOMENT,
    reason=TEXT,
)


@given(REQUESTS)
def test_a_request_is_read_as_it_was_written(one):
    assert facts_of(decode_request(encode_request(one, SECRET), "a1", "crew", SECRET)) == facts_of(one)


@given(ANSWERS)
def test_an_answer_is_read_as_it_was_written(answer):
    read = decode_given(encode_given(request(), answer, SECRET), request(), SECRET)
    assert [getattr(read, name) for name in GivenAnswer.__slots__] == [
        getattr(answer, name) for name in GivenAnswer.__slots__
    ]


def changes(data: bytes) -> list[bytes]:
    """Every way to change one letter that could matter, and to cut it off."""
    changed = [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in range(len(data) - 1)]
    return [*changed, *(data[:at] for at in range(0, len(data) - 1, 7)), b"", b"[]", b"null", b"{}"]


def test_one_changed_letter_of_a_request_and_it_counts_for_nothing():
    data = encode_request(request(), SECRET)
    tried = 0
    for other in changes(data):
        try:
            problem = decode_request(other, "a1", "crew", SECRET).problem
        except NotJson:
            problem = "no request"
        tried += 1
        assert problem, other
    assert tried > 300


def test_one_changed_letter_of_an_answer_and_nobody_gave_it():
    data = encode_given(request(), GivenAnswer(APPROVED, by="ann", how="h", pid=1, at=1100.0), SECRET)
    for other in changes(data):
        with pytest.raises(NotJson):
            decode_given(other, request(), SECRET)


@pytest.mark.parametrize(
    "field", ["id", "team", "tier", "command", "folder", "requester", "expires_at", "paths", "digest"]
)
def test_a_field_that_is_changed_or_taken_away_is_noticed(field):
    record = json.loads(encode_request(request(), SECRET))
    del record[field]
    try:
        problem = decode_request(json.dumps(record).encode(), "a1", "crew", SECRET).problem
    except NotJson as error:
        problem = str(error)
    assert problem


def test_a_field_that_is_added_is_noticed():
    record = {**json.loads(encode_request(request(), SECRET)), "more": 1}
    assert decode_request(json.dumps(record).encode(), "a1", "crew", SECRET).problem


def test_a_request_of_another_id_or_team_or_secret_is_not_this_one():
    data = encode_request(request(), SECRET)
    assert not decode_request(data, "a1", "crew", SECRET).problem
    assert decode_request(data, "a2", "crew", SECRET).problem
    assert decode_request(data, "a1", "other", SECRET).problem
    assert decode_request(data, "a1", "crew", b"x" * 32).problem


def test_an_answer_to_another_request_is_none_to_this_one():
    data = encode_given(request(), GivenAnswer(APPROVED, by="ann", how="h", pid=1, at=1100.0), SECRET)
    with pytest.raises(NotJson):
        decode_given(data, request(digest="e"), SECRET)
    with pytest.raises(NotJson):
        decode_given(data, request(), b"x" * 32)
    with pytest.raises(NotJson):
        decode_given(encode_request(request(), SECRET), request(), SECRET)


def test_a_use_is_read_as_it_was_noted():
    mark = encode_mark(request(), USED, 1000.0, "c", SECRET)
    assert decode_mark(mark, request(), USED, SECRET) == (1000.0, "c")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"\xff{",
        b'{"at": 3, "call": "c"}',
        encode_mark(request(), USED, 1000.0, "c", b"guessed"),
        encode_mark(request(), LEFT, 1000.0, "c", SECRET),
        encode_mark(request(digest="e"), USED, 1000.0, "c", SECRET).replace(b"a1", b"b2"),
    ],
    ids=repr,
)
def test_a_mark_that_atm_did_not_write_for_this_use_counts_as_a_use_by_no_known_call(data):
    assert decode_mark(data, request(), USED, SECRET) == (0.0, "")


def test_what_is_cut_is_said():
    assert cut("x" * MOST_SHOWN) == "x" * MOST_SHOWN
    assert cut("x" * (MOST_SHOWN + 5)).endswith("… 5 characters more, which are not shown")


def test_a_line_of_the_audit_says_who_how_and_by_which_rule():
    line = AuditLine(1000.0, "a1", "asked", by="bob", how="h", pid=7, rule=RuleNote("f", 2, "t"), reason="r")
    assert json.loads(line.numbered(3)) == {
        "seq": 3,
        "at": "1970-01-01T00:16:40.000Z",
        "id": "a1",
        "event": "asked",
        "by": "bob",
        "how": "h",
        "pid": 7,
        "rule": {"file": "f", "number": 2, "text": "t"},
        "reason": "r",
    }


def test_every_surface_tells_the_contracts_fields():
    said = approval_json(request(), 1000.0)
    for field in (
        *("id", "team", "requester", "tier", "operation", "tool", "command", "folder", "paths", "diff", "task"),
        *("asked_at", "expires_at", "state", "decided_by", "decided_at", "reason", "rule", "used_at"),
    ):
        assert field in said
    assert (said["state"], said["diff"], said["decided_by"], said["used_at"]) == ("waiting", None, None, None)
