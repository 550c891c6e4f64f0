"""`atm tasks` fail, release, assign, cancel, split, depend: a task's way, and what lies on disk at each step."""

from __future__ import annotations

import json
import shutil

import pytest
from tests.proving import proves

THEIRS = {"id", "subject", "description", "status", "owner", "blocks", "blockedBy", "metadata"}


@pytest.fixture
def held(tasks):
    """#1, which ann works on; #2 waits for it; #3 is free."""
    tasks("add", "First")
    tasks("add", "Second", "--depends-on", "1")
    tasks("add", "Third")
    tasks("claim", "1", "--as", "ann")
    return tasks


@pytest.fixture
def disk(atm):
    def read(id=1):
        return json.loads((atm.home / f".claude/tasks/crew/{id}.json").read_bytes())

    return read


def task(tasks, id="1"):
    return tasks("show", id, "--json").json["task"]


def states(tasks):
    return {row["id"]: row["state"] for row in tasks("list", "--json").json["tasks"]}


STORY = [
    ["add", "Root", "--plan", "--reviewer", "bob", "--accept", "true", "--files", "a/**"],
    ["add", "Leaf", "--depends-on", "1"],
    ["add", "Other"],
    ["claim", "1", "--as", "ann"],
    ["plan", "submit", "1", "--text", "so", "--as", "ann"],
    ["plan", "reject", "1", "--feedback", "no"],
    ["plan", "submit", "1", "--text", "so then", "--as", "ann"],
    ["plan", "approve", "1"],
    ["start", "1", "--as", "ann"],
    ["comment", "1", "hm", "--as", "bob"],
    ["clarify", "1", "--needs", "user", "--question", "which?", "--as", "ann"],
    ["clarify", "1", "--answer", "that"],
    ["fail", "1", "--error", "boom", "--as", "ann"],
    ["claim", "1", "--as", "ann"],
    ["release", "1", "--as", "ann"],
    ["assign", "1", "--to", "ann"],
    ["claim", "1", "--as", "ann"],
    ["review", "request", "1", "--as", "ann"],
    ["review", "start", "1", "--as", "bob"],
    ["review", "changes", "1", "--note", "more", "--as", "bob"],
    ["review", "request", "1", "--as", "ann"],
    ["review", "approve", "1", "--as", "bob"],
    ["complete", "1", "--as", "ann"],
    ["split", "2", "--into", "x", "y"],
    ["depend", "2", "--on", "3"],
    ["depend", "2", "--off", "3"],
    ["cancel", "3"],
    ["release", "3", "--reopen"],
    ["claim", "3", "--as", "bob"],
    ["fail", "3", "--final", "--as", "bob"],
    ["release", "1", "--reopen"],
    ["claim", "4", "--as", "bob"],
    ["complete", "4", "--as", "bob", "--result", "fine"],
]


@proves("R002-8.0-101", "R002-8.0-120", "R004-target-13", "R004-task-system-T1c")
def test_whatever_happens_the_files_are_claude_codes_and_ours_is_under_metadata_atm(tasks, atm):
    folder = atm.home / ".claude/tasks/crew"
    for words in STORY:
        tasks(*words)
        for path in folder.glob("*.json"):
            found = json.loads(path.read_bytes())
            assert set(found) <= THEIRS, words
            assert found["status"] in ("pending", "in_progress", "completed"), words
            assert set(found["metadata"]) == {"atm"}, words
            assert found["id"] == path.stem
        assert {path.name for path in folder.iterdir()} <= {".lock", ".highwatermark", *(f"{i}.json" for i in range(9))}


@proves("R002-8.0-119")
def test_the_history_proves_the_whole_story(tasks):
    for words in STORY:
        tasks(*words)
    events = tasks("history", "--json").json["events"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert len({event["id"] for event in events}) == len(events)
    assert [e["to"] for e in events if e["task"] == "1" and e["type"] == "status_changed"] == [
        *("in_progress", "pending", "in_progress", "pending", "in_progress", "completed", "pending")
    ]


class TestFail:
    @proves("R004-task-system-T1", "R004-task-system-T1b", "R004-task-system-T11k")
    def test_it_goes_back_to_the_board_until_the_attempts_are_used_up(self, held, disk):
        for left in (2, 1):
            answer = held("fail", "1", "--error", "boom", "--as", "ann", "--json").json
            assert (answer["action"], answer["retries_left"], answer["task"]["state"]) == ("fail", left, "pending")
            held("claim", "1", "--as", "ann")
        answer = held("fail", "1", "--error", "boom", "--as", "ann", "--json").json
        assert (answer["retries_left"], answer["task"]["state"], answer["task"]["error"]) == (0, "failed", "boom")
        assert (disk()["status"], disk()["owner"]) == ("in_progress", "")

    @proves("R004-task-system-T8b")
    def test_people_are_told_what_comes_next(self, held):
        assert held("fail", "1", "--as", "ann").out == "#1 failed: back on the board; 2 of 3 attempts left\n"

    def test_a_final_failure_makes_what_waits_for_it_unreachable(self, held):
        held("fail", "1", "--final", "--as", "ann")
        assert states(held) == {"1": "failed", "2": "unreachable", "3": "pending"}

    def test_no_retries_means_one_attempt(self, tasks):
        tasks("add", "Once", "--max-retries", "0")
        tasks("claim", "--as", "ann")
        assert tasks("fail", "1", "--as", "ann", "--json").json["task"]["state"] == "failed"

    def test_failing_again_is_refused(self, held):
        held("fail", "1", "--as", "ann")
        assert "nobody works on #1" in held("fail", "1", "--as", "ann", code=1).err
        held("claim", "1", "--as", "ann")
        held("fail", "1", "--final", "--as", "ann")
        assert "#1 is failed" in held("fail", "1", "--as", "ann", code=1).err


class TestRelease:
    def test_it_is_free_again_without_blame(self, held, disk):
        answer = held("release", "1", "--reason", "lunch", "--as", "ann", "--json").json
        assert (answer["action"], answer["task"]["state"], answer["task"]["failures"]) == ("release", "pending", 0)
        assert (disk()["status"], disk()["owner"]) == ("pending", "")

    def test_a_second_release_says_that_nobody_has_it(self, held):
        held("release", "1", "--as", "ann")
        assert "nobody works on #1" in held("release", "1", "--as", "ann", code=1).err

    def test_without_a_number_it_is_explained(self, held):
        assert "<id> is missing" in held("release", "--as", "ann", code=1).err

    def test_a_finished_one_is_reopened_by_a_human(self, held):
        held("complete", "1", "--as", "ann")
        assert held("release", "1", "--reopen").out == "#1 First is back on the board, with 3 attempts\n"
        found = task(held)
        assert (found["state"], found["failures"], found["owner"]) == ("pending", 0, None)
        assert states(held)["2"] == "blocked"

    def test_reopening_what_is_not_finished_does_not_claim_to_have_freed_it(self, held):
        done = held("release", "1", "--reopen", code=1)
        assert "is not finished: there is nothing to reopen" in done.err
        assert (task(held)["owner"], task(held)["state"]) == ("ann", "in_progress")

    def test_a_reopened_task_starts_with_a_clean_slate(self, tasks):
        """No result, no evidence and no approval of the former round."""
        tasks("add", "First", "--reviewer", "bob", "--accept", "true")
        tasks("claim", "--as", "ann")
        tasks("review", "request", "1", "--as", "ann")
        tasks("review", "approve", "1", "--as", "bob")
        tasks("complete", "1", "--result", "old", "--as", "ann")
        tasks("release", "1", "--reopen")
        tasks("claim", "--as", "ann")
        assert "must be reviewed first" in tasks("complete", "1", "--as", "ann", code=1).err
        found = task(tasks)
        assert "evidence" not in found
        assert "result" not in found


class TestAssign:
    @proves("R003-2.3-15", "R003-4.2-07", "R004-orchestration-O3b", "R004-defects-11")
    def test_the_old_claim_ends_and_the_new_owner_hears_of_it(self, held, disk, crew):
        answer = held("assign", "1", "--to", "bob", "--json").json
        assert (answer["task"]["owner"], answer["task"]["claim"], answer["task"]["status"]) == ("bob", None, "pending")
        assert disk()["owner"] == "bob"
        said = json.loads(crew.rows("bob")[-1]["text"])
        assert (said["type"], said["taskId"]) == ("task_assignment", "1")
        held("complete", "1", "--as", "ann", code=1)
        held("claim", "1", "--as", "bob")

    def test_twice_is_once(self, held, crew, contents, atm):
        held("assign", "3", "--to", "bob")
        before = contents(atm.home / ".claude/tasks"), len(crew.rows("bob"))
        held("assign", "3", "--to", "BOB")
        assert (contents(atm.home / ".claude/tasks"), len(crew.rows("bob"))) == before

    def test_to_whoever_works_on_it_changes_nothing(self, held):
        held("assign", "1", "--to", "ann")
        assert task(held)["claim"]["by"] == "ann"

    def test_a_finished_task_is_nobodys_any_more(self, held):
        held("cancel", "3")
        assert "#3 is cancelled" in held("assign", "3", "--to", "bob", code=1).err

    def test_somebody_who_is_not_in_the_team_is_pointed_out(self, held):
        assert "zed is not in the roster" in held("assign", "3", "--to", "zed").err


class TestCancel:
    def test_what_waits_for_it_can_never_be_done(self, held, disk):
        answer = held("cancel", "1", "--reason", "no need", "--json").json
        assert (answer["action"], answer["task"]["state"], answer["unreachable"]) == ("cancel", "cancelled", ["2"])
        assert (disk()["status"], disk()["owner"]) == ("in_progress", "")
        assert states(held)["2"] == "unreachable"

    def test_only_what_this_one_made_impossible_is_named(self, held):
        held("add", "Fourth", "--depends-on", "3")
        held("cancel", "1")
        assert held("cancel", "3").out == "cancelled #3 Third; these can never be done now: #4\n"

    def test_nothing_is_named_where_nothing_waits(self, held):
        held("cancel", "1")
        assert held("cancel", "3").out == "cancelled #3 Third\n"

    def test_twice_is_once(self, held, contents, atm):
        held("cancel", "3")
        before = contents(atm.home / ".claude/tasks")
        held("cancel", "3")
        assert contents(atm.home / ".claude/tasks") == before

    def test_a_completed_task_cannot_be_cancelled(self, held):
        held("complete", "1", "--as", "ann")
        done = held("cancel", "1", code=1)
        assert "#1 is completed" in done.err
        assert "`atm tasks reopen 1`" in done.err

    def test_it_can_come_back(self, held):
        held("cancel", "1")
        held("release", "1", "--reopen")
        assert states(held) == {"1": "pending", "2": "blocked", "3": "pending"}


class TestSplit:
    def test_it_waits_for_its_parts_and_nobody_works_on_it(self, held):
        answer = held("split", "1", "--into", "Lexer", "Parser", "--as", "ann", "--json").json
        assert [part["id"] for part in answer["parts"]] == ["4", "5"]
        assert (answer["task"]["blockedBy"], answer["task"]["claim"], answer["task"]["owner"]) == (
            ["4", "5"],
            None,
            None,
        )
        assert states(held) == {"1": "blocked", "2": "blocked", "3": "pending", "4": "pending", "5": "pending"}

    def test_people_are_told_the_parts(self, held):
        assert held("split", "3", "--into", "a", "b").out == "#3 waits for its parts: #4 #5\n"

    def test_the_parts_wait_for_what_it_waited_for_and_touch_its_files(self, tasks):
        tasks("add", "Root")
        tasks("add", "Big", "--depends-on", "1", "--files", "src/**")
        parts = tasks("split", "2", "--into", "a", "b", "--json").json["parts"]
        assert [part["blockedBy"] for part in parts] == [["1"], ["1"]]
        assert [part["files"] for part in parts] == [["src/**"], ["src/**"]]

    def test_urgency_is_handed_down_to_the_parts(self, tasks):
        tasks("add", "Big", "--priority", "critical")
        parts = tasks("split", "1", "--into", "a", "b", "--json").json["parts"]
        assert {part["priority"] for part in parts} == {"critical"}

    def test_when_all_parts_are_done_it_is_free_again(self, held):
        held("split", "3", "--into", "a", "b")
        for id, free in (("4", []), ("5", ["3"])):
            held("claim", id, "--as", "bob")
            assert held("complete", id, "--as", "bob", "--json").json["unblocked"] == free

    def test_the_parts_may_stand_before_the_number(self, held):
        assert held("split", "--into", "a", "b", "3", "--json").json["task"]["id"] == "3"

    def test_parts_with_the_same_title_are_two(self, held):
        assert len(held("split", "3", "--into", "a", "a", "--json").json["parts"]) == 2


class TestDepend:
    def test_on_and_off_change_both_sides(self, held, disk):
        answer = held("depend", "3", "--on", "1", "2", "--json").json
        assert (answer["action"], answer["blocked_by_open"]) == ("depend", ["1", "2"])
        assert answer["task"]["blockedBy"] == ["1", "2"]
        assert (disk(1)["blocks"], disk(2)["blocks"], disk(3)["blockedBy"]) == (["2", "3"], ["3"], ["1", "2"])
        held("depend", "3", "--off", "1")
        assert (disk(1)["blocks"], disk(3)["blockedBy"]) == (["2"], ["2"])

    @pytest.mark.parametrize("words", [["3", "--on", "1,2"], ["3", "--on", "#1", "--on", "2"], ["--on", "1", "2", "3"]])
    def test_lists_in_every_spelling(self, held, words):
        assert held("depend", *words, "--json").json["task"]["blockedBy"] == ["1", "2"]

    def test_twice_is_once(self, held, contents, atm):
        held("depend", "3", "--on", "1")
        before = contents(atm.home / ".claude/tasks")
        assert held("depend", "3", "--on", "1").out == "#3 waits for #1\n"
        assert contents(atm.home / ".claude/tasks") == before

    def test_what_is_not_there_can_be_taken_off_twice(self, held):
        held("depend", "2", "--off", "1")
        assert held("depend", "2", "--off", "1").out == "#2 waits for nothing\n"

    def test_replacing_a_dependency_by_its_opposite_in_one_go_makes_no_circle(self, held):
        held("depend", "2", "--off", "1")
        held("depend", "1", "--on", "2")
        assert held("depend", "2", "--on", "3", "--json").json["task"]["blockedBy"] == ["3"]

    def test_a_finished_task_waits_for_nothing_more(self, held):
        held("complete", "1", "--as", "ann")
        assert "#1 is completed" in held("depend", "1", "--on", "3", code=1).err

    def test_a_dependency_on_what_was_done_and_deleted_is_fulfilled(self, held, atm):
        held("complete", "1", "--as", "ann")
        (atm.home / ".claude/tasks/crew/1.json").unlink()
        assert held("depend", "3", "--on", "1", "--json").json["blocked_by_open"] == []
        assert states(held) == {"2": "pending", "3": "pending"}

    def test_a_dependency_on_what_was_deleted_unfinished_must_be_decided(self, held, atm):
        (atm.home / ".claude/tasks/crew/1.json").unlink()
        row = held("list", "--json").json["tasks"][0]
        assert (row["state"], row["blocked_by_missing"]) == ("blocked", ["1"])
        assert "#1 (missing)" in held("list").out
        held("depend", "2", "--off", "1")
        assert held("claim", "2", "--as", "bob").out.startswith("claimed #2")


class TestForgetting:
    """The index is a cache, `safe to delete`; what is finished stays finished without it."""

    def test_work_that_was_done_and_deleted_counts_without_the_index(self, held, atm):
        held("complete", "1", "--as", "ann")
        (atm.home / ".claude/tasks/crew/1.json").unlink()
        held("list")
        shutil.rmtree(atm.home / ".local/state/atm/boards")
        assert states(held) == {"2": "pending", "3": "pending"}


@proves("R003-7-team-16")
def test_a_completed_team_can_be_read_and_not_changed(held, atm, contents):
    (atm.home / ".claude/teams/crew/COMPLETED").touch()
    before = contents(atm.home / ".claude")
    for words in (["add", "x"], ["claim", "--as", "bob"], ["complete", "1", "--as", "ann"], ["comment", "1", "x"]):
        assert held(*words, "--json", code=1).json["error"]["code"] == "team-completed"
    assert contents(atm.home / ".claude") == before
    assert len(held("list", "--json").json["tasks"]) == 3
