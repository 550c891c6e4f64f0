"""Work-sync beside the stall watch, before it may send anything, and as those see it who only look."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from tests.delivery.conftest import until
from tests.worksync.conftest import LONG, Crew

STALLED = "No progress on #1"


def alerts(crew: Crew, member: str) -> list[dict[str, Any]]:
    return [row for row in crew.atm.rows(member) if STALLED in row["text"]]


# The stall watch.


def test_after_a_word_of_the_stall_watch_work_sync_is_quiet_for_a_while(crew: Crew) -> None:
    crew.settle_for(quiet=3600.0, stall_minutes=0.001)  # work-sync looks at nobody before the stall watch has spoken
    id = crew.assign("ann")
    crew.claim("ann", id)
    crew.agent("ann", "claude")  # it has begun the task, and is idle
    crew.house.start_daemon()
    until(lambda: crew.house.wake("stalls") and alerts(crew, "ann"), LONG, lambda: crew.house.said)
    crew.house.stop_daemon()
    crew.settle_for(stall_minutes=0.001)
    crew.house.start_daemon()
    until(lambda: cooldown(crew) == "true", LONG, lambda: crew.trouble("ann"))
    assert (crew.stored("ann")["state"], crew.nudges("ann"), crew.outbox()) == ("needs_sync", [], [])
    assert "the stall watch wrote about #1, held by ann" in crew.nudge("ann", code=3)["why"]
    crew.settle_for()
    crew.later(601)
    crew.until_nudged("ann")
    assert len(alerts(crew, "ann")) == 1


def cooldown(crew: Crew) -> str:
    found = {one["type"]: one["status"] for one in crew.stored("ann").get("conditions", [])}
    return str(found.get("SuppressedCooldown"))


def test_a_lease_does_not_keep_the_stall_watch_quiet(crew: Crew) -> None:
    crew.settle_for(stall_minutes=0.02)
    id = crew.assign("ann")
    crew.claim("ann", id)
    assert crew.report("ann", "still_working")["pendingValidation"] is True, "noted, so that no nudge comes before it"
    crew.house.start_daemon()
    until(lambda: crew.has_lease("ann"), LONG, lambda: crew.trouble("ann"))
    until(lambda: crew.house.wake("stalls") and alerts(crew, "ann"), LONG, lambda: crew.house.said)
    assert crew.has_lease("ann"), "and the watch does not touch the lease"
    assert crew.report("ann", "still_working", "", "--note", "still on it")["ok"] is True
    crew.house.another_round("stalls")
    assert len(alerts(crew, "ann")) == 1, "a report is no progress: it is the same stall, and was told"
    assert crew.nudges("ann") == []


# Before anything may be sent.


def test_as_long_as_too_little_was_observed_nobody_is_nudged(crew: Crew) -> None:
    crew.settle_for(least_looks=1000)
    crew.house.start_daemon()
    crew.assign("ann")
    crew.until_state("ann", "needs_sync")
    crew.looked_again("ann")
    assert (crew.nudges("ann"), crew.outbox()) == ([], [])
    ready = crew.run("lena", "sync", "metrics")["phase2Readiness"]
    assert (ready["state"], ready["reasons"]) == ("collecting_shadow_data", ["too_few_evaluations"])
    assert crew.nudge("ann", code=3)["why"] == "No nudge: phase2_not_ready."


# Looking.


def test_looking_changes_nothing(crew: Crew) -> None:
    crew.assign("ann")
    crew.run("ann", "sync", "agenda")  # makes the team's secret, once
    before = contents(crew)
    for words in (("status",), ("agenda",), ("diagnose", "ann"), ("metrics",), ("watch", "--for", "0.2")):
        crew.atm("sync", *words, "--json", env={"ATM_IDENTITY": "ann", "ATM_TEAM": crew.team})
    assert contents(crew) == before


def contents(crew: Crew) -> dict[str, str]:
    """Every file of the team and its board."""
    roots = (crew.layout.team(crew.team), crew.layout.tasks(crew.team))
    paths = [Path(folder) / name for root in roots for folder, _, names in os.walk(root) for name in names]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def test_whoever_watches_sees_every_change(crew: Crew) -> None:
    crew.house.start_daemon()
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
    assert labels() == ["Synced", "Needs sync", "Working", "Synced", "Unknown", "Synced"]


def test_every_surface_shows_the_same(crew: Crew) -> None:
    crew.house.start_daemon()
    crew.assign("ann")
    crew.report("ann", "still_working")
    lena = crew.mcp("lena")
    over_mcp = lena.call("member_work_sync_status", member="ann")["structuredContent"]
    (by_command,) = crew.run("lena", "sync", "status", "ann")["members"]
    assert over_mcp == {key: by_command[key] for key in over_mcp}
    crew.until_state("ann", over_mcp["state"])
    assert crew.stored("ann")["agendaFingerprint"] == over_mcp["agendaFingerprint"]
