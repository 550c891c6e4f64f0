"""`atm tasks add`: what lies on disk afterwards, dependencies in every spelling, and what is refused unwritten."""

from __future__ import annotations

import json
import os
from itertools import permutations

import pytest
from tests.proving import proves

THEIRS = {"id", "subject", "description", "status", "owner", "blocks", "blockedBy", "metadata"}
"""The fields of Claude Code."""


@pytest.fixture
def folder(atm):
    return atm.home / ".claude/tasks/crew"


def read(folder, id):
    return json.loads((folder / f"{id}.json").read_bytes())


@proves(
    "R001-10-18",
    "R004-task-system-T11",
    "R004-task-system-T11b",
    "R004-task-system-T11d",
    "R004-task-system-T11e",
    "R004-task-system-T11f",
)
def test_the_json_answer_has_what_the_contract_says(tasks):
    tasks("add", "First")
    added = tasks("add", "Second", "--depends-on", "1", "--priority", "high", "--json").json
    assert (added["action"], added["team"]) == ("add", "crew")
    task = added["task"]
    assert (task["id"], task["subject"], task["status"], task["owner"]) == ("2", "Second", "pending", None)
    assert (task["blockedBy"], task["blocks"], task["priority"]) == (["1"], [], "high")


def test_people_are_told_the_number_and_what_it_waits_for(tasks):
    assert tasks("add", "First").out == "added #1 First\n"
    done = tasks("add", "Second", "--depends-on", "1")
    assert done.out == "added #2 Second, which waits for #1\n"
    assert done.err == ""


@proves("R004-architecture-06", "R004-task-system-T11c")
def test_the_file_has_claude_codes_fields_and_ours_only_under_metadata_atm(tasks, folder):
    tasks("add", "First")
    tasks(
        *("add", "Second", "--description", "why", "--depends-on", "1", "--priority", "critical", "--files", "src/**"),
        *("--owner", "ann", "--reviewer", "bob", "--plan", "--accept", "true", "--accept-tests", "make test"),
        *("--accept-file", "out", "--accept-commit", "main", "--folder", ".", "--max-retries", "5"),
    )
    task = read(folder, 2)
    assert set(task) <= THEIRS
    assert set(task["metadata"]) == {"atm"}
    assert (task["id"], task["subject"], task["description"]) == ("2", "Second", "why")
    assert (task["status"], task["owner"], task["blockedBy"], task["blocks"]) == ("pending", "ann", ["1"], [])
    kinds = [check["kind"] for check in task["metadata"]["atm"]["acceptance"]]
    assert kinds == ["command", "tests", "file", "commit"]


def test_the_limit_of_an_attempt_stands_in_the_file_in_seconds_and_is_shown(tasks, folder):
    tasks("add", "First", "--timeout", "1h30m")
    tasks("add", "Second", "--run", "true")
    tasks("add", "Third", "--timeout", "none")
    tasks("add", "Fourth")
    assert read(folder, 1)["metadata"]["atm"]["timeout"] == 5400
    assert read(folder, 3)["metadata"]["atm"]["timeout"] == 0
    assert "timeout" not in read(folder, 2)["metadata"]["atm"]
    assert tasks("show", "1", "--json").json["task"]["timeout"] == 5400
    shown = [tasks("show", id).out for id in ("1", "2", "3", "4")]
    assert "1h30m for each attempt" in shown[0]
    assert "1h for each attempt (crew.task_minutes)" in shown[1]
    assert "no limit for each attempt" in shown[2]
    assert "no limit for each attempt" in shown[3]


def test_both_sides_of_a_dependency_are_written(tasks, folder):
    tasks("add", "First")
    tasks("add", "Second", "--depends-on", "1")
    assert read(folder, 1)["blocks"] == ["2"]
    assert read(folder, 2)["blockedBy"] == ["1"]


def test_a_task_without_an_owner_has_no_such_field(tasks, folder):
    tasks("add", "First")
    assert "owner" not in read(folder, 1)


@proves("R004-storage-03", "R004-storage-04", "R004-storage-05", "R004-task-system-T10")
def test_the_list_has_the_permanent_lock_file_and_the_mark_that_claude_code_knows(tasks, folder):
    tasks("add", "First")
    assert (folder / ".lock").read_bytes() == b""
    assert (folder / ".highwatermark").read_bytes() == b"1"
    assert sorted(os.listdir(folder)) == [".highwatermark", ".lock", "1.json"]


class TestDependencyLists:
    @pytest.fixture
    def three(self, tasks):
        for name in ("One", "Two", "Three"):
            tasks("add", name)
        return tasks

    @pytest.mark.parametrize(
        "words",
        [
            ["New", "--depends-on", "1", "2"],
            ["New", "--depends-on", "1,2"],
            ["New", "--depends-on", "1, 2"],
            ["New", "--depends-on=1,2"],
            ["New", "--depends-on", "#1", "#2"],
            ["New", "--depends-on", "#1,#2"],
            ["New", "--depends-on", "1", "--depends-on", "2"],
            ["New", "--depends-on", "1", "2", "1"],
            ["New", "--depends-on", "01", "002"],
            ["New", "--depends-on", "One", "Two"],
            ["New", "--depends-on", "one", "TWO"],
            ["New", "--depends-on", "One", "2"],
            ["--depends-on", "1", "2", "New"],
            ["--depends-on", "1,2", "New"],
            ["--depends-on", "1", "2", "--", "New"],
            ["--depends-on", "1", "2", "--priority", "high", "New"],
            ["--priority", "high", "--depends-on", "1", "2", "New"],
            ["--depends-on", "1", "2", "--as", "ann", "New"],
        ],
        ids=" ".join,
    )
    def test_every_spelling_means_the_same(self, three, words):
        task = three("add", "--json", *words).json["task"]
        assert (task["subject"], task["blockedBy"]) == ("New", ["1", "2"])

    @pytest.mark.parametrize(
        "lists",
        list(permutations([["--depends-on", "1", "2"], ["--files", "src/**", "docs"], ["--accept", "true", "false"]])),
        ids=lambda lists: " ".join(words[0] for words in lists),
    )
    def test_the_subject_may_stand_behind_several_lists(self, three, lists):
        """It can only have been eaten by the last of them."""
        words = [word for given in lists for word in given]
        task = three("add", *words, "New", "--json").json["task"]
        assert task["subject"] == "New"
        assert task["blockedBy"] == ["1", "2"]
        assert task["files"] == ["src/**", "docs"]
        assert [check["command"] for check in task["acceptance"]] == ["true", "false"]

    def test_a_title_with_a_comma_stays_one(self, three):
        three("add", "Read, then write")
        task = three("add", "New", "--depends-on", "read, then write", "--json").json["task"]
        assert task["blockedBy"] == ["4"]

    def test_a_title_that_two_tasks_have_is_refused(self, three):
        three("add", "One")
        assert "2 tasks" in three("add", "New", "--depends-on", "One", code=1).err

    def test_a_mistyped_title_is_answered_with_the_nearest(self, three):
        assert "did you mean 'three'" in three("add", "New", "--depends-on", "Threee", code=1).err


class TestNothingIsWritten:
    @pytest.fixture
    def chain(self, tasks):
        tasks("add", "First")
        tasks("add", "Second", "--depends-on", "1")
        tasks("add", "Third", "--depends-on", "2")
        return tasks

    @pytest.mark.parametrize(
        ("words", "complaint"),
        [
            (["add", "New", "--depends-on", "99"], "there is no task #99"),
            (["add", "New", "--depends-on", "1", "99"], "there is no task #99"),
            (["add", "New", "--depends-on", "0"], "there is no task #0"),
            (["add", "New", "--depends-on", "New"], "itself"),
            (["add", "New", "--depends-on", "4"], "itself"),
            (["add", "New", "--depends-on", "no such title"], "no task is called"),
            (["add", "New", "--depends-on", ""], "no task is called"),
            (["add", "New", "--depends-on", "99999999999999999999"], "no task id"),
            (["add", "New", "--depends-on", "１２"], "no task id"),
            (["add", "New", "--depends-on", "1²"], "no task is called"),
            (["add", "New", "--priority", "urgent"], "critical, high, normal, low"),
            (["add", "New", "--owner", "../ann"], "path separator"),
            (["add", "New", "--owner", "an\x1b[2Jn"], "control character"),
            (["add", "New", "--accept", " "], "says nothing"),
            (["add", "New", "--max-retries", "-1"], "cannot be -1"),
            (["add", "New", "--max-retries", "many"], "whole number"),
            (["add", "New", "--timeout", "soon"], "not a length of time"),
            (["add", "New", "--timeout", "\x1b[2J10m"], "not a length of time"),
            (["add", "New", "--timeout", "40d"], "cannot be kept"),
            (["add", "   "], "needs a subject"),
            (["add", ""], "needs a subject"),
            (["add", "\n\t"], "needs a subject"),
            (["add", "x" * 501], "501 characters"),
            (["add", "New", "--description", "x" * 100_001], "100001 characters"),
            (["add", "two", "words"], "one word too many"),
            (["add"], "<subject> is missing"),
            (["add", "New", "--team", "crow"], "did you mean 'crew'"),
            (["add", "New", "--as", "user"], "nobody may sign as 'user'"),
            (["add", "New", "--depends-on"], "needs a value"),
            (["depend", "1", "--on", "3"], "#1 → #3 → #2 → #1"),
            (["depend", "1", "--on", "1"], "itself"),
            (["depend", "1", "--on", "2"], "#1 → #2 → #1"),
            (["depend", "1", "--on", "77"], "there is no task #77"),
            (["depend", "3", "--on", "1", "77"], "there is no task #77"),
            (["depend", "77", "--on", "1"], "there is no task #77"),
            (["depend", "1", "--on", "Second"], "no task id"),
            (["depend", "1"], "neither on nor off"),
            (["split", "2", "--into", ""], "needs a subject"),
            (["split", "77", "--into", "a"], "there is no task #77"),
        ],
        ids=lambda words: " ".join(words)[:40] if isinstance(words, list) else "",
    )
    def test_refused_before_anything_is_written(self, chain, contents, atm, words, complaint):
        before = contents(atm.home / ".claude")
        done = chain(*words, code=1)
        assert complaint in done.err
        assert "\n  fix: " in done.err
        assert done.out == ""
        assert contents(atm.home / ".claude") == before

    def test_a_circle_is_named_in_json_too(self, chain):
        error = chain("depend", "1", "--on", "3", "--json", code=1).json["error"]
        assert error["code"] == "dependency-cycle"
        assert "#1 → #3 → #2 → #1" in error["message"]
        assert error["remedy"]

    def test_a_missing_task_has_its_own_code(self, chain):
        assert chain("add", "New", "--depends-on", "99", "--json", code=1).json["error"]["code"] == "no-such-task"


class TestNumbers:
    def test_they_are_never_given_twice_even_after_deletion(self, tasks, folder):
        tasks("add", "First")
        tasks("add", "Second")
        for path in folder.glob("*.json"):
            path.unlink()
        assert tasks("add", "Third", "--json").json["task"]["id"] == "3"

    def test_the_mark_of_claude_code_is_respected_and_raised(self, tasks, folder):
        folder.mkdir(parents=True)
        (folder / ".highwatermark").write_text("31")
        assert tasks("add", "First", "--json").json["task"]["id"] == "32"
        assert (folder / ".highwatermark").read_bytes() == b"32"

    def test_the_mark_is_never_lowered(self, tasks, folder):
        tasks("add", "First")
        (folder / ".highwatermark").write_text("500")
        tasks("claim", "1", "--as", "ann")
        tasks("complete", "1", "--as", "ann")
        assert (folder / ".highwatermark").read_bytes() == b"500"

    @pytest.mark.parametrize("mark", ["", "junk", "-5", "1e9", "９", "3\n", " 3 "])
    def test_a_mark_that_is_no_number_does_not_matter(self, tasks, folder, mark):
        for name in ("One", "Two", "Three"):
            tasks("add", name)
        (folder / ".highwatermark").write_text(mark)
        assert tasks("add", "Four", "--json").json["task"]["id"] == "4"

    def test_a_number_that_we_could_not_read_again_is_not_given(self, tasks, folder):
        """The next number would have sixteen digits, and a file of that name is no task for us."""
        folder.mkdir(parents=True)
        (folder / ".highwatermark").write_text("9" * 15)
        done = tasks("add", "First", code=1)
        assert done.out == ""
        assert list(folder.glob("*.json")) == []

    def test_a_file_with_a_higher_number_counts_though_the_mark_says_less(self, tasks, folder):
        tasks("add", "First")
        (folder / "17.json").write_text('{"id": "17", "subject": "theirs", "status": "pending"}')
        (folder / ".highwatermark").write_text("2")
        assert tasks("add", "Next", "--json").json["task"]["id"] == "18"


class TestSomethingInTheWay:
    """Another program may make something of our next number, and not everything of that name is a task."""

    @pytest.mark.parametrize("kind", ["folder", "link to nowhere", "link to a file"])
    def test_nobody_is_told_of_a_task_that_was_not_written(self, tasks, folder, kind, tmp_path):
        folder.mkdir(parents=True)
        if kind == "folder":
            (folder / "1.json").mkdir()
        else:
            if kind == "link to a file":
                (tmp_path / "target").write_text("{}")
            (folder / "1.json").symlink_to(tmp_path / "target")
        done = tasks("add", "Important")
        (listed,) = tasks("list", "--json").json["tasks"]
        assert (listed["id"], listed["subject"]) == ("2", "Important")
        assert done.out.startswith(f"added #{listed['id']} ")


def test_a_subject_of_500_characters_is_taken_and_shown_whole(tasks):
    subject = "x" * 500
    assert subject in tasks("add", subject).out
    assert subject in tasks("list").out


def test_blanks_and_line_breaks_in_a_subject_become_single_blanks(tasks):
    assert tasks("add", "  one\n two\t three ", "--json").json["task"]["subject"] == "one two three"


def test_a_description_keeps_its_lines(tasks):
    tasks("add", "First", "--description", "one\n  two\n")
    assert tasks("show", "1", "--json").json["task"]["description"] == "one\n  two\n"
    assert "  one\n    two\n" in tasks("show", "1").out


def test_an_owner_hears_of_it(tasks, crew):
    tasks("add", "First", "--owner", "ann", "--as", "bob")
    said = json.loads(crew.rows("ann")[0]["text"])
    assert (said["type"], said["taskId"], said["subject"], said["assignedBy"]) == (
        "task_assignment",
        "1",
        "First",
        "bob",
    )


def test_an_owner_who_is_not_on_the_team_is_pointed_out(tasks):
    """As `assign` does: a mistyped name makes a task that nobody can ever claim."""
    done = tasks("add", "First", "--owner", "anne")
    assert "anne is not in the roster" in done.err


def test_an_owner_in_another_case_is_the_member(tasks, folder):
    tasks("add", "First", "--owner", "ANN")
    assert tasks("claim", "--as", "ann", "--json").json["task"]["owner"].casefold() == "ann"
    assert read(folder, 1)["owner"] == "ann"


def test_a_thousand_dependants_are_added_listed_and_set_free(tasks, tmp_path):
    plan = [{"subject": "Root"}, *({"subject": f"Leaf {i}", "depends_on": ["Root"]} for i in range(1000))]
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    assert tasks("import", str(tmp_path / "plan.json"), "--json").json["count"] == 1001
    rows = tasks("list", "--json").json["tasks"]
    assert len(rows[0]["blocks"]) == 1000
    assert {row["state"] for row in rows[1:]} == {"blocked"}
    tasks("claim", "1", "--as", "ann")
    done = tasks("complete", "1", "--as", "ann")
    assert len(done.out) < 200, "a thousand numbers are no help to a person"
    assert "and 990 more" in done.out
    assert len([row for row in tasks("list", "--json").json["tasks"] if row["state"] == "pending"]) == 1000
