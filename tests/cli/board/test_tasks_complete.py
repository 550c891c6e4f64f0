"""`atm tasks complete`: evidence first, only by the claimant, exactly once."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from tests.proving import proves
from tests.trusting import trust


@pytest.fixture
def held(tasks):
    """Add a task with checks and let ann claim it."""

    def make(*words, who="ann"):
        id = tasks("add", "Work", *words, "--json").json["task"]["id"]
        tasks("claim", id, "--as", who)
        return id

    return make


def status(tasks, id="1"):
    return tasks("show", id, "--json").json["task"]["status"]


@proves("R004-task-system-T6", "R004-task-system-T11j")
def test_the_json_answer_has_what_the_contract_says(tasks):
    tasks("add", "First")
    tasks("add", "Second", "--depends-on", "1")
    tasks("add", "Third", "--depends-on", "1", "2")
    tasks("claim", "--as", "ann")
    answer = tasks("complete", "1", "--result", "fine", "--as", "ann", "--json").json
    assert (answer["action"], answer["team"], answer["unblocked"]) == ("complete", "crew", ["2"])
    task = answer["task"]
    assert (task["id"], task["status"], task["result"], task["finishedBy"]) == ("1", "completed", "fine", "ann")
    assert task["claim"] is None


def test_people_are_told_what_is_free_now(tasks):
    tasks("add", "First")
    tasks("add", "Second", "--depends-on", "1")
    tasks("claim", "--as", "ann")
    assert tasks("complete", "1", "--as", "ann").out == "completed #1 First; now free: #2\n"


def test_the_dependencies_of_others_stay_as_they_were_written(tasks, atm):
    tasks("add", "First")
    tasks("add", "Second", "--depends-on", "1")
    tasks("claim", "--as", "ann")
    before = (atm.home / ".claude/tasks/crew/2.json").read_bytes()
    tasks("complete", "1", "--as", "ann")
    assert (atm.home / ".claude/tasks/crew/2.json").read_bytes() == before


def test_completing_again_changes_nothing_and_is_no_error(tasks, held, contents, atm):
    held()
    tasks("complete", "1", "--as", "ann")
    before = contents(atm.home / ".claude/tasks")
    done = tasks("complete", "1", "--as", "ann", "--json")
    assert done.json["task"]["status"] == "completed"
    assert contents(atm.home / ".claude/tasks") == before


def test_somebody_else_cannot_complete_it_again(tasks, held):
    held()
    tasks("complete", "1", "--as", "ann")
    assert "completed already" in tasks("complete", "1", "--as", "bob", code=1).err


class TestWho:
    @pytest.mark.parametrize("who", [["--as", "bob"], []])
    def test_only_the_claimant_may(self, tasks, held, who):
        held()
        done = tasks("complete", "1", *who, code=1)
        assert "ann works on #1" in done.err
        assert status(tasks) == "in_progress"

    def test_a_task_that_nobody_claimed_cannot_be_completed(self, tasks):
        tasks("add", "First")
        error = tasks("complete", "1", "--as", "ann", "--json", code=1).json["error"]
        assert error["code"] == "not-claimant"
        assert "atm tasks claim 1" in error["remedy"]

    def test_a_released_claimant_may_not(self, tasks, held):
        held()
        tasks("release", "1")
        assert "nobody works on #1" in tasks("complete", "1", "--as", "ann", code=1).err
        tasks("claim", "1", "--as", "bob")
        assert "bob works on #1, not ann" in tasks("complete", "1", "--as", "ann", code=1).err
        assert status(tasks) == "in_progress"

    def test_an_old_claim_of_the_same_member_may_not(self, tasks, held):
        held()
        old = tasks("show", "1", "--json").json["task"]["claim"]["id"]
        tasks("release", "1", "--as", "ann")
        tasks("claim", "1", "--as", "ann")
        assert "not in force" in tasks("complete", "1", "--as", "ann", "--claim", old, code=1).err
        new = tasks("show", "1", "--json").json["task"]["claim"]["id"]
        tasks("complete", "1", "--as", "ann", "--claim", new)

    def test_a_claimant_that_is_released_while_its_checks_run_does_not_finish(self, crew, tasks, held, eventually):
        """The file says: bob's. Whatever ann's checks proved, it is not hers to finish any more."""
        held("--accept", f"touch {crew.folder}/runs; while [ ! -e {crew.folder}/go ]; do sleep 0.05; done")
        completing = crew.start("tasks", "complete", "1", "--as", "ann")
        eventually((crew.folder / "runs").exists)
        tasks("release", "1")
        tasks("claim", "1", "--as", "bob")
        (crew.folder / "go").touch()
        _, err = completing.communicate(timeout=60)
        assert completing.returncode == 1
        assert b"bob works on #1" in err
        assert tasks("show", "1", "--json").json["task"]["owner"] == "bob"

    def test_nor_one_that_claimed_it_anew_meanwhile(self, crew, tasks, held, eventually):
        held("--accept", f"touch {crew.folder}/runs; while [ ! -e {crew.folder}/go ]; do sleep 0.05; done")
        completing = crew.start("tasks", "complete", "1", "--as", "ann")
        eventually((crew.folder / "runs").exists)
        tasks("release", "1")
        tasks("claim", "1", "--as", "ann")
        (crew.folder / "go").touch()
        _, err = completing.communicate(timeout=60)
        assert completing.returncode == 1
        assert b"not in force" in err
        assert status(tasks) == "in_progress"

    def test_two_completers_at_once_complete_it_once(self, crew, tasks, held):
        held("--accept", f"touch {crew.folder}/$$; while [ $(ls {crew.folder} | wc -l) -lt 2 ]; do sleep 0.05; done")
        both = [crew.start("tasks", "complete", "1", "--as", "ann", "--json") for _ in range(2)]
        outs = [one.communicate(timeout=60)[0] for one in both]
        assert 0 in [one.returncode for one in both], outs
        assert status(tasks) == "completed"
        events = tasks("history", "1", "--json").json["events"]
        assert [event["to"] for event in events if event["type"] == "status_changed"] == ["in_progress", "completed"]

    def test_a_task_that_claude_code_deleted_meanwhile_is_told_as_gone(self, tasks, held, atm):
        held()
        (atm.home / ".claude/tasks/crew/1.json").unlink()
        done = tasks("complete", "1", "--as", "ann", code=1)
        assert "not on the board any more" in done.err
        assert "atm tasks history 1" in done.err
        assert not (atm.home / ".claude/tasks/crew/1.json").exists()

    def test_a_task_that_claude_code_gave_to_its_own_agent_can_be_completed_by_that(self, tasks, atm):
        tasks("add", "First")
        path = atm.home / ".claude/tasks/crew/1.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "status": "in_progress", "owner": "ann"}))
        tasks("complete", "1", "--as", "ann")
        assert status(tasks) == "completed"


class TestChecks:
    def test_a_command_that_succeeds_is_kept_as_evidence(self, tasks, held):
        held("--accept", "echo all 40 tests passed")
        task = tasks("complete", "1", "--as", "ann", "--json").json["task"]
        (proof,) = task["evidence"]
        assert (proof["ok"], proof["code"], proof["command"]) == (True, 0, "echo all 40 tests passed")
        assert "all 40 tests passed" in proof["output"]

    def test_a_command_that_fails_refuses_with_its_output(self, tasks, held):
        held("--accept", "echo one failed; echo because >&2; exit 3")
        error = tasks("complete", "1", "--as", "ann", "--json", code=1).json["error"]
        assert error["code"] == "checks-failed"
        assert "ended with 3" in error["message"]
        assert "one failed\nbecause" in error["message"]
        assert status(tasks) == "in_progress"

    def test_people_see_the_output_line_by_line(self, tasks, held):
        """Forty lines of a test run in one are no help."""
        held("--accept", "printf 'E   assert 1 == 2\\nFAILED test_x\\n'; exit 1")
        lines = tasks("complete", "1", "--as", "ann", code=1).err.splitlines()
        assert any(line.strip() == "FAILED test_x" for line in lines)

    def test_escapes_in_the_output_do_not_reach_the_terminal(self, tasks, held):
        held("--accept", "printf '\\033]0;evil\\007\\033[2J\\233 x'; exit 1")
        assert not {"\x1b", "\x07", "\x9b"} & set(tasks("complete", "1", "--as", "ann", code=1).err)

    def test_of_much_output_the_end_is_shown(self, tasks, held):
        held("--accept", "seq 1 200000; echo the end; exit 1")
        err = tasks("complete", "1", "--as", "ann", code=1).err
        assert "the end" in err
        assert len(err) < 8000

    def test_the_first_that_fails_ends_it(self, tasks, held, atm):
        held("--accept", "touch first", "false", "touch third", "--folder", str(atm.folder))
        tasks("complete", "1", "--as", "ann", code=1)
        assert (atm.folder / "first").exists()
        assert not (atm.folder / "third").exists()

    def test_they_run_in_the_folder_of_the_task(self, tasks, held, tmp_path):
        held("--accept", "pwd > where", "--folder", str(tmp_path))
        tasks("complete", "1", "--as", "ann")
        assert (tmp_path / "where").read_text().strip() == str(tmp_path)

    def test_or_in_that_of_the_claimant(self, tasks, held, atm, tmp_path):
        config = atm.home / ".claude/teams/crew/config.json"
        team = json.loads(config.read_text())
        for member in team["members"]:
            member["cwd"] = str(tmp_path) if member["name"] == "ann" else "/"
        config.write_text(json.dumps(team))
        held("--accept", "pwd > where")
        tasks("complete", "1", "--as", "ann")
        assert (tmp_path / "where").exists()

    def test_they_are_told_which_task_it_is_about(self, tasks, held, atm):
        held("--accept", f"echo $ATM_TEAM $ATM_IDENTITY $ATM_TASK > {atm.folder}/facts")
        tasks("complete", "1", "--as", "ann")
        assert (atm.folder / "facts").read_text() == "crew ann 1\n"

    def test_a_folder_that_is_not_there_refuses(self, tasks, held, tmp_path):
        held("--accept", "true", "--folder", str(tmp_path / "gone"))
        err = tasks("complete", "1", "--as", "ann", code=1).err
        assert str(tmp_path / "gone") in err
        assert status(tasks) == "in_progress"

    def test_one_that_hangs_is_stopped(self, tasks, held, atm):
        (atm.folder / ".atm.toml").write_text("[board]\ncheck_seconds = 0.3\n")
        trust(atm.home, atm.folder)
        held("--accept", "sleep 60 & sleep 60")
        assert "did not end within 0.3 s" in tasks("complete", "1", "--as", "ann", code=1).err

    @pytest.mark.parametrize("made", [True, False])
    def test_a_file_must_exist(self, tasks, held, tmp_path, made):
        held("--accept-file", "out/*.txt", "--folder", str(tmp_path))
        (tmp_path / "out").mkdir()
        if made:
            (tmp_path / "out/x.txt").touch()
        done = tasks("complete", "1", "--as", "ann", code=0 if made else 1)
        assert ("out/*.txt" in done.err) is not made

    @pytest.fixture
    def repository(self, tmp_path):
        """A branch `main` with one commit, and a commit that is on `side` alone."""
        folder = tmp_path / "repository"
        folder.mkdir()
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}

        def git(*words):
            name = ["-c", "user.name=x", "-c", "user.email=x@x"]
            done = subprocess.run(
                ["git", *name, *words], cwd=folder, env=environment, capture_output=True, text=True, check=True
            )
            return done.stdout.strip()

        git("init", "-q", "-b", "main")
        git("commit", "-q", "--allow-empty", "-m", "one")
        git("checkout", "-q", "-b", "side")
        git("commit", "-q", "--allow-empty", "-m", "two")
        return folder, git

    def test_a_commit_must_be_part_of_the_branch(self, tasks, held, repository):
        folder, git = repository
        held("--accept-commit", "main", "--folder", str(folder))
        assert "is not part of main" in tasks("complete", "1", "--as", "ann", code=1).err
        git("checkout", "-q", "main")
        git("merge", "-q", "side")
        task = tasks("complete", "1", "--as", "ann", "--json").json["task"]
        assert task["evidence"][0]["output"] == git("rev-parse", "HEAD")

    def test_the_commit_can_be_named(self, tasks, held, repository):
        folder, git = repository
        held("--accept-commit", "main", "--folder", str(folder))
        tasks("complete", "1", "--as", "ann", "--commit", "side", code=1)
        tasks("complete", "1", "--as", "ann", "--commit", git("rev-parse", "--short", "main"))

    @pytest.mark.parametrize("words", [["--commit", "nonsense"], ["--commit", "--all"], ["--commit", "-h"]])
    def test_a_commit_that_git_does_not_know_is_named(self, tasks, held, repository, words):
        held("--accept-commit", "main", "--folder", str(repository[0]))
        done = tasks("complete", "1", "--as", "ann", *words, code=1)
        assert words[-1] in done.err
        assert status(tasks) == "in_progress"

    def test_without_a_repository_it_is_refused(self, tasks, held, tmp_path):
        held("--accept-commit", "main", "--folder", str(tmp_path))
        assert "git" in tasks("complete", "1", "--as", "ann", code=1).err

    def test_a_check_of_a_kind_that_we_do_not_know_is_not_passed_over(self, tasks, held, atm):
        """A later version may know more kinds. Proof that we cannot ask for is not proof."""
        held("--accept", "true")
        path = atm.home / ".claude/tasks/crew/1.json"
        path.write_text(path.read_text().replace('"kind": "command"', '"kind": "oracle"'))
        assert "oracle" in tasks("complete", "1", "--as", "ann", code=1).err


class TestNoVerify:
    def test_an_agent_may_not(self, tasks, held):
        held("--accept", "false")
        error = tasks("complete", "1", "--no-verify", "--as", "ann", "--json", code=1).json["error"]
        assert error["code"] == "not-allowed"
        assert status(tasks) == "in_progress"

    @pytest.mark.parametrize("who", ["human", "team-lead"])
    def test_a_human_and_the_lead_may_and_it_is_recorded(self, tasks, held, who, atm):
        held("--accept", f"touch {atm.folder}/ran; false", who=who)
        task = tasks("complete", "1", "--no-verify", "--as", who, "--json").json["task"]
        assert task["unverified"]["by"] == who
        assert not (atm.folder / "ran").exists()
        assert tasks("history", "1", "--json").json["events"][-1]["unverified"] is True

    def test_a_member_who_is_human_may(self, tasks, held, quickly):
        quickly("teams", "add-member", "crew", "eve", "--backend-type", "human")
        held("--accept", "false", who="eve")
        tasks("complete", "1", "--no-verify", "--as", "eve")

    def test_people_see_that_nothing_was_proven(self, tasks, held):
        held("--accept", "false", who="human")
        tasks("complete", "1", "--no-verify", "--as", "human")
        assert "unverified: without its checks" in tasks("show", "1").out
        assert "unverified" in tasks("history", "1").out

    def test_without_any_checks_there_is_nothing_to_record(self, tasks, held):
        held(who="human")
        assert "unverified" not in tasks("complete", "1", "--no-verify", "--as", "human", "--json").json["task"]
