"""What an agenda and its reports come to, and since when: sections 8.5, 10.2 and 10.4 of seed 002."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from tests.proving import proves

from atm.worksync.rules.agenda import Agenda, WorkItem
from atm.worksync.rules.decisions import (
    BUSY_REASONS,
    CAUGHT_UP,
    NEEDS_SYNC,
    SUPPRESSED_BUSY,
    UNKNOWN,
    VALID_LEASE,
    Busy,
    Decision,
    conditions,
    decide,
    label,
    would_nudge,
)
from atm.worksync.rules.statuses import Condition, ReportRecord

NOON = 1_790_000_000.0


def agenda(*kinds: str) -> Agenda:
    priorities = {"blocked_dependency": "blocked"}
    items = [
        WorkItem(str(n), kind, "ann", priorities.get(kind, "normal"), "because", {}) for n, kind in enumerate(kinds, 1)
    ]
    return Agenda("crew", "ann", items)


def report(state: str = "still_working", *, accepted: bool = True, reason: str = "", observed: str = "F"):
    return ReportRecord("id", "F", observed, state, accepted, reason, [], "", "", "", NOON, NOON)


LEASE, TOOL, IDLE = report(), Busy("tool_active"), Busy()


@proves(
    "R002-1-01",
    "R002-2-01",
    "R002-2-02",
    "R002-2-06",
    "R002-10.2-01",
    "R002-10.2-03",
    "R002-10.2-04",
    "R002-10.2-06",
    "R002-10.2-09",
    "R002-10.2-11",
    "R002-10.2-12",
    "R002-10.2-13",
    "R002-10.2-16",
    "R002-20.1-23",
    "R002-20.1-24",
    "R002-20.1-25",
    "R002-20.1-26",
    "R002-21-05",
    "R002-21-10",
    "R002-27.1-25",
    "R002-27.1-26",
    "R002-27.1-27",
    "R002-27.1-28",
)
@pytest.mark.parametrize(
    ("on", "held", "busy", "kind"),
    [
        (agenda(), None, IDLE, CAUGHT_UP),
        (agenda(), LEASE, TOOL, CAUGHT_UP),
        (agenda("work"), LEASE, IDLE, VALID_LEASE),
        (agenda("work"), LEASE, TOOL, VALID_LEASE),
        (agenda("work"), None, TOOL, SUPPRESSED_BUSY),
        (agenda("work"), None, IDLE, NEEDS_SYNC),
        (agenda("blocked_dependency"), None, IDLE, NEEDS_SYNC),
    ],
)
def test_each_member_is_one_of_four(on, held, busy, kind):
    assert decide(on, held, busy).kind == kind


@proves("R002-8.0-111", "R002-10.2-04", "R002-10.2-08", "R002-10.2-14")
@pytest.mark.parametrize("reason", BUSY_REASONS)
def test_whoever_is_busy_is_left_alone_whatever_it_is_busy_with(reason):
    found = decide(agenda("work"), None, Busy(reason, NOON))
    assert (found.kind, found.reason) == (SUPPRESSED_BUSY, "MemberBusy")
    assert reason in found.message


@proves("R002-10.2-07")
@pytest.mark.parametrize(("state", "seconds"), [("still_working", 600), ("blocked", 1800)])
def test_a_lease_says_what_was_reported_and_until_when(state, seconds):
    found = decide(agenda("work"), report(state), IDLE)
    assert (found.lease_state, found.lease_until) == (state, NOON + seconds)


@proves("R002-8.5-14", "R002-8.5-15", "R002-16.7-46", "R002-19-05")
def test_the_words_are_those_of_the_seed():
    found = decide(agenda("work", "review"), None, IDLE)
    assert found.reason == "ActionableAgendaWithoutValidLease"
    assert found.message == "Member has 2 actionable work items and no valid report lease."
    assert "1 actionable work item and" in decide(agenda("work"), None, IDLE).message


@proves("R002-1-22", "R002-16.7-46", "R002-19-02", "R002-19-05")
@pytest.mark.parametrize(
    ("state", "lease", "expected"),
    [
        (CAUGHT_UP, "", "Synced"),
        (VALID_LEASE, "still_working", "Working"),
        (VALID_LEASE, "blocked", "Blocked"),
        (SUPPRESSED_BUSY, "", "Working"),
        (NEEDS_SYNC, "", "Needs sync"),
        (NEEDS_SYNC, "blocked", "Needs sync"),  # a lease that is over says nothing
        (UNKNOWN, "", "Unknown"),
        ("", "", "Unknown"),
        ("of a later version", "", "Unknown"),
    ],
)
def test_people_get_a_word_that_blames_nobody(state, lease, expected):
    assert label(state, lease) == expected


DECISIONS = {
    CAUGHT_UP: decide(agenda(), None, IDLE),
    VALID_LEASE: decide(agenda("work"), LEASE, IDLE),
    SUPPRESSED_BUSY: decide(agenda("work"), None, TOOL),
    NEEDS_SYNC: decide(agenda("work"), None, IDLE),
}


@proves("R002-1-02", "R002-1-06", "R002-10.4-08", "R002-10.4-09", "R002-10.4-11", "R002-10.4-13")
@pytest.mark.parametrize(
    ("kind", "waits", "quiet", "cooldown"), list(product(DECISIONS, (True, False), (True, False), (True, False)))
)
def test_a_nudge_would_be_due_only_where_everything_says_so(kind, waits, quiet, cooldown):
    on = agenda() if kind == CAUGHT_UP else agenda("blocked_dependency" if waits else "work")
    expected = kind == NEEDS_SYNC and not waits and quiet and not cooldown
    assert would_nudge(DECISIONS[kind], on, quiet=quiet, cooldown=cooldown) is expected


def test_a_member_with_work_beside_what_waits_is_nudged():
    on = agenda("blocked_dependency", "work")
    assert would_nudge(decide(on, None, IDLE), on, quiet=True, cooldown=False)


STATES = {
    CAUGHT_UP: "CaughtUp",
    VALID_LEASE: "ValidLease",
    NEEDS_SYNC: "NeedsSync",
    SUPPRESSED_BUSY: "SuppressedBusy",
}
TYPES = [*STATES.values(), "SuppressedCooldown", "StaleReport", "InvalidReport"]


def observed(former: list[Condition], decision: Decision, now: float, **other: Any) -> list[Condition]:
    return conditions(former, decision, "F", now, **{"rejected": None, "cooldown": "", **other})


def true_ones(found: list[Condition]) -> set[str]:
    return {one.type for one in found if one.status == "true"}


class TestConditions:
    @proves(
        "R002-4.2-03",
        "R002-8.5-01",
        "R002-8.5-02",
        "R002-8.5-03",
        "R002-8.5-04",
        "R002-8.5-08",
        "R002-8.5-10",
        "R002-8.5-11",
        "R002-8.5-12",
        "R002-10.2-10",
        "R002-10.2-17",
        "R002-10.3-03",
    )
    @pytest.mark.parametrize(("kind", "type"), list(STATES.items()))
    def test_at_the_first_look_there_is_the_one_that_is_true(self, kind, type):
        (found,) = observed([], DECISIONS[kind], NOON)
        assert (found.type, found.status, found.fingerprint, found.since) == (type, "true", "F", NOON)
        assert found.reason == DECISIONS[kind].reason

    @proves("R002-8.5-09", "R002-10.2-10", "R002-10.2-17")
    def test_one_that_was_true_is_told_as_false_afterwards(self):
        found = observed([], DECISIONS[NEEDS_SYNC], NOON)
        for n, kind in enumerate([*DECISIONS, *DECISIONS], 1):
            found = observed(found, DECISIONS[kind], NOON + n)
            assert true_ones(found) == {STATES[kind]}
            assert {one.status for one in found if one.type != STATES[kind]} <= {"false"}
        assert {one.type for one in found} == set(STATES.values())
        assert len(found) == len(STATES)

    @proves("R002-8.5-01", "R002-8.5-02", "R002-8.5-03", "R002-8.5-04", "R002-8.5-05", "R002-8.5-06", "R002-8.5-07")
    def test_all_seven_can_be_true(self):
        alerted = {"cooldown": "alerted"}
        reasons = ("stale_fingerprint", "task_not_in_current_agenda")
        found: list[Condition] = []
        for kind, reason in product(DECISIONS, reasons):
            rejected = report(accepted=False, reason=reason)
            found = observed(found, DECISIONS[kind], NOON, rejected=rejected, **alerted)
        assert {one.type for one in found} == set(TYPES)

    @proves("R002-8.5-13", "R002-26-13")
    def test_a_condition_keeps_its_time_while_its_status_stays(self):
        first = observed([], DECISIONS[NEEDS_SYNC], NOON)
        later = observed(first, DECISIONS[NEEDS_SYNC], NOON + 60)
        assert later == first
        moved = {one.type: one for one in observed(later, DECISIONS[SUPPRESSED_BUSY], NOON + 120)}
        assert {(one.status, one.since) for one in moved.values()} == {("true", NOON + 120), ("false", NOON + 120)}
        still = observed(list(moved.values()), DECISIONS[SUPPRESSED_BUSY], NOON + 180)
        assert {one.since for one in still} == {NOON + 120}

    @proves("R002-4.2-03")
    def test_another_fingerprint_is_observed_without_another_time(self):
        first = observed([], DECISIONS[NEEDS_SYNC], NOON)
        later = conditions(first, DECISIONS[NEEDS_SYNC], "G", NOON + 60, rejected=None, cooldown="")
        assert {(one.fingerprint, one.since) for one in later} == {("G", NOON)}

    @proves("R002-8.5-09")
    def test_a_status_that_nobody_knows_counts_as_a_change(self):
        former = [Condition("NeedsSync", "unknown", "F", "", "", 1.0), Condition("Odd", "true", "F", "", "", 1.0)]
        found = {one.type: one.since for one in observed(former, DECISIONS[NEEDS_SYNC], NOON)}
        assert (found["NeedsSync"], "Odd" in found) == (NOON, False)

    @proves("R002-8.5-05")
    def test_a_recent_alert_of_the_watchdog_is_told(self):
        assert "SuppressedCooldown" in true_ones(observed([], DECISIONS[NEEDS_SYNC], NOON, cooldown="alerted 12:00"))

    @proves("R002-2-06", "R002-8.5-06", "R002-8.5-07", "R002-20.2-09")
    @pytest.mark.parametrize(
        ("reason", "seen", "expected"),
        [
            ("stale_fingerprint", "F", {"StaleReport"}),
            ("stale_fingerprint", "G", set()),  # the agenda has moved since: nobody is to be told
            ("blocked_rejected_without_evidence", "F", {"InvalidReport"}),
            ("blocked_rejected_without_evidence", "G", set()),
            ("task_not_in_current_agenda", "F", {"InvalidReport"}),
        ],
    )
    def test_a_rejected_report_shows_while_the_agenda_is_the_one_it_was_held_against(self, reason, seen, expected):
        rejected = report(accepted=False, reason=reason, observed=seen)
        found = observed([], DECISIONS[NEEDS_SYNC], NOON, rejected=rejected)
        assert true_ones(found) - {"NeedsSync"} == expected
        assert [one.reason for one in found if one.type in expected] == [reason] * len(expected)
