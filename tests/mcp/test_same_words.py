"""What CLI, MCP, plugins and the snapshot say of the same moment: the same (D28)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.mcp.crew import Crew

from atm.roster.services.members import add_member
from atm.team.rules.team import Member
from atm.teamd.plugins.inside.mail import overview
from atm.wiring.snapshot import build_snapshots

MOVING = ("state_age_seconds", "liveness_age_seconds")


@pytest.fixture
def crew(layout) -> Crew:
    made = Crew(layout)
    made.add()
    made.add()
    made.call("ann", "board_claim")
    made.call("bob", "mail_send", to="ann", text="hello")
    add_member(made.room, "crew", Member("away", is_active=False))
    return made


@pytest.fixture
def cli(atm, crew):
    """The same home, from the command line."""
    atm.environment |= {"ATM_DAEMON_AUTOSTART": "0"}

    def say(*words: str) -> Any:
        return atm(*words, "--team", "crew", "--json").json

    return say


def still(member: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: member.get(key) for key in keys if key not in MOVING}


def by_name(members: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in members}


def test_every_surface_says_the_same_of_members_tasks_and_mail(crew, cli):
    (snapshot,) = cli("snapshot")["teams"]
    members, status = by_name(cli("members")["members"]), cli("status")
    in_status, told = by_name(status["members"]), by_name(crew.call("", "team_status")["members"])
    plugin = {
        one.name: one for one in overview(crew.room, crew.boardroom.tasks, crew.room.rosters.load("crew")).members
    }
    facts = ("kind", "state", "state_source", "liveness", "liveness_source")
    for one in snapshot["members"]:
        name = one["name"]
        assert still(members[name], *facts) == still(one, *facts)
        assert still(in_status[name], *facts) == still(one, *facts)
        assert still(told[name], *facts) == still(one, *facts)
        assert plugin[name].liveness == one["liveness"]
        assert (in_status[name]["unread"], plugin[name].unread.count) == (one["mail"]["unread"], one["mail"]["unread"])
    counts = {state: count for state, count in snapshot["task_counts"].items() if count}
    assert crew.call("", "team_status")["tasks"] == counts
    assert {state: count for state, count in status["tasks"].items() if count} == counts
    listed = {one["id"]: one for one in cli("tasks", "list")["tasks"]}
    for task in snapshot["tasks"]:
        assert {key: listed[task["id"]][key] for key in task} == task


def test_old_names_of_tasks_are_there_beside_the_new_ones(crew, cli):
    for task in cli("tasks", "list")["tasks"]:
        assert (task["blockedBy"], task["maxRetries"]) == (task["blocked_by"], task["max_retries"])


def test_a_snapshot_has_the_same_version_until_something_changes(crew, layout):
    snapshots = build_snapshots(layout, crew.settings, crew.boardroom, {})
    one = snapshots.of("crew")["version"]
    assert snapshots.of("crew")["version"] == one
    crew.call("ann", "mail_send", to="bob", text="hello")
    assert snapshots.of("crew")["version"] == int(str(one)) + 1


def test_a_watch_prints_a_line_for_each_change_and_a_last_one(crew, atm):
    atm.environment |= {"ATM_DAEMON_AUTOSTART": "0"}
    done = atm("snapshot", "--watch", "--for", "0.2", "--json")
    *lines, last = done.out.splitlines()
    assert len(lines) == 1
    assert '"action": "snapshot"' in last
