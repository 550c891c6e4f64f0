"""A member's status as a record: read back as it was, whatever anybody wrote into the file."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.proving import proves

from atm.files.formats.json_record import decode_object, encode
from atm.worksync.formats.status import COUNTERS, decode_report, decode_status, encode_report, encode_status
from atm.worksync.rules.decisions import lease_of
from atm.worksync.rules.statuses import (
    HISTORY_SECONDS,
    MOST_HISTORY,
    Condition,
    Counters,
    MemberStatus,
    ReportRecord,
    remember,
)
from atm.worksync.rules.transitions import Transition

TEXT = st.text(max_size=12)
TEXTS = st.lists(TEXT, max_size=3)
TIMES = st.integers(1, 4_000_000_000_000).map(lambda millis: millis / 1000)
COUNTS = st.integers(0, 2**53 - 1)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
OBJECTS = st.dictionaries(TEXT, JSON, max_size=3)
REPORTS = st.builds(
    ReportRecord,
    *(TEXT, TEXT, TEXT, TEXT, st.booleans(), TEXT, TEXTS, TEXT, TEXT, TEXT, TIMES, TIMES),
)
STATUSES = st.builds(
    MemberStatus,
    team=st.just("crew"),
    member=st.just("ann"),
    fingerprint=TEXT,
    state=TEXT,
    summary=st.lists(OBJECTS, max_size=2),
    count=COUNTS,
    facts=st.dictionaries(TEXT, OBJECTS, max_size=2),
    diagnostics=TEXTS,
    accepted=st.none() | REPORTS,
    rejected=st.none() | REPORTS,
    reports=st.lists(REPORTS, max_size=2),
    conditions=st.lists(st.builds(Condition, TEXT, TEXT, TEXT, TEXT, TEXT, TIMES), max_size=2),
    transitions=st.lists(st.builds(Transition, TEXT, TEXT, TEXTS, TEXTS, TIMES), max_size=2),
    would_nudges=st.dictionaries(TEXT, TIMES, max_size=2),
    counters=st.builds(Counters, *[COUNTS] * 8, st.none() | TIMES, st.none() | TIMES),
    first_seen=st.none() | TIMES,
    needs_since=st.none() | TIMES,
    trigger=TEXT,
    updated=TIMES,
    rest=st.dictionaries(TEXT.map(lambda key: f"x-{key}"), JSON, max_size=2),
)


@proves("R002-6-09")
@settings(max_examples=60)
@given(STATUSES)
def test_a_status_is_read_back_as_it_was(status):
    record = decode_object(encode(encode_status(status)))
    assert decode_status("crew", "ann", record) == status


@proves("R002-8.4-27", "R002-8.4-28", "R002-8.4-29", "R002-8.4-30", "R002-8.4-32", "R002-8.4-33")
@given(REPORTS)
def test_a_report_is_read_back_as_it_was(report):
    assert decode_report(decode_object(encode(encode_report(report)))) == report


@proves(
    "R002-8.4-27",
    "R002-8.4-28",
    "R002-8.4-32",
    "R002-8.4-33",
    "R002-18-07",
    "R002-18-08",
    "R002-18-09",
    "R002-18-10",
    "R002-18-11",
    "R002-18-12",
    "R002-18-13",
    "R002-18-14",
)
def test_the_names_in_the_file_are_those_of_the_seed():
    report = ReportRecord("r1", "F", "F", "blocked", True, "", ["7"], "c1", "n", "report_token", 1.0, 2.0)
    assert encode_report(report) == {
        "id": "r1",
        "agendaFingerprint": "F",
        "observedFingerprint": "F",
        "state": "blocked",
        "accepted": True,
        "taskIds": ["7"],
        "blockerCommentId": "c1",
        "note": "n",
        "identitySource": "report_token",
        "acceptedAt": "1970-01-01T00:00:01.000Z",
        "lastSeenAt": "1970-01-01T00:00:02.000Z",
    }
    assert set(COUNTERS) == {
        *("reconcileCount", "fingerprintChangeCount", "staleReportCount", "invalidReportCount"),
        *("acceptedReportCount", "needsSyncCount", "suppressedBusyCount", "wouldNudgeCount"),
    }
    assert {*COUNTERS.values(), "last_reconcile", "last_report"} == {field.name for field in fields(Counters)}


def test_a_status_of_nothing_is_small_and_empty_things_are_left_out():
    record = encode_status(MemberStatus("crew", "ann"))
    assert not {"conditions", "reports", "latestAcceptedReport", "wouldNudges", "agendaFacts"} & set(record)
    assert decode_status("crew", "ann", record) == MemberStatus(
        "crew", "ann", summary=[], diagnostics=[], reports=[], conditions=[], transitions=[]
    )


def test_whose_it_is_comes_from_where_it_lies_and_not_from_what_it_says():
    found = decode_status("crew", "ann", {"teamName": "other", "memberName": "bob", "state": "needs_sync"})
    assert (found.team, found.member, found.state) == ("crew", "ann", "needs_sync")


def test_what_a_later_version_added_survives():
    record: dict[str, Any] = {"state": "needs_sync", "later": {"deep": [1, {"x": None}]}, "": "odd"}
    assert {**encode_status(decode_status("crew", "ann", record))}.items() >= record.items()


KEYS = sorted({*encode_status(MemberStatus("crew", "ann", first_seen=1.0, needs_since=1.0)), "latestAcceptedReport"})
ISO = st.sampled_from(
    [
        *("2026-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00+14:00", "2026-02-30"),
        *("2026-01-01", "0000-00-00T00:00:00.000Z", "99999-01-01T00:00:00Z", "NaN", "\ud800"),
    ]
)
ANYTHING = JSON | ISO | st.floats() | st.lists(JSON | st.dictionaries(TEXT, ISO), max_size=3)
DEEP_KEYS = [
    *("id", "accepted", "lastSeenAt", "acceptedAt", "rejectedAt", "taskIds", "type", "status", "from", "to"),
    *("changedAt", "changedTaskIds", "lastTransitionAt", "reconcileCount", "lastReportAt"),
]
DEEP = st.dictionaries(st.sampled_from(DEEP_KEYS), ANYTHING, max_size=6)


@given(
    st.dictionaries(
        st.sampled_from([*KEYS, *("latestRejectedReport", "reports", "conditions", "transitions", "metrics")]),
        ANYTHING | DEEP | st.lists(DEEP, max_size=3),
    )
)
def test_garbage_of_every_kind_in_every_field_is_no_error_and_can_be_written_again(record):
    found = decode_status("crew", "ann", record)
    again = decode_status("crew", "ann", decode_object(encode(encode_status(found))))
    assert (found.fingerprint, found.state, found.count, found.rest) == (
        again.fingerprint,
        again.state,
        again.count,
        again.rest,
    )
    assert replace(found.counters, last_report=None, last_reconcile=None) == replace(
        again.counters, last_report=None, last_reconcile=None
    )
    lease_of(found, "F", 1_790_000_000.0)


@given(DEEP, st.booleans())
def test_garbage_in_a_report_is_a_report_if_it_says_what_came_of_it_and_when(record, accepted):
    whole = {**record, "accepted": accepted, "lastSeenAt": "2026-08-27T10:15:30.123Z"}
    found = decode_report(whole)
    assert found is not None
    assert (found.accepted, found.last_at) == (accepted, 1_787_825_730.123)
    assert decode_report({**whole, "accepted": int(accepted)}) is None
    assert decode_report({**whole, "lastSeenAt": "yesterday"}) is None


@pytest.mark.parametrize(
    "damage",
    [
        {"lastSeenAt": "yesterday"},
        {"lastSeenAt": None},
        {"lastSeenAt": 1_790_000_000},
        {"lastSeenAt": ["2026-01-01T00:00:00.000Z"]},
        {"accepted": "true"},
        {"accepted": 1},
        {"accepted": None},
        {"accepted": False},
        {"state": 5},
        {"agendaFingerprint": ["F"]},
    ],
)
def test_a_lease_that_cannot_be_read_is_no_lease(damage):
    at = 1_790_000_000.0
    record = encode_report(ReportRecord("r", "F", "F", "still_working", True, "", [], "", "", "", at, at))
    whole = decode_status("crew", "ann", {"latestAcceptedReport": record})
    assert lease_of(whole, "F", at) is not None
    assert lease_of(decode_status("crew", "ann", {"latestAcceptedReport": {**record, **damage}}), "F", at) is None


@pytest.mark.parametrize("count", [-1, 2**53, 1.5, True, "7", None, [], {}])
def test_a_count_that_is_none_is_nothing(count):
    found = decode_status("crew", "ann", {"metrics": {"reconcileCount": count}, "actionableCount": count})
    assert (found.counters.reconciles, found.count) == (0, 0)


class TestRemembering:
    """Section 23: at most twenty reports of a member, and none for longer than a week."""

    @staticmethod
    def report(id: str, at: float = 0.0, accepted: bool = True, reason: str = "") -> ReportRecord:
        return ReportRecord(id, "F", "F", "still_working", accepted, reason, [], "", "", "", at, at)

    @proves("R002-8.0-53", "R002-8.4.2-22")
    def test_twenty_stay_and_the_oldest_goes(self):
        had: list[ReportRecord] = []
        for n in range(MOST_HISTORY + 5):
            had = remember(had, self.report(str(n), float(n)))
        assert [one.id for one in had] == [str(n) for n in range(5, MOST_HISTORY + 5)]

    def test_the_same_report_again_takes_one_place(self):
        had = remember(remember([self.report("a"), self.report("b")], self.report("a", 5.0)), self.report("a", 9.0))
        assert [(one.id, one.last_at) for one in had] == [("b", 0.0), ("a", 9.0)]

    def test_one_that_was_rejected_first_and_accepted_then_takes_two(self):
        had = remember([self.report("a", accepted=False, reason="stale_fingerprint")], self.report("a"))
        had = remember(had, self.report("a", accepted=False, reason="task_not_in_current_agenda"))
        assert len(had) == 3

    @proves("R002-8.4.2-22")
    @pytest.mark.parametrize(("age", "stays"), [(HISTORY_SECONDS - 1, True), (HISTORY_SECONDS, False)])
    def test_after_a_week_they_go(self, age, stays):
        assert (len(remember([self.report("a")], self.report("b", age))) == 2) is stays
