"""What becomes of tasks when members come and go, and when a team comes back from a backup."""

from __future__ import annotations

import pytest


@pytest.fixture
def crew(atm):
    atm.team("crew", "ann", "bob")
    atm("tasks", "add", "one")
    atm("tasks", "add", "two", "--owner", "ann")
    return atm


def states(atm) -> dict[str, tuple[str, str | None]]:
    return {task["id"]: (task["state"], task["owner"]) for task in atm("tasks", "list", "--json").json["tasks"]}


def test_whoever_is_removed_holds_nothing_any_more(crew):
    crew("tasks", "claim", "1", "--as", "ann")
    done = crew("teams", "remove-member", "crew", "ann", "--force", "--json").json
    assert done["released_tasks"] == ["1", "2"]
    assert states(crew) == {"1": ("pending", None), "2": ("pending", None)}


def test_whoever_leaves_gives_their_tasks_back(crew):
    crew("tasks", "claim", "1", "--as", "ann")
    assert "back on the board: #1 #2" in crew("teams", "leave", "crew", "--as", "ann", "--force").out
    assert crew("tasks", "claim", "--as", "bob", "--json").json["task"]["id"] == "1"


def test_a_task_of_somebody_who_is_neither_on_the_roster_nor_was_ever_heard_of_is_taken_back(crew):
    crew("tasks", "claim", "1", "--as", "ann")
    (crew.home / ".claude/teams/crew/heartbeats/ann.json").unlink()
    config = crew.home / ".claude/teams/crew/config.json"
    config.write_text(config.read_text().replace('"name": "ann"', '"name": "eve"'))
    done = crew("tasks", "claim", "--as", "bob", "--json").json
    assert (done["released"], done["task"]["id"]) == (["1"], "1")


def test_a_task_that_was_finished_since_the_backup_does_not_come_back_as_open(crew):
    crew("teams", "backup", "crew")
    crew("tasks", "claim", "1", "--as", "bob")
    crew("tasks", "complete", "1", "--as", "bob")
    (crew.home / ".claude/tasks/crew/1.json").unlink()  # as Claude Code does with finished lists
    (crew.home / ".claude/tasks/crew/2.json").unlink()
    crew("tasks", "comment", "2", "x", code=1)
    done = crew("teams", "restore", "crew", "--json").json
    assert done["tasks_restored"] == 1
    assert states(crew) == {"2": ("pending", "ann")}


def test_a_first_claim_makes_a_team_active(crew):
    assert crew("teams", "show", "crew", "--json").json["lifecycle"]["state"] == "pending"
    crew("tasks", "claim", "--as", "bob")
    assert crew("teams", "show", "crew", "--json").json["lifecycle"]["state"] == "active"


def test_a_completed_team_takes_no_tasks_and_gives_none(crew):
    crew("teams", "archive", "crew", "--force")
    for words in (["add", "three"], ["claim", "--as", "bob"], ["comment", "1", "x"], ["cancel", "1"]):
        assert "complete" in crew("tasks", *words, code=1).err
    assert set(states(crew)) == {"1", "2"}
    assert crew("tasks", "history", "1", "--json").json["events"]
