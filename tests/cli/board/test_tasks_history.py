"""`atm tasks history`: everything that happened, also to tasks that are gone and by whoever does not tell."""

from __future__ import annotations

import json

import pytest
from tests.proving import proves


def events(tasks, *words):
    return tasks("history", *words, "--json").json["events"]


@pytest.fixture
def done(tasks):
    tasks("add", "First", "--as", "bob")
    tasks("claim", "--as", "ann")
    tasks("complete", "1", "--as", "ann")
    return tasks


def test_json_has_every_event_with_its_number_and_what_came_of_it(done):
    answer = done("history", "--json").json
    assert (answer["action"], answer["team"], answer["unreadable_lines"]) == ("history", "crew", 0)
    found = answer["events"]
    assert [event["seq"] for event in found] == [1, 2, 3]
    assert [event["actor"] for event in found] == ["bob", "ann", "ann"]
    assert [event["after"]["status"] for event in found] == ["pending", "in_progress", "completed"]


def test_people_see_a_line_for_each(done):
    lines = done("history").out.splitlines()
    assert len(lines) == 3
    assert "bob" in lines[0]
    assert "in progress → completed" in lines[2]


def test_one_task_and_the_last_few(done):
    done("add", "Second")
    assert [event["task"] for event in events(done, "2")] == ["2"]
    assert [event["task"] for event in events(done, "--limit", "2")] == ["1", "2"]
    assert events(done, "--limit", "0") == []


@proves("R002-8.0-116", "R003-6-07")
def test_it_outlives_the_file(done, atm):
    (atm.home / ".claude/tasks/crew/1.json").unlink()
    done("add", "Second")
    assert [event["type"] for event in events(done, "1")][-1] == "vanished"
    assert len(events(done, "1")) == 4
    assert "completed" in done("show", "1", code=1).err


def test_what_another_program_did_is_noticed_once(done, atm):
    path = atm.home / ".claude/tasks/crew/7.json"
    path.write_text(json.dumps({"id": "7", "subject": "Theirs", "status": "pending", "blocks": [], "blockedBy": []}))
    done("add", "Mine")
    done("add", "Mine too")
    assert [event["type"] for event in events(done, "7")] == ["observed"]
    path.write_text(path.read_text().replace("pending", "in_progress"))
    done("add", "And another")
    done("claim", "--as", "ann")
    assert [event["after"]["status"] for event in events(done, "7")] == ["pending", "in_progress"]


def test_a_task_that_never_was_is_an_error(done):
    assert "there is no task #9" in done("history", "9", code=1).err


@proves("R003-6-07")
def test_lines_that_cannot_be_read_are_counted(done, atm):
    path = atm.home / ".claude/teams/crew/tasks.jsonl"
    path.write_bytes(path.read_bytes() + b"\xff{torn\n")
    answer = done("history", "--json").json
    assert (len(answer["events"]), answer["unreadable_lines"]) == (3, 1)
    assert "1 line" in done("history").err
    done("add", "Second")
    assert len(events(done)) == 4


def test_comments_do_not_break_the_lines(done):
    done("comment", "1", "a\nb\x1b[2J")
    assert len(done("history").out.splitlines()) == 4
    assert "\x1b" not in done("history").out
