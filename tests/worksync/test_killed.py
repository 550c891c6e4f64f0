"""
kill -9 of the daemon around the one step that cannot be undone: a nudge is inserted, and then marked as inserted.

Locks that the test holds stop the daemon exactly there. Five minutes later the claim of the dead one has worn off, and
whoever is next finds out what happened: the message is there once, and the outbox says so.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.delivery.conftest import until
from tests.proving import proves
from tests.worksync.conftest import LONG, Crew

from atm.files.adapters.disk import RealDisk
from atm.files.adapters.locking import Locks
from atm.files.adapters.machine import RealChance, RealClock, host_name
from atm.files.ports.records import OUTBOX


def wait_for_insert(crew: Crew) -> None:
    """The inbox is held: the mark stays for as long as the daemon waits for it."""
    path = Path(crew.layout.records(crew.team, OUTBOX))
    until(lambda: path.exists() and b'"inserting"' in path.read_bytes(), LONG, lambda: crew.trouble("ann"))


def kill_before_insert(crew: Crew) -> None:
    """Marked as about to be inserted; the inbox is held by somebody, so it is not."""
    lock = crew.atm.inbox("ann").with_suffix(".json.lock")
    lock.mkdir()
    crew.house.start_daemon(wait=False)
    wait_for_insert(crew)
    crew.house.kill_daemon()
    lock.rmdir()
    assert crew.nudges("ann") == []


def kill_after_insert(crew: Crew) -> None:
    """Inserted; the outbox is held by somebody, so it does not say so."""
    locks = Locks(RealDisk(), RealClock(), RealChance(), crew.layout.locks, pid=os.getpid(), host=host_name())
    lock = crew.atm.inbox("ann").with_suffix(".json.lock")
    lock.mkdir()
    crew.house.start_daemon(wait=False)
    wait_for_insert(crew)
    with locks.private(crew.layout.records(crew.team, OUTBOX)):
        lock.rmdir()
        until(lambda: crew.nudges("ann"), LONG, lambda: crew.house.said)
        crew.house.kill_daemon()
    assert crew.outbox("ann")[0]["inserting"] is True


def kill_at_once(crew: Crew) -> None:
    """Wherever it happens to be; on a busy machine it may have done everything before we saw the mark."""
    path = Path(crew.layout.records(crew.team, OUTBOX))
    crew.house.start_daemon(wait=False)
    until(lambda: path.exists() or crew.house.answers, LONG, lambda: crew.house.said)
    end = time.monotonic() + LONG
    while not (path.exists() and b'"inserting"' in path.read_bytes()) and not crew.nudges("ann"):  # no time for a nap
        assert time.monotonic() < end, crew.trouble("ann")
    crew.house.kill_daemon()
    lock = crew.atm.inbox("ann").with_suffix(".json.lock")
    if lock.exists():  # its maker had no time to sign it: it looks foreign, and is broken late (D2)
        os.utime(lock, (time.time() - 60, time.time() - 60))


KILLS = {"before the insert": kill_before_insert, "after the insert": kill_after_insert, "somewhere": kill_at_once}


@proves("R002-8.0-99", "R002-15.2-18", "R002-16.7-56", "R002-17.3-06", "R002-24-03", "R002-26-22")
@pytest.mark.parametrize("where", KILLS)
def test_killed_around_the_insert_the_nudge_comes_once(alone: Crew, where: str) -> None:
    alone.assign("ann")
    KILLS[where](alone)
    alone.time_passed(301)
    alone.house.start_daemon()
    alone.until_nudged("ann")
    until(lambda: [one["status"] for one in alone.outbox("ann")] == ["delivered"], LONG, lambda: alone.trouble("ann"))
    alone.looked_again("ann")
    assert len(alone.nudges("ann")) == 1
    if where == "after the insert":
        assert alone.outbox("ann")[0]["lastError"] == "it was there already"


@proves("R002-6-16")
def test_what_a_dead_daemon_may_have_sent_is_looked_for_and_not_sent_again(alone: Crew) -> None:
    """Its claim names a process that is gone, so nobody waits until it wears off."""
    alone.assign("ann")
    kill_after_insert(alone)
    alone.house.start_daemon()
    until(lambda: [one["status"] for one in alone.outbox("ann")] == ["delivered"], LONG, lambda: alone.trouble("ann"))
    alone.looked_again("ann")
    assert alone.nudge("ann", code=3)["nudged"] is False
    assert (len(alone.nudges("ann")), alone.outbox("ann")[0]["lastError"]) == (1, "it was there already")


def test_an_agent_that_read_the_nudge_of_a_dead_daemon_is_not_told_again(alone: Crew) -> None:
    """It was inserted and read; the row is still known by its id."""
    alone.assign("ann")
    kill_after_insert(alone)
    ann = alone.agent("ann", "claude")
    assert sum(row["text"].count("Work sync check") for row in ann.rows("context")) == 1
    alone.time_passed(301)
    alone.house.start_daemon()
    until(lambda: [one["status"] for one in alone.outbox("ann")] == ["delivered"], LONG, lambda: alone.trouble("ann"))
    ann.prompt("go on")
    until(lambda: ann.rows("turn-end"), why=ann.rows)
    assert sum(row["text"].count("Work sync check") for row in ann.rows("context", "blocked")) == 1


@proves("R002-1-68", "R002-6-15", "R002-15.2-04", "R002-15.2-10")
def test_work_that_changed_while_the_daemon_was_dead_is_nudged_about_as_it_is_now(alone: Crew) -> None:
    alone.assign("ann")
    kill_before_insert(alone)
    alone.assign("ann", "Write its tests")
    alone.time_passed(301)
    alone.house.start_daemon()
    alone.until_nudged("ann")
    assert alone.nudges("ann")[0]["taskRefs"] == ["#1", "#2"]
    until(
        lambda: sorted(one["status"] for one in alone.outbox("ann")) == ["delivered", "superseded"],
        LONG,
        lambda: alone.trouble("ann"),
    )


def test_an_agent_over_mcp_goes_on_with_the_next_daemon(alone: Crew) -> None:
    alone.house.start_daemon()
    alone.assign("ann")
    ann = alone.mcp("ann")
    alone.house.kill_daemon()
    alone.house.start_daemon()
    seen = ann.call("task_briefing")["structuredContent"]["workSync"]
    said = {key: seen[key] for key in ("agendaFingerprint", "reportToken")}
    answer = ann.call("member_work_sync_report", **said, **{"from": "ann"}, state="still_working")["structuredContent"]
    assert (answer["ok"], "pendingValidation" in answer, alone.has_lease("ann")) == (True, False, True)


def test_the_loop_rests_while_a_dead_daemons_claim_holds_up_the_next_nudge(alone: Crew) -> None:
    alone.assign("ann")
    kill_before_insert(alone)
    alone.assign("ann", "Write its tests")
    alone.house.start_daemon()
    until(lambda: len(alone.outbox("ann")) == 2, LONG, lambda: alone.trouble("ann"))
    until(lambda: rests(alone), LONG, lambda: alone.house.loop("worksync"))


def test_the_loop_rests_while_an_item_waits_in_a_team_that_was_stopped(alone: Crew) -> None:
    alone.assign("ann")
    alone.plan_only("ann")
    alone.stop_team()
    alone.house.start_daemon()
    before = alone.heard()
    alone.touch("ann")
    until(lambda: alone.heard() > before, LONG)
    until(lambda: rests(alone), LONG, lambda: alone.house.loop("worksync"))


def rests(crew: Crew) -> bool:
    """Is the next round of the loop some time away?"""
    return (crew.house.loop("worksync")["next_in"] or 0.0) > 2.0
