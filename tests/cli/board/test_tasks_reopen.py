"""`atm tasks reopen`: the way back from failed, cancelled and completed."""

from __future__ import annotations

import json
from typing import Any

import pytest


def ended(tasks, how: str) -> None:
    tasks("add", "First")
    tasks("add", "Second", "--depends-on", "1")
    if how == "cancelled":
        tasks("cancel", "1")
        return
    tasks("claim", "1", "--as", "ann")
    if how == "failed":
        tasks("fail", "1", "--error", "exit 2:\nno such file", "--final", "--as", "ann")
    else:
        tasks("complete", "1", "--as", "ann")


def shown(tasks, id: str) -> dict[str, Any]:
    task: dict[str, Any] = tasks("show", id, "--json").json["task"]
    return task


@pytest.mark.parametrize("how", ["failed", "cancelled", "completed"])
@pytest.mark.parametrize("words", [("reopen", "1"), ("release", "1", "--reopen")], ids=["reopen", "release"])
def test_a_finished_task_is_pending_again_with_all_its_attempts_and_history(tasks, how, words):
    ended(tasks, how)
    before = tasks("history", "1", "--json").json["events"]
    tasks(*words)
    task = shown(tasks, "1")
    assert (task["shown"]["state"], task["attempts"], task["owner"]) == ("pending", 0, None)
    events = tasks("history", "1", "--json").json["events"]
    assert events[: len(before)] == before
    assert (events[-1]["from"], events[-1]["to"]) == (how, "pending")
    assert [one["output"] for one in task["tries"]] == (["no such file"] if how == "failed" else [])
    assert shown(tasks, "2")["shown"]["state"] == "blocked"


def test_what_became_reachable_again_is_told(tasks):
    ended(tasks, "failed")
    assert shown(tasks, "2")["shown"]["state"] == "unreachable"
    assert tasks("reopen", "1", "--json").json["reachable"] == ["2"]


def test_an_unreachable_task_is_not_reopened_and_the_task_that_failed_is_named(tasks):
    ended(tasks, "failed")
    error = tasks("reopen", "2", "--json", code=1).json["error"]
    assert "unreachable: #1 failed for good" in error["message"]
    assert "reopen the task that failed" in error["remedy"]


def test_a_note_and_new_checks_are_kept_and_none_leaves_the_checks_alone(tasks):
    tasks("add", "First", "--accept", "false", "--accept-file", "x")
    tasks("cancel", "1")
    tasks("reopen", "1")
    assert [check["kind"] for check in shown(tasks, "1")["acceptance"]] == ["command", "file"]
    tasks("cancel", "1")
    tasks("reopen", "1", "--accept", "true", "--note", "the check\x1b[2J was wrong")
    task = shown(tasks, "1")
    assert [check["command"] for check in task["acceptance"]] == ["true"]
    assert "\x1b" not in tasks("show", "1").out
    assert task["events"][-1]["checks"] == ["command true"]
    tasks("cancel", "1")
    tasks("reopen", "1", "--accept", "")
    assert shown(tasks, "1")["acceptance"] == []


def test_only_the_lead_and_humans_reopen_and_so_choose_what_runs(tasks):
    ended(tasks, "failed")
    refused = tasks("reopen", "1", "--accept", "touch /tmp/owned", "--as", "ann", code=1)
    assert "ann may not reopen a finished task" in refused.err
    assert shown(tasks, "1")["acceptance"] == []


def test_a_task_that_is_open_is_not_reopened(tasks):
    tasks("add", "First")
    assert "there is nothing to reopen" in tasks("reopen", "1", code=1).err


def test_an_error_of_one_who_lies_moves_no_cursor_and_breaks_no_line(tasks):
    tasks("add", "First")
    tasks("claim", "1", "--as", "ann")
    tasks("fail", "1", "--error", "bad\x1b[2J\rgone:\n\x1b]0;title\x07one\n\u202etwo", "--final", "--as", "ann")
    out = tasks("show", "1").out
    assert not {"\x1b", "\r", "\x07", "\u202e"} & {*out}
    assert any(line.startswith("      | ") and line.endswith("two") for line in out.splitlines())
    assert "the way back: atm tasks reopen 1" in out


def test_a_task_file_with_nonsense_for_tries_is_shown_all_the_same(tasks, layout):
    ended(tasks, "failed")
    path = layout.tasks("crew") + "/1.json"
    with open(path, encoding="utf-8") as file:
        record = json.load(file)
    record["metadata"]["atm"]["tries"] = ["x", 7, {"attempt": {}, "output": ["a"], "error": None}]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(record, file)
    assert "failed for good" in tasks("show", "1").out
    tasks("show", "1", "--json")
    tasks("reopen", "1")
