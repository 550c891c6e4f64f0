"""`atm status`: a team at a glance."""

from __future__ import annotations

import json

from tests.proving import proves


@proves("R001-4.1-10", "R001-4.3-11", "R001-4.3-13", "R001-4.3-14", "R001-4.3-15", "R001-4.3-16")
def test_people_see_team_members_mail_tasks_and_spool(crew, block):
    crew("send", "ann", "hello")
    block("bob")
    crew("send", "bob", "waits")
    out = crew("status").out
    lines = [line.split() for line in out.splitlines()]
    assert out.startswith("Team: crew")
    assert str(crew.home / ".claude/teams/crew/config.json") in out
    assert ["ann", "general-purpose", "unknown", "unknown", "1"] in [line[:5] for line in lines]
    assert ["bob", "general-purpose", "unknown", "unknown", "?", "unreadable"] in lines
    assert "tasks: 0 ready, 0 in progress, 0 done" in out
    assert "spool: 1 waiting" in out


def test_json_has_sources_and_the_time_of_looking(crew):
    status = crew("status", "--json").json
    assert status["source"].endswith("config.json")
    assert status["read_at"].endswith("Z")
    ann = status["members"][0]
    assert {"state", "state_source", "state_age_seconds", "liveness", "liveness_source", "unread", "total"} <= set(ann)


def test_what_cannot_be_counted_is_null_not_zero(crew):
    crew.inbox("ann").write_text("{")
    assert crew("status", "--json").json["members"][0]["unread"] is None


@proves("R001-2.2-11", "R001-2.3-04", "R001-4.3-16")
def test_tasks_are_counted_by_their_status(crew):
    folder = crew.home / ".claude/tasks/crew"
    folder.mkdir(parents=True)
    for number, status in enumerate(["pending", "pending", "in_progress", "completed", "strange"]):
        (folder / f"{number}.json").write_text(json.dumps({"id": str(number), "status": status}))
    (folder / ".highwatermark").write_text("5")
    (folder / "broken.json").write_text("{")
    tasks = crew("status", "--json").json["tasks"]
    assert (tasks["pending"], tasks["in_progress"], tasks["completed"]) == (2, 1, 1)


@proves("R001-4.3-12", "R001-4.3-13")
def test_description_and_creation_are_shown(atm):
    atm("teams", "create", "crew", "--description", "the parser", env={"ATM_IDENTITY": "ann"})
    status = atm("status", "crew", "--json").json
    assert status["description"] == "the parser"
    assert status["createdAt"].endswith("Z")
    assert "no members yet" in atm("status").out


@proves("R001-4.3-12")
def test_a_team_can_be_named_twice_over(crew):
    assert crew("status", "crew", "--json").json["team"] == crew("status", "--team", "crew", "--json").json["team"]


def test_looking_marks_nothing(crew):
    crew("send", "ann", "hello")
    crew("status", env={"ATM_IDENTITY": "ann"})
    assert crew.rows("ann")[0]["read"] is False
