"""Hooks of the board: asked in Claude Code's words, obeyed when they say no, passed over when they do not answer."""

from __future__ import annotations

import json
import time

import pytest
from tests.proving import proves
from tests.trusting import trust


@pytest.fixture
def written(atm):
    """Set the hooks of `.atm.toml`."""

    def write(**hooks):
        lines = [f"{key} = {json.dumps(value)}" for key, value in hooks.items()]
        (atm.folder / ".atm.toml").write_text("\n".join(["[hooks]", *lines, ""]))

    return write


@pytest.fixture
def hook(atm, written):
    """Set the hooks of `.atm.toml`, and say yes to them."""

    def write(**hooks):
        written(**hooks)
        trust(atm.home, atm.folder)

    return write


@pytest.fixture
def heard(atm):
    """A command that keeps what it was told, and that."""
    path = atm.folder / "heard.json"
    return f"cat > {path}", lambda: json.loads(path.read_text())


def log(atm):
    return [json.loads(line) for line in (atm.home / ".local/state/atm/hooks.jsonl").read_text().splitlines()]


COMMON = {"session_id", "transcript_path", "cwd", "permission_mode", "hook_event_name", "teammate_name", "team_name"}


class TestTaskCreated:
    def test_it_hears_what_claude_codes_hook_hears(self, tasks, hook, heard):
        command, told = heard
        hook(TaskCreated=command)
        tasks("add", "First", "--description", "why", "--as", "ann")
        said = told()
        assert set(said) == COMMON | {"task_id", "task_subject", "task_description"}
        assert (said["hook_event_name"], said["teammate_name"], said["team_name"]) == ("TaskCreated", "ann", "crew")
        assert (said["task_id"], said["task_subject"], said["task_description"]) == ("1", "First", "why")

    def test_it_hears_the_folder_that_it_runs_in(self, tasks, hook, heard, atm):
        command, told = heard
        hook(TaskCreated=command)
        tasks("add", "First")
        assert told()["cwd"] == str(atm.folder)

    def test_exit_2_refuses_with_what_it_wrote(self, tasks, hook):
        hook(TaskCreated="echo no tests named >&2; exit 2")
        error = tasks("add", "First", "--json", code=1).json["error"]
        assert error["code"] == "hook-blocked"
        assert "no tests named" in error["message"]
        assert tasks("list", "--json").json["tasks"] == []

    def test_a_decision_in_json_refuses_too(self, tasks, hook):
        hook(TaskCreated="""echo '{"decision": "block", "reason": "too vague"}'""")
        assert "too vague" in tasks("add", "First", code=1).err

    @pytest.mark.parametrize("command", ["exit 0", "echo fine", "echo '{}'", "echo '{broken'", "cat >&2"])
    def test_exit_0_lets_it_pass_without_a_word(self, tasks, hook, command):
        hook(TaskCreated=command)
        assert tasks("add", "First").err == ""

    @pytest.mark.parametrize("command", ["exit 1", "exit 77", "kill -9 $$", "no-such-program"])
    def test_anything_else_is_a_warning(self, tasks, hook, command):
        hook(TaskCreated=command)
        done = tasks("add", "First")
        assert done.out == "added #1 First\n"
        assert "TaskCreated hook" in done.err

    def test_one_that_hangs_is_stopped_and_blocks_nobody(self, tasks, hook):
        hook(TaskCreated="sleep 600", seconds=0.3)
        began = time.monotonic()
        assert "0.3 s" in tasks("add", "First").err
        assert time.monotonic() - began < 300, "it was waited for to the end"
        assert len(tasks("list", "--json").json["tasks"]) == 1

    def test_others_can_work_on_the_board_while_it_thinks(self, crew, tasks, hook, eventually):
        hook(TaskCreated=f"touch {crew.folder}/asked; while [ ! -e {crew.folder}/go ]; do sleep 0.05; done")
        adding = crew.start("tasks", "add", "Slow")
        eventually((crew.folder / "asked").exists)
        (crew.folder / ".atm.toml").unlink()
        assert tasks("add", "Quick", "--json").json["task"]["id"] == "2"
        (crew.folder / "go").touch()
        assert adding.communicate(timeout=60)[0] == b"added #1 Slow\n"

    def test_several_are_asked_in_order_until_one_says_no(self, tasks, hook, atm):
        hook(TaskCreated=["touch one", "exit 2", "touch three"])
        tasks("add", "First", code=1)
        assert (atm.folder / "one").exists()
        assert not (atm.folder / "three").exists()

    def test_a_refused_import_adds_nothing_at_all(self, tasks, hook, atm):
        hook(TaskCreated="grep -q Bad && exit 2; exit 0")
        (atm.folder / "p.md").write_text("- [ ] Good\n- [ ] Bad\n")
        tasks("import", "p.md", code=1)
        assert tasks("list", "--json").json["tasks"] == []

    def test_a_refused_number_is_not_given_again(self, tasks, hook):
        """The hook may have written it down somewhere."""
        hook(TaskCreated="exit 2")
        tasks("add", "First", code=1)
        hook()
        assert tasks("add", "Second", "--json").json["task"]["id"] == "2"

    def test_the_parts_of_a_split_task_are_asked_for_too(self, tasks, hook):
        tasks("add", "First")
        hook(TaskCreated="echo no parts >&2; exit 2")
        assert "no parts" in tasks("split", "1", "--into", "a", "b", code=1).err
        assert len(tasks("list", "--json").json["tasks"]) == 1

    def test_feedback_of_several_lines_is_shown_as_such(self, tasks, hook):
        hook(TaskCreated="printf 'one\\ntwo\\n' >&2; exit 2")
        assert any(line.strip() == "two" for line in tasks("add", "First", code=1).err.splitlines())

    def test_escapes_in_the_feedback_do_not_reach_the_terminal(self, tasks, hook):
        hook(TaskCreated="printf '\\033[2J\\007' >&2; exit 2")
        assert not {"\x1b", "\x07"} & set(tasks("add", "First", code=1).err)


class TestTaskCompleted:
    @pytest.fixture
    def held(self, tasks):
        tasks("add", "First", "--description", "why")
        tasks("claim", "--as", "ann")
        return tasks

    def test_it_hears_what_claude_codes_hook_hears(self, held, hook, heard):
        command, told = heard
        hook(TaskCompleted=command)
        held("complete", "1", "--as", "ann")
        said = told()
        assert set(said) == COMMON | {"task_id", "task_subject", "task_description"}
        assert (said["hook_event_name"], said["teammate_name"], said["task_id"]) == ("TaskCompleted", "ann", "1")

    @proves("R004-gap-p3-05")
    def test_exit_2_keeps_it_in_progress_with_feedback(self, held, hook):
        hook(TaskCompleted="echo lint first >&2; exit 2")
        assert "lint first" in held("complete", "1", "--as", "ann", code=1).err
        assert held("show", "1", "--json").json["task"]["status"] == "in_progress"

    def test_it_is_not_asked_when_the_checks_fail(self, tasks, hook, atm):
        tasks("add", "First", "--accept", "false")
        tasks("claim", "--as", "ann")
        hook(TaskCompleted=f"touch {atm.folder}/asked")
        tasks("complete", "1", "--as", "ann", code=1)
        assert not (atm.folder / "asked").exists()

    def test_continue_false_completes_it_and_tells_the_member_to_stop(self, held, hook):
        hook(TaskCompleted="""echo '{"continue": false, "stopReason": "out of budget"}'""")
        answer = held("complete", "1", "--as", "ann", "--json").json
        assert answer["task"]["status"] == "completed"
        assert (answer["continue"], answer["stopReason"]) == (False, "out of budget")

    def test_people_are_told_to_stop_too(self, held, hook):
        hook(TaskCompleted="""echo '{"continue": false, "stopReason": "out of budget"}'""")
        done = held("complete", "1", "--as", "ann")
        assert "out of budget" in done.out + done.err

    def test_one_that_hangs_or_crashes_does_not_hold_it_up(self, held, hook):
        hook(TaskCompleted=["exit 9", "sleep 60"], seconds=0.3)
        done = held("complete", "1", "--as", "ann")
        assert done.err.count("TaskCompleted hook") == 2
        assert done.out.startswith("completed #1")

    def test_completing_again_does_not_ask_again(self, held, hook, atm):
        hook(TaskCompleted=f"echo x >> {atm.folder}/asked")
        held("complete", "1", "--as", "ann")
        held("complete", "1", "--as", "ann")
        assert (atm.folder / "asked").read_text() == "x\n"


class TestTeammateIdle:
    @proves("R004-defects-06b")
    def test_it_hears_who_is_idle_once(self, tasks, hook, heard, atm):
        command, told = heard
        hook(TeammateIdle=f"{command}; echo x >> {atm.folder}/times")
        tasks("claim", "--as", "ann", code=3)
        tasks("claim", "--as", "ann", code=3)
        assert (atm.folder / "times").read_text() == "x\n"
        assert set(told()) == COMMON
        assert (told()["hook_event_name"], told()["teammate_name"]) == ("TeammateIdle", "ann")

    def test_and_again_after_the_next_work(self, tasks, hook, atm):
        hook(TeammateIdle=f"echo x >> {atm.folder}/times")
        tasks("claim", "--as", "ann", code=3)
        tasks("add", "First")
        tasks("claim", "--as", "ann")
        tasks("complete", "1", "--as", "ann")
        tasks("claim", "--as", "ann", code=3)
        assert (atm.folder / "times").read_text() == "x\nx\n"

    @proves("R004-gap-p3-04")
    def test_its_feedback_is_handed_on(self, tasks, hook):
        hook(TeammateIdle="echo look at the flaky test >&2; exit 2")
        answer = tasks("claim", "--as", "ann", "--json", code=3).json
        assert answer["feedback"] == "look at the flaky test"
        assert "look at the flaky test" in tasks("claim", "--as", "bob", code=3).out

    def test_so_is_the_wish_to_stop(self, tasks, hook):
        hook(TeammateIdle="""echo '{"continue": false, "stopReason": "go home"}'""")
        answer = tasks("claim", "--as", "ann", "--json", code=3).json
        assert (answer["continue"], answer["stopReason"]) == (False, "go home")
        assert "go home" in tasks("claim", "--as", "bob", code=3).out

    def test_a_task_that_is_named_and_cannot_be_had_makes_nobody_idle(self, tasks, hook, atm):
        tasks("add", "First", "--owner", "bob")
        hook(TeammateIdle=f"touch {atm.folder}/asked")
        tasks("claim", "1", "--as", "ann", code=3)
        assert not (atm.folder / "asked").exists()


def test_every_run_stands_in_a_log_of_its_own(tasks, hook, atm):
    hook(TaskCreated=["echo hello", "echo no >&2; exit 2"])
    tasks("add", "First", code=1)
    hook(TaskCreated="sleep 60", seconds=0.3)
    tasks("add", "First")
    fine, refused, hung = log(atm)
    assert (fine["event"], fine["team"], fine["command"], fine["code"]) == ("TaskCreated", "crew", "echo hello", 0)
    assert (fine["output"], fine["blocked"], fine["timedOut"]) == ("hello\n", False, False)
    assert (refused["code"], refused["blocked"], refused["output"]) == (2, True, "no\n")
    assert (hung["code"], hung["timedOut"], hung["blocked"]) == (None, True, False)
    assert all(entry["at"].endswith("Z") and entry["seconds"] >= 0 for entry in (fine, refused, hung))


def test_a_mistyped_event_is_answered_with_the_nearest(tasks, written):
    written(TaskCreatd="true")
    assert "hooks.TaskCreated" in tasks("add", "First", code=1).err


def test_a_hook_that_is_no_text_is_refused(tasks, written):
    written(TaskCreated=7)
    assert "hooks.TaskCreated" in tasks("add", "First", code=1).err
