"""`atm tasks claim` and `start`: who gets what, why nothing, and never two for one task."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections import Counter

import pytest
from tests.proving import proves

from atm.files.adapters.disk import RealDisk
from atm.team.adapters.heartbeats import HeartbeatFiles
from atm.team.services.presence import beat


def claimed(tasks, who, *words):
    return tasks("claim", *words, "--as", who, "--json").json["task"]["id"]


def reason(tasks, who, *words):
    answer = tasks("claim", *words, "--as", who, "--json", code=3).json
    assert (answer["action"], answer["team"], answer["task"]) == ("claim", "crew", None)
    assert answer["reason"]
    return answer["reason_code"]


@proves("R001-10-18", "R004-architecture-07", "R004-task-system-T11e", "R004-task-system-T11h")
def test_the_json_answer_has_what_the_contract_says(tasks):
    tasks("add", "First")
    answer = tasks("claim", "--as", "ann", "--json").json
    assert (answer["action"], answer["team"]) == ("claim", "crew")
    task = answer["task"]
    assert (task["id"], task["status"], task["owner"], task["claim"]["by"]) == ("1", "in_progress", "ann", "ann")
    assert task["claim"]["id"]


@proves("R004-task-system-T11c")
def test_people_are_told_what_to_do_and_what_to_say_when_it_is_done(tasks):
    tasks("add", "First", "--description", "mind the gap")
    done = tasks("claim", "--as", "ann")
    assert done.out.splitlines()[0] == "claimed #1 First (normal)"
    assert "mind the gap" in done.out
    assert "atm tasks complete 1" in done.out
    assert done.err == ""


@proves("R004-task-system-T4c", "R004-task-system-T11h")
def test_the_file_says_what_claude_code_would_say(tasks, atm):
    tasks("add", "First")
    tasks("claim", "--as", "ann")
    task = json.loads((atm.home / ".claude/tasks/crew/1.json").read_bytes())
    assert (task["status"], task["owner"]) == ("in_progress", "ann")


@proves("R004-current-state-03", "R004-task-system-T4b")
def test_urgent_ones_come_first_then_the_lowest_number(tasks):
    for name, priority in [("a", "low"), ("b", "normal"), ("c", "critical"), ("d", "high"), ("e", "critical")]:
        tasks("add", name, "--priority", priority)
    order = []
    for _ in range(5):
        order.append(claimed(tasks, "ann"))
        tasks("complete", order[-1], "--as", "ann")
    assert order == ["3", "5", "4", "2", "1"]


@proves("R004-summary-02", "R004-target-07", "R004-target-14", "R004-current-state-04", "R004-gap-p0-01")
def test_what_waits_for_others_cannot_be_had_whatever_its_priority(tasks):
    tasks("add", "First", "--priority", "low")
    tasks("add", "Second", "--depends-on", "1", "--priority", "critical")
    assert claimed(tasks, "ann") == "1"
    assert reason(tasks, "bob") == "all-claimed"
    tasks("complete", "1", "--as", "ann")
    assert claimed(tasks, "bob") == "2"


def test_the_own_unfinished_task_comes_first(tasks):
    tasks("add", "First")
    tasks("add", "Second", "--priority", "critical")
    tasks("claim", "1", "--as", "ann")
    answer = tasks("claim", "--as", "ann", "--json").json
    assert (answer["task"]["id"], answer["resumed"]) == ("1", True)
    assert tasks("claim", "--as", "ann").out.startswith("go on with #1")


def test_claiming_again_is_the_same_claim(tasks):
    tasks("add", "First")
    once = tasks("claim", "--as", "ann", "--json").json["task"]
    again = tasks("claim", "1", "--as", "ann", "--json").json["task"]
    assert once["claim"] == again["claim"]
    assert len(tasks("history", "1", "--json").json["events"]) == 2


def test_an_assigned_task_is_its_owners_alone(tasks):
    tasks("add", "First", "--owner", "ann")
    assert reason(tasks, "bob", "1") == "assigned"
    assert reason(tasks, "bob") == "all-blocked"
    assert claimed(tasks, "ann") == "1"


class TestWhyNothing:
    def test_an_empty_board(self, tasks):
        assert reason(tasks, "ann") == "empty"

    def test_everything_is_finished(self, tasks):
        tasks("add", "First")
        tasks("claim", "--as", "ann")
        tasks("complete", "1", "--as", "ann")
        assert reason(tasks, "ann") == "all-finished"

    @proves("R004-target-14")
    def test_one_that_is_named_and_waits(self, tasks):
        tasks("add", "First")
        tasks("add", "Second", "--depends-on", "1")
        done = tasks("claim", "2", "--as", "ann", code=3)
        assert done.out == "nothing to claim: #2 waits for #1\n"
        assert reason(tasks, "ann", "2") == "blocked"

    def test_one_that_somebody_else_has(self, tasks):
        tasks("add", "First")
        tasks("claim", "--as", "ann")
        assert tasks("claim", "1", "--as", "bob", code=3).out == "nothing to claim: ann works on #1\n"
        assert reason(tasks, "bob", "1") == "claimed"

    def test_one_that_is_finished(self, tasks):
        tasks("add", "First")
        tasks("cancel", "1")
        assert reason(tasks, "ann", "1") == "finished"

    def test_one_that_can_never_be_done(self, tasks):
        tasks("add", "First")
        tasks("add", "Second", "--depends-on", "1")
        tasks("cancel", "1")
        assert reason(tasks, "ann", "2") == "unreachable"

    @proves("R004-task-system-T2c")
    def test_one_whose_dependency_was_deleted(self, tasks, atm):
        tasks("add", "First")
        tasks("add", "Second", "--depends-on", "1")
        (atm.home / ".claude/tasks/crew/1.json").unlink()
        assert reason(tasks, "ann", "2") == "broken-dependency"
        assert "#1" in tasks("claim", "--as", "ann", code=3).out

    def test_one_that_waits_for_an_answer(self, tasks):
        tasks("add", "First")
        tasks("clarify", "1", "--needs", "user", "--question", "which?", "--as", "ann")
        assert reason(tasks, "bob", "1") == "clarification"

    def test_one_that_does_not_exist_is_an_error_instead(self, tasks):
        assert tasks("claim", "9", "--as", "ann", "--json", code=1).json["error"]["code"] == "no-such-task"

    @pytest.mark.parametrize(
        ("status", "code", "why"),
        [
            ("in_progress", "in-progress", "#1 is in progress, but nobody is named as working on it"),
            ("deleted", "foreign-status", "another program calls #1 'deleted'"),
        ],
    )
    def test_one_that_another_program_left_without_an_owner_is_not_blamed_on_a_race(
        self, tasks, atm, status, code, why
    ):
        """Claude Code's lead sets `in_progress` without an owner when it works on a task itself."""
        tasks("add", "First")
        path = atm.home / ".claude/tasks/crew/1.json"
        path.write_text(path.read_text().replace('"pending"', f'"{status}"'))
        done = tasks("claim", "1", "--as", "ann", "--json", code=3).json
        assert (done["reason_code"], done["reason"]) == (code, why)


class TestManyAtOnce:
    @proves("R003-9-03", "R004-target-19")
    def test_ten_processes_get_every_task_exactly_once(self, crew, tasks, tmp_path):
        (tmp_path / "plan.md").write_text("".join(f"- [ ] Task {i}\n" for i in range(8)))
        tasks("import", str(tmp_path / "plan.md"))
        workers = [crew.start("tasks", "claim", "--as", f"w{i}", "--json") for i in range(10)]
        answers = [(worker, *worker.communicate(timeout=120)) for worker in workers]
        assert Counter(worker.returncode for worker, _, _ in answers) == {0: 8, 3: 2}, answers
        got = [json.loads(out)["task"]["id"] for worker, out, _ in answers if worker.returncode == 0]
        assert sorted(got, key=int) == [str(i) for i in range(1, 9)]
        owners = {task["id"]: task["owner"] for task in tasks("list", "--json").json["tasks"]}
        assert len(set(owners.values())) == 8
        claims = [e["task"] for e in tasks("history", "--json").json["events"] if e.get("reason") == "claimed"]
        assert sorted(claims, key=int) == [str(i) for i in range(1, 9)]

    @proves(
        "R003-9-03", "R004-target-19", "R004-gap-p1-05", "R004-gap-p1-06", "R004-task-system-T2b", "R004-defects-01"
    )
    def test_ten_processes_that_want_the_same_task_leave_one_winner(self, crew, tasks):
        tasks("add", "First")
        workers = [crew.start("tasks", "claim", "1", "--as", f"w{i}", "--json") for i in range(10)]
        outs = [worker.communicate(timeout=120)[0] for worker in workers]
        assert sorted(worker.returncode for worker in workers) == [0] + [3] * 9
        winner = next(json.loads(out)["task"] for out in outs if json.loads(out)["task"])
        assert tasks("show", "1", "--json").json["task"]["claim"] == winner["claim"]

    def test_ten_processes_that_add_get_ten_numbers(self, crew, tasks):
        workers = [crew.start("tasks", "add", f"From {i}", "--json") for i in range(10)]
        ids = [json.loads(worker.communicate(timeout=120)[0])["task"]["id"] for worker in workers]
        assert sorted(ids, key=int) == [str(i) for i in range(1, 11)]
        rows = tasks("list", "--json").json["tasks"]
        assert sorted(row["subject"] for row in rows) == sorted(f"From {i}" for i in range(10))


class TestOverlap:
    @pytest.fixture
    def two(self, tasks):
        tasks("add", "One", "--files", "src/parser/**")
        tasks("add", "Two", "--files", "src/**/lexer.py", "docs/x.md")
        tasks("add", "Three", "--files", "docs/y.md")
        tasks("claim", "1", "--as", "ann")
        return tasks

    @proves("R004-merge-and-conflicts-G1b", "R004-defects-09d")
    def test_it_is_a_warning_and_no_refusal(self, two):
        done = two("claim", "2", "--as", "bob")
        assert "#1" in done.err
        assert "src/parser/**" in done.err
        assert done.out.startswith("claimed #2")

    @proves("R004-defects-09d")
    def test_json_says_which(self, two):
        assert two("claim", "2", "--as", "bob", "--json").json["overlaps"] == {"1": ["src/parser/**"]}

    def test_files_apart_are_no_warning(self, two):
        done = two("claim", "3", "--as", "bob", "--json")
        assert done.err == ""
        assert done.json["overlaps"] == {}

    def test_finished_work_does_not_count(self, two):
        two("complete", "1", "--as", "ann")
        assert two("claim", "2", "--as", "bob", "--json").json["overlaps"] == {}


class TestStart:
    def test_it_claims_what_is_free(self, tasks):
        tasks("add", "First")
        answer = tasks("start", "1", "--as", "ann", "--json").json
        assert (answer["action"], answer["task"]["owner"]) == ("start", "ann")

    def test_it_is_no_when_somebody_else_has_it(self, tasks):
        tasks("add", "First")
        tasks("claim", "--as", "ann")
        answer = tasks("start", "1", "--as", "bob", "--json", code=3).json
        assert (answer["action"], answer["task"]) == ("start", None)

    def test_without_an_approved_plan_it_says_so(self, tasks):
        tasks("add", "First", "--plan")
        error = tasks("start", "1", "--as", "ann", "--json", code=1).json["error"]
        assert error["code"] == "plan-refused"
        assert "atm tasks plan submit 1" in error["remedy"]

    def test_it_needs_a_number(self, tasks):
        assert "<id> is missing" in tasks("start", "--as", "ann", code=1).err


class TestSilence:
    @pytest.fixture
    def silent(self, tasks, atm):
        """Ann holds #1 and was last heard of eleven minutes ago."""
        tasks("add", "First")
        tasks("claim", "--as", "ann")
        (path,) = (atm.home / ".claude/teams/crew/heartbeats").glob("ann.json")
        beat = json.loads(path.read_text())
        beat["at"] = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - 660))
        beat.pop("uptime", None)
        path.write_text(json.dumps(beat))
        return tasks

    @proves("R003-8-03")
    def test_what_a_silent_member_holds_goes_to_the_next(self, silent):
        done = silent("claim", "--as", "bob", "--json")
        assert done.json["task"]["id"] == "1"
        assert done.json["released"] == ["1"]
        assert "#1 was taken back" in done.err

    @proves("R004-task-system-T11l")
    def test_it_counts_as_a_failed_attempt_and_stands_in_the_history(self, silent):
        assert silent("release", "--silent", "--json").json["released"] == ["1"]
        task = silent("show", "1", "--json").json["task"]
        assert (task["state"], task["failures"], task["owner"]) == ("pending", 1, None)
        assert silent("history", "1", "--json").json["events"][-1]["reason"] == "silent"

    @proves("R004-defects-05b")
    def test_the_former_claimant_cannot_finish_it(self, silent):
        silent("claim", "--as", "bob")
        assert "bob works on #1, not ann" in silent("complete", "1", "--as", "ann", code=1).err

    def test_a_heartbeat_keeps_it(self, silent):
        silent("beat", "--as", "ann")
        assert silent("release", "--silent", "--json").json["released"] == []
        assert reason(silent, "bob") == "all-claimed"

    def test_whoever_waits_for_a_review_is_left_alone(self, silent):
        silent("review", "request", "1", "--reviewer", "bob")
        assert silent("release", "--silent").out == "nobody who holds a task has gone silent\n"


class TestBeat:
    def test_it_says_who_is_there(self, tasks):
        assert tasks("beat", "--as", "ann").out == "ann is there\n"
        answer = tasks("beat", "--as", "ann", "--json").json
        assert (answer["action"], answer["team"], answer["member"]) == ("beat", "crew", "ann")

    @pytest.mark.parametrize("pid", ["0", "99999999", "999999999999", "4294967296"])
    def test_a_process_that_does_not_run_is_refused(self, tasks, pid):
        assert f"no process {pid}" in tasks("beat", "--as", "ann", "--while", pid, code=1).err

    def test_it_goes_on_until_the_process_ends(self, crew, eventually):
        other = subprocess.Popen(["sleep", "600"])
        try:
            beating = crew.start("tasks", "beat", "--as", "ann", "--while", str(other.pid), "--every", "0.1")
            path = crew.home / ".claude/teams/crew/heartbeats/ann.json"
            eventually(path.exists)
            first = path.read_bytes()
            eventually(lambda: path.read_bytes() != first)
        finally:
            other.kill()
            other.wait(60)
        assert beating.wait(60) == 0

    def test_two_first_ones_at_the_same_time_are_both_kept(self, room, layout):
        """Whoever claims and was never heard of is taken for somebody who left, and the task is taken back."""

        class Beside(RealDisk):
            def make_folder(self, path: str, *, private: bool = False) -> None:
                os.mkdir(path)  # by another member, whose first heartbeat is a moment quicker
                super().make_folder(path, private=private)

        presence = HeartbeatFiles(Beside(), room.clock, layout, "here")
        beat(presence, "crew", "ann", room.clock.now(), "test")
        assert presence.last("crew", "ann") is not None
