"""Who is away, what becomes of the others: the tables of seed 003, sections 3 and 7, at their boundaries."""

from __future__ import annotations

import pytest
from tests.proving import proves

from atm.sessions.rules.policy import SessionPolicy
from atm.sessions.rules.timeouts import (
    AWAY,
    BLOCKED,
    COMPLETE,
    HERE,
    IDLE,
    IN_PROGRESS,
    OVER,
    SHUTDOWN,
    ZOMBIE,
    lead_standing,
    teammate_status,
    why_task_returns,
)
from atm.team.rules.lead_session import FORCED, PRESENT, REATTACHED, TAKEN_OVER, LeadSession, may_attach

POLICY, NOW = SessionPolicy(), 1_000_000.0
MINUTE = 60.0


def led(away: float | None = None) -> LeadSession:
    return LeadSession(session="one", away_since=None if away is None else NOW - away)


@proves("R003-3.2-03")
@pytest.mark.parametrize(
    ("age", "expected"),
    [(0.0, HERE), (4 * MINUTE + 59, HERE), (5 * MINUTE, HERE), (5 * MINUTE + 1, AWAY), (3600.0, AWAY), (-30.0, HERE)],
)
def test_a_lead_is_away_after_more_than_five_minutes_and_never_by_a_stamp_in_the_future(age, expected):
    assert lead_standing(led(), age, NOW, POLICY) == expected


@proves("R003-3.2-11", "R003-6-03")
@pytest.mark.parametrize(("away", "expected"), [(29 * MINUTE, AWAY), (30 * MINUTE, AWAY), (31 * MINUTE, OVER)])
def test_its_teammates_wait_for_half_an_hour_from_the_moment_at_which_that_was_noticed(away, expected):
    assert lead_standing(led(away), 3600.0, NOW, POLICY) == expected


def test_a_team_that_nobody_ever_said_to_lead_is_never_held_up():
    assert lead_standing(LeadSession(), 10 * 3600.0, NOW, POLICY) == HERE
    assert lead_standing(led(), None, NOW, POLICY) == HERE


@proves(
    "R003-1.1-10",
    "R003-7-teammate-01",
    "R003-7-teammate-02",
    "R003-7-teammate-08",
    "R003-7-teammate-12",
    "R003-7-teammate-13",
)
@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"is_online": True}, IDLE),
        ({"is_online": False}, IDLE),
        ({"is_online": True, "task": "1"}, IN_PROGRESS),
        ({"is_online": False, "task": "1"}, IN_PROGRESS),
        ({"is_online": True, "task": "1", "waits": True}, BLOCKED),
        ({"is_online": True, "has_finished": True, "is_work_left": True}, IDLE),
        ({"is_online": True, "has_finished": True, "is_work_left": False}, COMPLETE),
        ({"is_online": True, "task": "1", "lead": AWAY}, ZOMBIE),
        ({"is_online": True, "lead": AWAY}, ZOMBIE),
        ({"is_online": False, "task": "1", "lead": AWAY}, IN_PROGRESS),
        ({"is_online": True, "task": "1", "lead": OVER}, SHUTDOWN),
        ({"is_online": False, "is_over": True}, SHUTDOWN),
    ],
)
def test_the_status_of_a_teammate_is_the_first_row_of_the_table_that_fits(facts, expected):
    assert teammate_status(**facts) == expected


@pytest.mark.parametrize(("minutes", "returns"), [(9 + 59 / 60, False), (10, False), (10 + 1 / 60, True)])
def test_a_task_that_waits_for_the_lead_returns_after_ten_minutes(minutes, returns):
    assert bool(why_task_returns(away=minutes * MINUTE, waits=True, idle=None, policy=POLICY)) is returns


@pytest.mark.parametrize(("minutes", "returns"), [(9 + 59 / 60, False), (10, False), (10 + 1 / 60, True)])
def test_an_idle_zombie_loses_its_task_after_ten_minutes(minutes, returns):
    assert bool(why_task_returns(away=3600.0, waits=False, idle=minutes * MINUTE, policy=POLICY)) is returns


def test_who_was_idle_before_the_lead_went_away_has_ten_minutes_from_then():
    assert why_task_returns(away=MINUTE, waits=False, idle=3600.0, policy=POLICY) == ""


@proves("R003-goal-02", "R003-3.2-09", "R003-3.3-01")
def test_who_works_keeps_its_task_until_the_bound():
    assert why_task_returns(away=29 * MINUTE, waits=False, idle=None, policy=POLICY) == ""


@proves("R003-1.1-06")
@pytest.mark.parametrize(
    ("recorded", "age", "force", "expected"),
    [
        ("me", 0.0, False, REATTACHED),
        ("me", 9999.0, False, REATTACHED),
        ("", None, False, TAKEN_OVER),
        ("other", None, False, TAKEN_OVER),
        ("other", 0.0, False, PRESENT),
        ("other", -60.0, False, PRESENT),
        ("other", 30 * MINUTE, False, PRESENT),
        ("other", 30 * MINUTE + 1, False, TAKEN_OVER),
        ("other", 0.0, True, FORCED),
    ],
)
def test_who_may_lead_is_decided_by_who_led_and_when_they_were_seen(recorded, age, force, expected):
    assert may_attach(recorded, "me", age, longest=POLICY.takeover, force=force) == expected
