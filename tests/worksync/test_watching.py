"""Work-sync beside the stall watch, before it may send anything, and as those see it who only look."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from tests.delivery.conftest import until
from tests.proving import proves
from tests.worksync.conftest import LONG, Crew

STALLED = "No progress on #1"


def alerts(crew: Crew, member: str) -> list[dict[str, Any]]:
    return [row for row in crew.atm.rows(member) if STALLED in row["text"]]


# The stall watch.


@proves("R002-1-47", "R002-16.5-09", "R002-26-27", "R002-27.4-12")
def test_after_a_word_of_the_stall_watch_work_sync_is_quiet_for_a_while(alone: Crew) -> None:
    alone.settle_for(quiet=3600.0, stall_minutes=0.001)  # work-sync looks at nobody before the stall watch has spoken
    id = alone.assign("ann")
    alone.claim("ann", id)
    alone.agent("ann", "claude")  # it has begun the task, and is idle
    alone.house.start_daemon()
    until(lambda: alone.house.wake("stalls") and alerts(alone, "ann"), LONG, lambda: alone.house.said)
    alone.house.stop_daemon()
    alone.settle_for(stall_minutes=0.001)
    alone.house.start_daemon()
    until(lambda: cooldown(alone) == "true", LONG, lambda: alone.trouble("ann"))
    assert (alone.stored("ann")["state"], alone.nudges("ann"), alone.outbox()) == ("needs_sync", [], [])
    assert "the stall watch wrote about #1, held by ann" in alone.nudge("ann", code=3)["why"]
    alone.settle_for()
    alone.later(601)
    alone.until_nudged("ann")
    assert len(alerts(alone, "ann")) == 1


def cooldown(crew: Crew) -> str:
    found = {one["type"]: one["status"] for one in crew.stored("ann").get("conditions", [])}
    return str(found.get("SuppressedCooldown"))


@proves(
    "R002-4.4-05",
    "R002-8.0-61",
    "R002-10.3-04",
    "R002-16.1-01",
    "R002-16.1-06",
    "R002-16.1-09",
    "R002-16.5-05",
    "R002-20.5-09",
    "R002-26-17",
    "R002-28-23",
)
def test_a_lease_does_not_keep_the_stall_watch_quiet(alone: Crew) -> None:
    alone.settle_for(stall_minutes=0.02)
    id = alone.assign("ann")
    alone.claim("ann", id)
    assert alone.report("ann", "still_working")["pendingValidation"] is True, "noted, so that no nudge comes before it"
    alone.house.start_daemon()
    until(lambda: alone.has_lease("ann"), LONG, lambda: alone.trouble("ann"))
    until(lambda: alone.house.wake("stalls") and alerts(alone, "ann"), LONG, lambda: alone.house.said)
    assert alone.has_lease("ann"), "and the watch does not touch the lease"
    assert alone.report("ann", "still_working", "", "--note", "still on it")["ok"] is True
    alone.house.another_round("stalls")
    assert len(alerts(alone, "ann")) == 1, "a report is no progress: it is the same stall, and was told"
    assert alone.nudges("ann") == []


# Before anything may be sent.


@proves(
    "R002-1-43",
    "R002-11.2.1-12",
    "R002-15-01",
    "R002-20.5-06",
    "R002-21-18",
    "R002-21-19",
    "R002-21-20",
    "R002-22-02",
    "R002-22-25",
    "R002-25-09",
    "R002-26-16",
    "R002-27.4-01",
    "R002-28-12",
)
def test_as_long_as_too_little_was_observed_nobody_is_nudged(alone: Crew) -> None:
    alone.settle_for(least_looks=1000)
    alone.house.start_daemon()
    alone.assign("ann")
    alone.until_state("ann", "needs_sync")
    alone.looked_again("ann")
    assert (alone.nudges("ann"), alone.outbox()) == ([], [])
    ready = alone.run("lena", "sync", "metrics")["phase2Readiness"]
    assert (ready["state"], ready["reasons"]) == ("collecting_shadow_data", ["too_few_evaluations"])
    assert alone.nudge("ann", code=3)["code"] == "phase2_not_ready"


# Looking.


@proves("R002-21-69", "R002-27.1-42")
def test_looking_changes_nothing(alone: Crew) -> None:
    alone.assign("ann")
    alone.run("ann", "sync", "agenda")  # makes the team's secret, once
    before = contents(alone)
    for words in (("status",), ("agenda",), ("diagnose", "ann"), ("metrics",), ("watch", "--for", "0.2")):
        alone.atm("sync", *words, "--json", env={"ATM_IDENTITY": "ann", "ATM_TEAM": alone.team})
    assert contents(alone) == before


def contents(crew: Crew) -> dict[str, str]:
    """Every file of the team and its board."""
    roots = (crew.layout.team(crew.team), crew.layout.tasks(crew.team))
    paths = [Path(folder) / name for root in roots for folder, _, names in os.walk(root) for name in names]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def test_whoever_watches_sees_every_change(crew: Crew) -> None:
    watch = crew.follow("sync", "watch", "--json")

    def labels() -> list[str]:
        return [one["label"] for one in watch.all if one["member"] == "ann"]

    until(lambda: labels() == ["Synced"], LONG, labels)
    id = crew.assign("ann")
    until(lambda: labels()[-1] == "Needs sync", LONG, labels)
    crew.report("ann", "still_working")
    until(lambda: labels()[-1] == "Working", LONG, labels)
    crew.run("lena", "tasks", "cancel", id)
    until(lambda: labels()[-1] == "Synced", LONG, labels)
    crew.stop_team()
    until(lambda: labels()[-1] == "Unknown", LONG, labels)
    crew.resume_team()
    until(lambda: labels()[-1] == "Synced", LONG, labels)
    last_need = len(labels()) - labels()[::-1].index("Needs sync") - 1  # until then ann was busy with its new mail
    assert labels()[0] == "Synced"
    assert labels()[last_need:] == ["Needs sync", "Working", "Synced", "Unknown", "Synced"]


@proves("R002-3.1-09", "R002-3.3-04", "R002-6-12", "R002-13.1-14", "R002-16.6-17", "R002-20.5-03", "R002-21-15")
def test_every_surface_shows_the_same(crew: Crew) -> None:
    crew.assign("ann")
    crew.report("ann", "still_working")
    lena = crew.mcp("lena")
    over_mcp = lena.call("member_work_sync_status", member="ann")["structuredContent"]
    (by_command,) = crew.run("lena", "sync", "status", "ann")["members"]
    assert over_mcp == {key: by_command[key] for key in over_mcp}
    crew.until_state("ann", over_mcp["state"])
    assert crew.stored("ann")["agendaFingerprint"] == over_mcp["agendaFingerprint"]
