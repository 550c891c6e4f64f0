"""For how long a report keeps the control plane quiet: by our own clock, and never for ever."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.proving import proves

from atm.worksync.rules.agenda import Agenda
from atm.worksync.rules.decisions import lease_of
from atm.worksync.rules.identity import RUNTIME_SESSION, Trusted
from atm.worksync.rules.leases import CLOCK_TOLERANCE, STATES, is_in_force, lease_until
from atm.worksync.rules.reports import Ground, Report, validate
from atm.worksync.rules.statuses import MemberStatus, ReportRecord

NOON = 1_790_000_000.0


@proves("R002-4.4-01", "R002-10.2-05", "R002-10.3-01", "R002-10.3-02", "R002-10.3-06", "R002-16.5-04", "R002-22-22")
@pytest.mark.parametrize(("state", "seconds"), [("still_working", 600.0), ("blocked", 1800.0)])
@pytest.mark.parametrize(
    ("past", "is_held"),
    [(-1.0, True), (-0.001, True), (0.0, False), (0.001, False), (1.0, False), (86400.0, False)],
)
def test_a_lease_ends_to_the_second(state, seconds, past, is_held):
    assert lease_until(state, NOON) == NOON + seconds
    assert is_in_force(state, NOON, NOON + seconds + past) is is_held


@pytest.mark.parametrize("state", ["caught_up", "", "STILL_WORKING", "for ever"])
def test_nothing_else_is_a_lease(state):
    assert lease_until(state, NOON) is None
    assert not is_in_force(state, NOON, NOON)


@proves("R002-8.4.1-06")
@pytest.mark.parametrize("state", ["still_working", "blocked"])
@pytest.mark.parametrize(
    ("back", "is_held"), [(0.0, True), (1.0, True), (CLOCK_TOLERANCE, True), (CLOCK_TOLERANCE + 0.001, False)]
)
def test_a_clock_that_was_set_back_ends_a_lease_since_nobody_knows_how_old_it_is(state, back, is_held):
    assert is_in_force(state, NOON, NOON - back) is is_held


def test_a_clock_that_was_set_forward_ends_a_lease_early_and_never_prolongs_it():
    assert not is_in_force("still_working", NOON, NOON + 10 * 365 * 86400)


@proves("R002-1-77", "R002-8.4.1-11")
@given(st.sampled_from(STATES), st.floats(0, 4e9), st.floats(-1e6, 1e6))
def test_no_lease_is_ever_longer_than_half_an_hour(state, accepted_at, later):
    if is_in_force(state, accepted_at, accepted_at + later):
        assert -CLOCK_TOLERANCE - 1 <= later <= 1800


@given(st.text(max_size=64))
def test_what_a_model_says_about_the_time_never_matters(reported_at):
    agenda = Agenda("crew", "ann")
    trusted = Trusted("mcp", NOON, RUNTIME_SESSION, "crew", "ann")
    ground = Ground("crew", True, "ann", "", trusted, "missing", agenda, "F", {})
    said, silent = (Report("ann", "F", "caught_up", reported_at=at) for at in (reported_at, ""))
    assert validate(said, ground) == validate(silent, ground)


def record(state: str, *, accepted: bool = True, at: float = NOON, fingerprint: str = "F", observed: str = "F"):
    reason = "" if accepted else "stale_fingerprint"
    return ReportRecord("id", fingerprint, observed, state, accepted, reason, [], "", "", "report_token", at, at)


def status(accepted: ReportRecord | None, rejected: ReportRecord | None = None) -> MemberStatus:
    return MemberStatus("crew", "ann", accepted=accepted, rejected=rejected)


class TestTheLeaseOfAMember:
    @proves("R002-4.3-01", "R002-10.2-02", "R002-10.2-12")
    def test_an_accepted_report_holds_for_its_own_agenda_only(self):
        held = record("still_working")
        assert lease_of(status(held), "F", NOON + 599) is held
        assert lease_of(status(held), "G", NOON + 1) is None
        assert lease_of(status(held), "", NOON + 1) is None

    @pytest.mark.parametrize("state", STATES)
    @pytest.mark.parametrize("later", [0.0, 1.0, 599.0])
    def test_a_rejected_report_never_touches_a_lease(self, state, later):  # D15
        held = record("still_working")
        rejected = record(state, accepted=False, at=NOON + later)
        assert lease_of(status(held, rejected), "F", NOON + later) is held

    @proves("R002-10.2-03")
    def test_a_rejected_report_is_never_a_lease_wherever_it_stands(self):
        rejected = record("still_working", accepted=False)
        assert lease_of(status(None, rejected), "F", NOON) is None
        assert lease_of(status(rejected), "F", NOON) is None

    def test_it_counts_from_when_it_was_last_made(self):
        again = ReportRecord("id", "F", "F", "still_working", True, "", [], "", "", "", NOON, NOON + 500)
        assert lease_of(status(again), "F", NOON + 1099) is again
        assert lease_of(status(again), "F", NOON + 1100) is None

    @pytest.mark.parametrize(
        ("joined_at", "holds"),
        [(None, True), (NOON - 3600, True), (NOON, True), (NOON + 5, False), (NOON + 60, True)],
        ids=["nobody knows", "long ago", "just before", "since", "by a clock that is ahead"],
    )
    def test_it_is_of_whoever_made_it_and_not_of_whoever_joins_later(self, joined_at, holds):
        held = record("still_working")
        assert (lease_of(status(held), "F", NOON + 10, joined_at) is held) is holds

    def test_nobody_who_has_not_reported_has_one(self):
        assert lease_of(None, "F", NOON) is None
        assert lease_of(status(None), "F", NOON) is None

    @proves("R002-4.4-04", "R002-10.3-03")
    def test_caught_up_is_none(self):
        assert lease_of(status(record("caught_up")), "F", NOON) is None
