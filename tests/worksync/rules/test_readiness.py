"""May nudges be sent at all? Each threshold of section 18.1 at its edge, counted as D14 says."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from tests.proving import proves

from atm.worksync.rules.readiness import BLOCKED, COLLECTING, READY, Thresholds, assess
from atm.worksync.rules.statuses import MOST_HISTORY, Counters, MemberStatus, ReportRecord
from atm.worksync.rules.transitions import ADDED, DECIDED, REMOVED, Transition

NOW = 1_790_000_000.0
HOUR, MINUTE = 3600.0, 60.0


def status(member: str = "ann", *, looks: int = 20, hours: float | None = 1.0, **other: Any) -> MemberStatus:
    first = None if hours is None else NOW - hours * HOUR
    return MemberStatus("crew", member, counters=Counters(reconciles=looks), first_seen=first, **other)


def due(count: int, ago: float = MINUTE) -> dict[str, float]:
    return {f"F{n}": NOW - ago for n in range(count)}


def moves(*fingerprints: str, every: float = MINUTE, reasons: tuple[str, ...] = ("status_changed",)):
    start = NOW - every * len(fingerprints)
    pairs = enumerate(pairwise(fingerprints))
    return [Transition(one, other, ["1"], reasons, start + n * every) for n, (one, other) in pairs]


def reports(*, stale: int, others: int, ago: float = MINUTE) -> list[ReportRecord]:
    reasons = [*["stale_fingerprint"] * stale, *[""] * others]
    at = NOW - ago
    return [
        ReportRecord(str(n), f"F{n}", "F", "still_working", not why, why, [], "", "", "", at, at)
        for n, why in enumerate(reasons)
    ]


def had(count: int) -> list[Transition]:
    """The agenda once had the fingerprints that `reports` calls stale."""
    return [Transition("", f"F{n}", [], ("task_added",), NOW - MINUTE) for n in range(count)]


class TestEnoughToJudge:
    @proves("R002-1-29", "R002-1-31", "R002-18.1-08", "R002-21-28", "R002-21-30")
    @pytest.mark.parametrize(
        ("statuses", "reasons"),
        [
            ([], ["too_few_members", "too_few_evaluations", "observed_too_briefly"]),
            ([status(looks=19)], ["too_few_evaluations"]),
            ([status(looks=20)], []),
            ([status(looks=10), status("bob", looks=10)], []),
            ([status(hours=0.9999)], ["observed_too_briefly"]),
            ([status(hours=1.0)], []),
            ([status(hours=None)], ["observed_too_briefly"]),
            ([status(hours=None), status("bob", hours=1.0)], []),
            ([status(hours=-5.0)], ["observed_too_briefly"]),  # the clock was set back
        ],
    )
    def test_nothing_is_sent_before_there_is_enough_to_judge_by(self, statuses, reasons):
        found = assess(statuses, NOW)
        assert (found.state, list(found.reasons)) == (COLLECTING if reasons else READY, reasons)
        assert found.is_ready is (not reasons)

    @proves("R002-21-28")
    def test_noise_does_not_show_before_there_is_enough(self):
        found = assess([status(looks=1, would_nudges=due(20))], NOW)
        assert (found.state, found.reasons) == (COLLECTING, ["too_few_evaluations"])

    @proves("R002-1-28", "R002-21-27")
    def test_the_figures_are_told(self):
        found = assess([status(looks=30, hours=2.0, would_nudges=due(3)), status("bob", looks=12)], NOW)
        assert (found.members, found.looks, found.hours, found.would_nudges) == (2, 42, 2.0, 1.5)

    def test_other_thresholds_can_be_given(self):
        assert assess([status()], NOW, Thresholds(least_members=2)).reasons == ["too_few_members"]


class TestWouldBeNudges:
    @proves("R002-1-30", "R002-21-27", "R002-26-21")
    @pytest.mark.parametrize(
        ("count", "hours", "state"), [(2, 1.0, READY), (3, 1.0, BLOCKED), (2, 20.0, READY), (3, 20.0, BLOCKED)]
    )
    def test_two_for_a_member_and_hour_are_allowed(self, count, hours, state):
        found = assess([status(hours=hours, would_nudges=due(count))], NOW)
        assert found.state == state
        assert found.reasons == ([] if state == READY else ["would_nudge_rate_high"])

    @pytest.mark.parametrize("looks", [20, 1_000, 100_000])
    def test_a_member_that_is_stuck_does_not_veto_its_own_rescue(self, looks):
        """D14: counted once for each member and fingerprint, however often it is looked at."""
        counters = Counters(reconciles=looks, needs_sync=looks, would_nudge=looks)
        stuck = MemberStatus("crew", "ann", counters=counters, first_seen=NOW - HOUR, would_nudges=due(1))
        assert assess([stuck], NOW).is_ready

    def test_every_member_of_a_team_may_be_stuck_at_once(self):
        assert assess([status(f"m{n}", would_nudges=due(1)) for n in range(50)], NOW).is_ready

    def test_what_was_noisy_yesterday_is_forgotten(self):
        assert assess([status(hours=1.0, would_nudges=due(20, ago=24 * HOUR))], NOW).is_ready
        assert not assess([status(hours=1.0, would_nudges=due(20, ago=24 * HOUR - 1))], NOW).is_ready

    def test_a_member_that_would_be_nudged_all_the_time_is_noticed_also_after_a_quiet_day(self):
        """Of a member at most 20 are remembered: an average over 24 hours could never reach the threshold of 2."""
        found = assess([status(hours=24.0, would_nudges=due(MOST_HISTORY))], NOW)
        assert found.reasons == ["would_nudge_rate_high"]


class TestChurn:
    @proves("R002-8.0-68", "R002-18-02", "R002-18.1-03", "R002-21-24", "R002-21-31", "R002-26-20")
    def test_one_unexplained_change_in_an_hour_is_allowed_and_two_are_not(self):
        once = status(transitions=moves("a", "b", reasons=()))
        twice = status(transitions=moves("a", "b", "c", reasons=()))
        assert assess([once], NOW).is_ready
        assert assess([twice], NOW).reasons == ["fingerprint_churn_high"]

    @proves("R002-18.1-03")
    @pytest.mark.parametrize(("every", "is_ready"), [(HOUR - 1, False), (HOUR, True)])
    def test_the_hour_is_counted_to_the_second(self, every, is_ready):
        found = assess([status(transitions=moves("a", "b", "c", every=every, reasons=()))], NOW)
        assert found.is_ready is is_ready

    @proves("R002-18.1-03")
    def test_a_member_that_is_not_stable_is_not_nudged_and_silences_nobody_else(self):
        early = [Transition("a", "b", [], (), NOW - 20 * HOUR), Transition("b", "c", [], (), NOW - 20 * HOUR + 1)]
        found = assess([status("bob"), status("Ann", transitions=early)], NOW)
        assert (found.state, list(found.reasons), found.churn) == (READY, [], 2.0)
        assert (found.unstable, found.is_ready_for("ann"), found.is_ready_for("bob")) == (["Ann"], False, True)

    def test_a_team_in_which_nobody_is_stable_gets_no_nudges(self):
        noisy = moves("a", "b", "c", reasons=())
        found = assess([status("ann", transitions=noisy), status("bob", transitions=noisy)], NOW)
        assert (found.state, found.reasons) == (BLOCKED, ["fingerprint_churn_high"])

    @proves("R002-18.1-03")
    @pytest.mark.parametrize("reason", DECIDED)
    def test_what_people_ask_answer_and_judge_is_none_however_often_they_do(self, reason):
        """Two rejected plans, two answered questions: the same agenda again and again."""
        there_and_back = moves(*["a", "b"] * 10, reasons=(reason,))
        assert assess([status(transitions=there_and_back)], NOW).is_ready

    @proves("R002-21-31")
    def test_what_flaps_is_churn_also_if_every_change_can_be_explained(self):
        assert assess([status(transitions=moves("a", "b", "a"))], NOW).is_ready  # somebody changed their mind, once
        assert assess([status(transitions=moves("a", "b", "a", "b"))], NOW).reasons == ["fingerprint_churn_high"]

    def test_what_comes_back_after_an_hour_does_not_flap(self):
        assert assess([status(transitions=moves("a", "b", "a", "b", every=HOUR))], NOW).is_ready

    def test_work_that_goes_on_is_none(self):
        names = [f"F{n}" for n in range(40)]
        assert assess([status(transitions=moves(*names))], NOW).is_ready

    @pytest.mark.parametrize("reasons", [(ADDED,), (REMOVED,), (ADDED, "status_changed")])
    def test_whoever_finishes_one_task_after_the_other_is_none(self, reasons):
        """The empty agenda comes back each time."""
        names = ["empty" if n % 2 else f"F{n}" for n in range(20)]
        assert assess([status(transitions=moves(*names, reasons=reasons))], NOW).is_ready

    def test_the_first_look_is_no_change(self):
        assert assess([status(transitions=moves("", "a", reasons=()) * 5)], NOW).is_ready

    def test_what_was_noisy_yesterday_is_forgotten(self):
        old = [Transition(f"{n}", f"{n + 1}", [], (), NOW - 24 * HOUR) for n in range(10)]
        assert assess([status(transitions=old)], NOW).is_ready


class TestStaleReports:
    @proves("R002-18-03", "R002-18.1-04", "R002-21-25")
    @pytest.mark.parametrize(
        ("stale", "others", "is_ready"),
        [
            (0, 20, True),
            (2, 18, True),
            (3, 17, False),  # 15 percent, and it must be less
            (3, 18, True),
            (1, 3, True),  # of four no share is taken
            (1, 4, False),
            (4, 0, True),
            (5, 0, False),
        ],
    )
    def test_less_than_fifteen_percent_may_be_stale(self, stale, others, is_ready):
        found = assess([status(reports=reports(stale=stale, others=others), transitions=had(stale))], NOW)
        assert found.is_ready is is_ready
        assert found.reasons == ([] if is_ready else ["stale_report_rate_high"])
        assert found.reports == stale + others

    def test_a_model_that_repeats_itself_is_one_stale_report(self):
        again = reports(stale=1, others=0) * 15
        assert (
            assess([status(reports=[*again, *reports(stale=0, others=10)[1:]], transitions=had(1))], NOW).stale == 0.1
        )

    def test_a_fingerprint_that_was_made_up_says_nothing_about_how_soon_agendas_go_out_of_date(self):
        assert assess([status(reports=reports(stale=5, others=0))], NOW).is_ready

    def test_two_members_are_two(self):
        found = assess(
            [status(name, reports=reports(stale=1, others=2), transitions=had(1)) for name in ("ann", "bob")], NOW
        )
        assert (found.reports, found.reasons) == (6, ["stale_report_rate_high"])

    def test_yesterdays_are_forgotten(self):
        assert assess([status(reports=reports(stale=20, others=0, ago=24 * HOUR))], NOW).is_ready


@proves("R002-1-30", "R002-18.1-08", "R002-21-29", "R002-21-30")
def test_every_source_of_noise_is_named():
    noisy = status(
        would_nudges=due(3),
        transitions=[*had(5), *moves("a", "b", "c", reasons=())],
        reports=reports(stale=5, others=0),
    )
    assert assess([noisy], NOW).reasons == [
        "would_nudge_rate_high",
        "fingerprint_churn_high",
        "stale_report_rate_high",
    ]
