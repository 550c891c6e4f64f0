"""Sentences for people: no words of the machinery, one spelling of states, one and many; JSON stays as it was."""

from __future__ import annotations

import json

import pytest

from atm.domain.plain import counted
from atm.ui.views.letters import in_one_line, sentence


def test_an_assignment_is_a_sentence_and_json_is_as_it_was(tasks, quickly):
    tasks("add", "Write the parser", "--description", "By hand.\nNo tools.", "--owner", "bob", "--as", "ann")
    said = quickly("read", "bob").out
    assert "    You have a new task: #1 Write the parser\n    By hand.\n    No tools.\n" in said
    assert "taskId" not in said
    text = json.loads(quickly("read", "bob", "--json").json["messages"][0]["text"])
    assert (text["type"], text["taskId"], text["assignedBy"]) == ("task_assignment", "1", "ann")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"type": "task_assignment", "task_id": "3", "subject": "x\x1b[31m"}, "You have a new task: #3 x"),
        ({"type": "shutdown_request", "reason": "all is done"}, "Please finish what you are at and end: all is done"),
        ({"type": "shutdown_request"}, "Please finish what you are at and end"),
        ({"type": "plan_approval_request", "plan": "first this"}, "Please approve my plan first this"),
    ],
)
def test_what_programs_write_is_said_in_words(fields, said):
    assert in_one_line(json.dumps(fields)).startswith(said)
    assert "\x1b" not in in_one_line(json.dumps(fields))


def test_what_grants_something_is_shown_field_by_field():
    found = sentence(json.dumps({"type": "permission_response", "request_id": "7", "approved": True}))
    assert found == ["request_id: 7", "approved: True"]
    assert sentence("hello {name}") is None
    assert sentence(json.dumps({"type": "task_assignment", "subject": "{reason}"})) == [
        "You have a new task: # {reason}"
    ]


def test_a_state_has_one_spelling_for_people_and_any_may_be_typed(tasks, quickly):
    tasks("add", "Write the parser")
    tasks("claim", "1", "--as", "bob")
    for words in (["tasks"], ["tasks", "show", "1"], ["tasks", "history"], ["status"], ["teams", "show", "crew"]):
        said = quickly(*words).out
        assert "in progress" in said
        assert "in_progress" not in said
    for spelling in ("in progress", "in_progress", "in-progress", "In Progress"):
        assert "#1" in tasks("list", "--state", spelling).out
    assert tasks("list", "--json").json["tasks"][0]["state"] == "in_progress"


@pytest.mark.parametrize(("number", "said"), [(0, "0 tasks"), (1, "1 task"), (2, "2 tasks"), (1000, "1,000 tasks")])
def test_one_and_many(number, said):
    assert counted(number, "task") == said


def test_systemctl_is_not_advised_where_there_is_none(crew):
    done = crew("daemon", "install", code=2, env={"PATH": "/nonexistent"})
    assert "atm daemon start" in done.out
    assert "run: systemctl" not in done.out


MACHINERY = ("lease", "shadow", "phase2", "phase 2", "fingerprint churn")


def test_work_sync_has_no_words_of_the_machinery(tasks, quickly):
    tasks("add", "Write the parser", "--owner", "bob")
    for words in (["sync"], ["sync", "agenda", "bob"], ["sync", "diagnose", "bob"], ["sync", "metrics"]):
        said = quickly(*words).out.replace("released", "").casefold()
        assert [word for word in MACHINERY if word in said] == []
        assert max(map(len, said.splitlines())) < 120
