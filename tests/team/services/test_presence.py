"""Signs of life: what one says, what stays, and how they are judged."""

from __future__ import annotations

import pytest

from atm.team.rules.liveness import OFFLINE, ONLINE, UNKNOWN, Beat
from atm.team.services.presence import beat, liveness
from atm.testing import MemoryPresence

NOW = 1_788_000_000.0


@pytest.fixture
def presence() -> MemoryPresence:
    return MemoryPresence()


def test_a_beat_says_when_where_and_from_whom(presence):
    presence.up_for = 5.0
    assert beat(presence, "crew", "ann", NOW, "test") is None
    last = presence.last("crew", "ann")
    assert last is not None
    assert (last.at, last.source, last.host, last.uptime) == (NOW, "test", "here", 5.0)
    assert (last.pid, last.state, last.state_since) == (None, "", None)


def test_the_former_beat_is_given_back(presence):
    beat(presence, "crew", "ann", NOW, "one", state="idle")
    former = beat(presence, "crew", "ann", NOW + 1, "two")
    assert former is not None
    assert (former.source, former.state) == ("one", "idle")


def test_what_a_beat_does_not_say_stays(presence):
    presence.running.add(7)
    beat(presence, "crew", "ann", NOW, "one", pid=7, state="working")
    beat(presence, "crew", "ann", NOW + 60, "two")
    last = presence.last("crew", "ann")
    assert last is not None
    assert (last.pid, last.state, last.state_since, last.at) == (7, "working", NOW, NOW + 60)


def test_a_new_state_begins_now(presence):
    beat(presence, "crew", "ann", NOW, "one", state="working")
    beat(presence, "crew", "ann", NOW + 60, "two", state="idle")
    beat(presence, "crew", "ann", NOW + 90, "three", state="idle")
    last = presence.last("crew", "ann")
    assert last is not None
    assert (last.state, last.state_since) == ("idle", NOW + 60)


@pytest.mark.parametrize(
    ("host", "runs", "kept"), [("here", True, 7), ("here", False, None), ("elsewhere", True, None)]
)
def test_a_process_stays_only_while_it_runs_on_this_machine(presence, host, runs, kept):
    presence.beat("crew", "ann", Beat(at=NOW, source="x", host=host, pid=7))
    presence.running = {7} if runs else set()
    beat(presence, "crew", "ann", NOW + 1, "y")
    last = presence.last("crew", "ann")
    assert last is not None
    assert last.pid == kept


def test_a_new_process_takes_the_place_of_the_old_one(presence):
    presence.running = {7, 8}
    beat(presence, "crew", "ann", NOW, "x", pid=7)
    beat(presence, "crew", "ann", NOW, "x", pid=8)
    last = presence.last("crew", "ann")
    assert last is not None
    assert last.pid == 8


def test_nobody_is_known_without_a_beat(presence):
    assert liveness(presence, "crew", "ann", NOW).value == UNKNOWN


@pytest.mark.parametrize(
    ("wall", "up", "value"),
    [
        (600, 600, ONLINE),
        (601, 601, OFFLINE),
        (3600, 10, ONLINE),  # the wall clock jumped forward
        (-3600, 10, ONLINE),  # and backward
        (-3600, 601, OFFLINE),
    ],
)
def test_on_this_machine_both_clocks_must_agree_about_silence(presence, wall, up, value):
    beat(presence, "crew", "ann", NOW, "test")
    presence.up_for += up
    assert liveness(presence, "crew", "ann", NOW + wall).value == value


@pytest.mark.parametrize(("wall", "value"), [(600, ONLINE), (601, OFFLINE), (-3600, ONLINE)])
def test_a_beat_of_another_machine_is_judged_by_the_wall_clock_alone(presence, wall, value):
    presence.up_for = 10_000.0
    presence.beat("crew", "ann", Beat(at=NOW, source="x", host="elsewhere", pid=7, uptime=1.0))
    found = liveness(presence, "crew", "ann", NOW + wall)
    assert found.value == value
    assert bool(found.warning) is (wall < 0)


def test_a_process_that_is_gone_here_is_offline_at_once_and_one_elsewhere_is_not_asked_about(presence):
    presence.beat("crew", "ann", Beat(at=NOW, source="x", host="here", pid=7))
    presence.beat("crew", "bob", Beat(at=NOW, source="x", host="elsewhere", pid=7))
    assert liveness(presence, "crew", "ann", NOW).value == OFFLINE
    assert liveness(presence, "crew", "bob", NOW).value == ONLINE


def test_a_session_that_has_ended_is_offline_at_once_until_something_is_heard_again(presence):
    beat(presence, "crew", "ann", NOW, "claude hook SessionStart", state="idle")
    assert liveness(presence, "crew", "ann", NOW).value == ONLINE
    beat(presence, "crew", "ann", NOW + 1, "claude hook SessionEnd", state="ended")
    known = liveness(presence, "crew", "ann", NOW + 2)
    assert (known.value, known.source) == (OFFLINE, "session ended, claude hook SessionEnd")
    beat(presence, "crew", "ann", NOW + 3, "atm tasks claim")
    assert liveness(presence, "crew", "ann", NOW + 3).value == ONLINE
    beat(presence, "crew", "ann", NOW + 4, "claude hook SessionEnd", state="ended")
    assert liveness(presence, "crew", "ann", NOW + 4).value == OFFLINE


def test_after_a_restart_of_the_machine_an_old_beat_is_judged_by_the_wall_clock(presence):
    presence.up_for = 10_000.0
    beat(presence, "crew", "ann", NOW, "test")
    presence.up_for = 30.0
    assert liveness(presence, "crew", "ann", NOW + 601).value == OFFLINE


def test_after_a_restart_an_old_beat_stays_old_also_once_the_machine_has_run_for_longer_than_before():
    presence = MemoryPresence()
    presence.up_for = 100.0
    beat(presence, "crew", "ann", NOW, "test")
    presence.up_for, presence.boot = 150.0, "another"  # hours later
    assert liveness(presence, "crew", "ann", NOW + 7200).value == OFFLINE
