"""What people read about work-sync: names, numbers and times, and no word of the machinery."""

from __future__ import annotations

from typing import Any

import pytest
from tests.proving import proves

from atm.worksync.rules.agenda import Agenda, WorkItem
from atm.worksync.rules.decisions import BUSY_REASONS, Busy, decide
from atm.worksync.rules.nudges import ESCALATION, Ladder
from atm.worksync.rules.readiness import Readiness, Thresholds
from atm.worksync.rules.sentences import BUSY_WORDS, Standing, Times, in_words, readiness_lines, refusal
from atm.worksync.rules.sentences import refused_report as refused
from atm.worksync.rules.statuses import ReportRecord

NOON = 1_790_000_000.0 // 86400 * 86400 + 12 * 3600
MINUTE = 60.0


def agenda(*ids: str, priority: str = "normal", **other: Any) -> Agenda:
    return Agenda("crew", "bob", [WorkItem(id, "work", "bob", priority, "because", {}) for id in ids], **other)


def report(state: str) -> ReportRecord:
    return ReportRecord("1", "F", "F", state, True, "", [], "", "", "", NOON, NOON)


def said(
    found: Agenda,
    *,
    accepted: ReportRecord | None = None,
    busy: Busy | None = None,
    now: float | None = None,
    **more: Any,
) -> str:
    busy = busy or Busy()
    ladder = more.pop("ladder", Ladder())
    return Standing(found, decide(found, accepted, busy), busy, ladder, **more).said(Times(now=now))


@proves("R002-16.7-46", "R002-19-05")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (said(agenda()), "Nothing waits for bob."),
        (said(agenda(unreadable=["3"])), "Some tasks of the board cannot be read, so nobody knows what waits for bob."),
        (said(agenda("1")), "bob has 1 task and has not reported yet."),
        (
            said(agenda("1", "2"), accepted=report("still_working")),
            "bob reported that it works on 2 tasks; atm waits until 12:10 UTC.",
        ),
        (
            said(agenda("1"), accepted=report("blocked")),
            "bob reported that it cannot go on with 1 task; atm waits until 12:30 UTC.",
        ),
        (said(agenda("1"), busy=Busy("tool_active")), "bob has 1 task and is busy: a turn or a tool call is going on."),
        (said(agenda("1", priority="blocked")), "bob has 1 task, and nothing to do but wait for others."),
        (said(agenda("1", "2"), reported_at=NOON, changed=1), "1 task of bob has changed since its last report."),
        (said(agenda("1"), reported_at=NOON), "bob has 1 task; what it reported at 12:00 UTC does not hold any more."),
        (
            said(agenda("1"), ladder=Ladder("", 1, NOON, NOON + 1800)),
            "bob was nudged at 12:00 UTC and has not reported; atm waits until 12:30 UTC.",
        ),
        (
            said(agenda("1"), ladder=Ladder("", 1, NOON, NOON + 1800), now=NOON + 4 * MINUTE),
            "bob was nudged 4 minutes ago and has not reported; atm waits until 12:30 UTC.",
        ),
        (
            said(agenda("1"), ladder=Ladder(ESCALATION, 4, NOON)),
            "bob was nudged 4 times about 1 task and has not reported. atm has stopped reminding it; "
            "`atm sync nudge bob --again` begins anew.",
        ),
    ],
    ids=str,
)
def test_each_state_is_a_sentence(text, expected):
    assert text == expected


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "a moment ago"),
        (59, "a moment ago"),
        (60, "1 minute ago"),
        (3599, "59 minutes ago"),
        (7200, "2 hours ago"),
        (90000, "1 day ago"),
    ],
)
def test_an_age_is_told_in_words(seconds, words):
    assert in_words(seconds) == words


def test_every_reason_to_be_busy_has_words():
    assert set(BUSY_WORDS) == set(BUSY_REASONS)


def test_a_refusal_that_is_no_code_is_told_as_it_is():
    assert refusal("busy: just_reported") == "it has just reported"
    assert refusal("watchdog_cooldown: the stall watch wrote about #1") == "the stall watch wrote about #1"
    assert refusal("/home/x/ann.json: Is a directory") == "/home/x/ann.json: Is a directory"


def test_a_name_is_a_word_of_its_own_in_the_commands_that_are_shown():
    assert "ATM_IDENTITY='b; rm'" in refused("identity_untrusted", "crew", "b; rm")
    assert refused("invalid_payload", "crew", "bob", "note is too long") == "Not accepted: note is too long."


def test_the_figures_say_what_is_missing_and_who_alone_is_not_nudged():
    limits = Thresholds()
    young = Readiness("collecting_shadow_data", ["observed_too_briefly"], 2, 7, 0.2, 0.5, 0.0, 0.0, 0)
    assert readiness_lines(young, limits)[:2] == [
        "No nudges yet: atm first observes the team.",
        "  observed for 12 minutes (at least 60 minutes)",
    ]
    noisy = Readiness("blocked", ["stale_report_rate_high"], 2, 70, 3.0, 0.5, 0.0, 0.4, 10)
    assert readiness_lines(noisy, limits)[0] == "No nudges now: too many reports come too late for their agenda."
    ready = Readiness("shadow_ready", [], 2, 70, 3.0, 0.5, 2.0, 0.0, 0, ["ann"])
    assert readiness_lines(ready, limits)[0] == "Nudges are sent."
    assert readiness_lines(ready, limits)[-1] == "  not nudged, because their agenda is not stable: ann"
