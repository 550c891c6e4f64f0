"""Each failure of the seed, with real processes: what was lost comes back, what was broken off is found."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from tests.crew.repositories import GIT
from tests.sessions.conftest import BRISK, LEAD, Record, Stage, kill, said

from atm.mail.services.posting import Draft
from atm.mail.services.sending import send

VERIFY = "Consolidation interrupted. Verify your changes?"

KILLED_BEFORE = """#!/bin/sh
case "$*" in *" commit --quiet "*) kill -9 $PPID; exit 1;; esac
exec {git} "$@"
"""
KILLED_AFTER = """#!/bin/sh
case "$*" in *" commit --quiet "*) {git} "$@"; kill -9 $PPID; exit 1;; esac
exec {git} "$@"
"""
"""A git that kills whoever runs it, just before or just after it commits."""


def mail(stage: Stage, sender: str, to: str, text: str) -> None:
    send(stage.room, "crew", to, Draft(sender=sender, text=text))


def lose_the_home(stage: Stage) -> None:
    shutil.rmtree(stage.home_of_team)
    shutil.rmtree(Path(stage.layout.task_lists) / "crew")


# The home copy.


def test_a_team_whose_folder_is_lost_comes_back_from_git(led: Stage) -> None:
    mail(led, "bob", "ann", "read before")
    led("read", "--as", "ann")
    mail(led, "cat", "ann", "not read yet")
    led.session("checkpoint", "crew", "--git")
    ledger, id, former = led.atm.ledger(), led.state["team_id"], led.state["checkpoint_sequence"]
    lose_the_home(led)
    assert led.session("list", "--all", code=3)["teams"] == []
    done = led.session("resume", "crew")
    assert (done["restored_from"], [one["code"] for one in done["warnings"]]) == ("git", ["restored-from-git"])
    assert (done["team_id"], led.state["team_id"]) == (id, id)
    assert led.state["checkpoint_sequence"] >= former
    assert [(one["name"], one["task"]) for one in done["members"]] == [
        *((LEAD, None), ("ann", None), ("bob", "1"), ("cat", None))
    ]
    assert {one["id"]: one["state"] for one in led("tasks", "list", "--json").json["tasks"]} == {
        "1": "in_progress",
        "2": "pending",
        "3": "pending",
    }
    assert led.texts("ann")[0] == "not read yet"
    assert led.texts("ann").count("read before") == 0
    assert led.atm.ledger()[: len(ledger)] == ledger
    led("tasks", "complete", "1", "--as", "bob", "--result", "done")
    assert led.task("1")["finishedBy"] == "bob"


def test_tasks_that_were_done_count_as_done_when_a_board_comes_back(led: Stage) -> None:
    led("tasks", "add", "Four", "--depends-on", "1")
    led("tasks", "claim", "3", "--as", "cat")
    for id, who in (("1", "bob"), ("3", "cat")):
        led("tasks", "complete", id, "--as", who, "--result", "done")
    led("tasks", "add", "Five")
    led("tasks", "claim", "5", "--as", "cat")
    led("tasks", "complete", "5", "--as", "cat", "--result", "done")
    led.session("checkpoint", "crew", "--git")
    before = led.state["task_queue"]
    lose_the_home(led)
    done = led.session("resume", "crew")
    claimed = led("tasks", "claim", "4", "--as", "ann", "--json", code=None).json
    added = led("tasks", "add", "Six", "--json").json["task"]["id"]
    found = {
        "completed": done["tasks"]["completed"],
        "done": done["progress"]["done"],
        "claimed": (claimed.get("task") or {}).get("id") or claimed.get("reason"),
        "new": added,
    }
    assert found == {"completed": before["completed"], "done": 3, "claimed": "4", "new": "6"}


def test_a_torn_checkpoint_comes_back_from_git_and_the_higher_sequence_wins(led: Stage) -> None:
    path = led.home_of_team / "state.json"
    mail(led, "bob", "ann", "one")
    led.session("checkpoint", "crew", "--git")
    saved = led.state
    path.write_bytes(path.read_bytes()[:100])
    done = led.session("resume", "crew")
    assert (done["restored_from"], [one["code"] for one in done["warnings"]]) == ("git", ["restored-from-git"])
    assert (led.state["team_id"], led.state["task_queue"]) == (saved["team_id"], saved["task_queue"])
    in_git = led.state["checkpoint_sequence"]
    led.change_state(checkpoint_sequence=in_git - 1, mailbox_seq=0)
    assert led.session("probe", "crew")["restored_from"] == "git"
    assert led.session("resume", "crew")["restored_from"] == "git"
    led.change_state(checkpoint_sequence=led.state["checkpoint_sequence"] + 50)
    done = led.session("resume", "crew")
    assert (done["restored_from"], done["warnings"]) == ("home", [])
    assert led.state["checkpoint_sequence"] >= in_git + 50
    led.session("checkpoint", "crew", "--git")
    led.change_state(mailbox_seq=7)
    done = led.session("resume", "crew")
    assert done["restored_from"] == "home"
    assert "divergence" in [one["code"] for one in done["warnings"]]
    path.unlink()
    assert led.session("resume", "crew")["restored_from"] == "git"


# A consolidation that is broken off.


class Check:
    """A check that begins, and ends when it may."""

    def __init__(self, stage: Stage) -> None:
        self.began, self.may_end = stage.folder.parent / "began", stage.folder.parent / "may-end"
        self.command = f"touch {self.began}; until test -e {self.may_end}; do sleep 0.02; done"
        stage.settle(checks=[self.command], confirm_minutes=5)
        self.stage = stage

    def is_running_in(self, *words: str) -> subprocess.Popen[bytes]:
        process = self.stage.start("session", "consolidate", "crew", *words, "--json", env={"ATM_SESSION_ID": "s1"})
        self.stage.eventually(lambda: self.began.exists() or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        return process

    def is_killed_in(self, *words: str) -> None:
        """-9, while the check runs; then the check itself ends."""
        process = self.is_running_in(*words)
        process.kill()
        process.communicate()
        self.may_end.touch()
        self.stage.settle()


@pytest.fixture
def ready(led: Stage) -> Stage:
    """Nothing is open, bob is there, and the lead has changes in its folder."""
    led("tasks", "complete", "1", "--as", "bob", "--result", "done")
    for id in ("2", "3"):
        led("tasks", "cancel", id, "--as", LEAD)
    (led.folder / "b.txt").write_text("new\n")
    (led.folder / "a.txt").write_text("one and more\n")
    return led


def head(stage: Stage) -> str:
    return stage.git("rev-parse", "HEAD")


def answer(stage: Stage, text: str) -> None:
    """Bob's, as soon as he was asked."""
    asked = len([one for one in stage.texts("bob") if VERIFY in one])
    stage.eventually(lambda: len([one for one in stage.texts("bob") if VERIFY in one]) > asked)
    stage("send", LEAD, text, "--from", "bob")


def continued(stage: Stage, text: str) -> tuple[int, Record]:
    process = stage.start("session", "consolidate", "crew", "--continue", "--json", env={"ATM_SESSION_ID": "s2"})
    answer(stage, text)
    out, _ = process.communicate(timeout=240)
    return process.returncode, json.loads(out)


def test_killed_in_the_middle_it_is_found_by_both_signs_and_goes_on_when_the_members_say_so(ready: Stage) -> None:
    before, first = ready.user_sees(), head(ready)
    Check(ready).is_killed_in("-m", "all of it")
    assert ready.state["consolidation"]["step"] == "checks"
    assert (ready.state["consolidation"]["partial"], ready.state["partial_consolidation"]) == (True, True)
    done = ready.session("resume", "crew", "--force", by="s2")
    assert (done["status"], "consolidating" in [one["code"] for one in done["warnings"]]) == ("consolidating", True)
    assert (done["interrupted_consolidation"]["step"], done["interrupted_consolidation"]["files"]) == (
        "checks",
        ["a.txt", "b.txt"],
    )
    assert done["next"] == [
        *("atm session consolidate crew --continue", "atm session consolidate crew --abort", "git status")
    ]
    assert ready.user_sees() == before, "nothing is committed by itself"
    assert ready.refusal("consolidate", "crew", by="s2") == "bad-move"
    code, failed = continued(ready, "Need to fix: the parser")
    assert (code, failed["error"]["code"]) == (1, "checks-failed")
    assert "bob" in failed["error"]["message"]
    assert (ready.state["status"], ready.user_sees()) == ("active", before)
    assert "consolidation" not in ready.state
    check = Check(ready)
    for path in (check.began, check.may_end):
        path.unlink()
    check.is_killed_in("-m", "all of it", "--as", LEAD)
    assert head(ready) == first
    code, finished = continued(ready, "My edits OK")
    assert (code, finished["status"], finished["steps"]) == (
        0,
        "complete",
        ["checks", "hooks", "commit", "push", "mark"],
    )
    assert finished["commit"] == head(ready)
    assert ready.git("log", "-1", "--format=%s|%an") == "all of it|Lena"
    assert ready.git("rev-parse", "HEAD^") == first, "one commit, and no second one"
    assert ready.git("status", "--porcelain") == ""
    assert (ready.home_of_team / "COMPLETED").exists()
    assert ready.session("review", "crew")["status"] == "complete"


def test_one_sign_alone_is_no_broken_off_consolidation(ready: Stage) -> None:
    Check(ready).is_killed_in()
    ready.git("stash", "-q", "-u")
    assert ready.session("resume", "crew")["interrupted_consolidation"] is None
    ready.git("stash", "pop", "-q")
    assert ready.session("resume", "crew")["interrupted_consolidation"]["files"] == ["a.txt", "b.txt"]
    ready.change_state(consolidation=None)
    assert ready.session("resume", "crew")["interrupted_consolidation"] is None


def test_who_forces_waits_for_nobody_and_who_is_silent_is_named(ready: Stage) -> None:
    Check(ready).is_killed_in()
    ready.settle(confirm_minutes=0)
    said_so = ready.session("consolidate", "crew", "--continue", code=1)["error"]
    assert "bob" in said_so["message"]
    assert len([text for text in ready.texts("bob") if VERIFY in text]) == 1
    ready.session("consolidate", "crew", "--continue", code=1)
    assert len([text for text in ready.texts("bob") if VERIFY in text]) == 1, "asked once"
    assert ready.session("consolidate", "crew", "--continue", "--force")["status"] == "complete"


def killed_by_git(stage: Stage, script: str) -> None:
    """A consolidation that ends where its git says so."""
    wrapper = stage.folder.parent / "bin/git"
    wrapper.parent.mkdir(exist_ok=True)
    wrapper.write_text(script.format(git=GIT))
    wrapper.chmod(0o755)
    path = {"PATH": f"{wrapper.parent}:{os.environ['PATH']}", "ATM_SESSION_ID": "s1"}
    process = stage.start("session", "consolidate", "crew", env=path)
    process.communicate(timeout=240)
    assert process.returncode == -signal.SIGKILL


def test_what_was_staged_for_it_is_not_staged_any_more_after_an_abort(ready: Stage) -> None:
    before, first = ready.git("status", "--porcelain"), head(ready)
    killed_by_git(ready, KILLED_BEFORE)
    assert ready.state["consolidation"]["step"] == "commit"
    assert ready.git("diff", "--cached", "--name-only").split() == ["a.txt", "b.txt"]
    assert ready.session("resume", "crew")["interrupted_consolidation"]["step"] == "commit"
    done = ready.session("consolidate", "crew", "--abort")
    assert (done["status"], done["steps"]) == ("active", ["index restored"])
    assert (ready.git("status", "--porcelain"), head(ready)) == (before, first)
    assert (ready.folder / "b.txt").read_text() == "new\n"
    assert ready.refusal("consolidate", "crew", "--abort") == "bad-move"
    assert ready.session("consolidate", "crew")["status"] == "complete"


def test_an_abort_beside_one_who_goes_on_is_refused_and_touches_no_index(ready: Stage) -> None:
    killed_by_git(ready, KILLED_BEFORE)
    ready.start("session", "consolidate", "crew", "--continue", "--json")
    ready.eventually(lambda: any(VERIFY in text for text in ready.texts("bob")))
    before = ready.user_sees()
    assert ready.refusal("consolidate", "crew", "--abort") == "consolidation-running"
    assert ready.user_sees() == before


def test_who_needs_to_fix_something_finds_the_index_as_it_was(ready: Stage) -> None:
    unstaged = ready.git("status", "--porcelain")
    killed_by_git(ready, KILLED_BEFORE)
    going_on = ready.start("session", "consolidate", "crew", "--continue", "--json")
    ready.eventually(lambda: any(VERIFY in text for text in ready.texts("bob")))
    ready("send", LEAD, "Need to fix: all of it", "--from", "bob")
    out, _ = going_on.communicate(timeout=240)
    assert (going_on.returncode, json.loads(out)["error"]["code"]) == (1, "checks-failed")
    assert (ready.state["status"], ready.git("status", "--porcelain")) == ("active", unstaged)


def test_killed_when_the_commit_was_made_an_abort_does_not_undo_it_in_the_index(ready: Stage) -> None:
    first = head(ready)
    killed_by_git(ready, KILLED_AFTER)
    assert ready.git("rev-parse", "HEAD^") == first
    ready.session("consolidate", "crew", "--abort")
    assert ready.git("status", "--porcelain") == "", "the commit has it all; nothing is staged against it"


def test_killed_when_the_commit_was_made_it_goes_on_without_a_second_one(ready: Stage) -> None:
    first = head(ready)
    killed_by_git(ready, KILLED_AFTER)
    done = ready.session("consolidate", "crew", "--continue", "--force")
    assert (done["status"], done["commit"]) == ("complete", head(ready))
    assert ready.git("rev-parse", "HEAD^") == first


# Nothing is committed that did not pass.


def what_is_there(stage: Stage) -> tuple[str, str, str]:
    """HEAD, what the index says, and `git status`."""
    return head(stage), stage.git("ls-files", "--stage"), stage.git("status", "--porcelain")


def test_red_checks_and_hooks_stop_it_and_the_members_hear_why(ready: Stage) -> None:
    before = what_is_there(ready)
    ready.settle(checks=["true", "echo line 427 is wrong; exit 3"])
    error = ready.session("consolidate", "crew", code=1)["error"]
    assert error["code"] == "checks-failed"
    assert "line 427 is wrong" in error["message"]
    for name in ("ann", "bob", "cat"):
        assert "line 427 is wrong" in ready.texts(name)[-1]
    assert (ready.state["status"], what_is_there(ready)) == ("active", before)
    ready.settle(checks=["test -f b.txt"])
    hook = ready.folder / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho not on my watch >&2; exit 1\n")
    hook.chmod(0o755)
    error = ready.session("consolidate", "crew", code=1)["error"]
    assert (error["code"], "not on my watch" in error["message"]) == ("checks-failed", True)
    assert "not on my watch" in ready.texts("bob")[-1]
    assert (ready.state["status"], what_is_there(ready)) == ("active", before)
    hook.write_text("#!/bin/sh\nexit 0\n")
    done = ready.session("consolidate", "crew", "-m", "now")
    assert (done["status"], ready.git("log", "-1", "--format=%s")) == ("complete", "now")


def test_a_hook_sees_what_will_be_committed(ready: Stage) -> None:
    hook = ready.folder / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ngit diff --cached --name-only | grep -q b.txt && { echo no b.txt; exit 1; }\nexit 0\n")
    hook.chmod(0o755)
    first = head(ready)
    done = ready.session("consolidate", "crew", code=None)
    assert (done.get("error", {}).get("code"), head(ready)) == ("checks-failed", first)


def test_the_gate_names_what_is_not_ready(led: Stage) -> None:
    before = led.user_sees()
    error = led.session("consolidate", "crew", code=1)["error"]
    assert error["code"] == "checks-failed"
    assert all(word in error["message"] for word in ("bob: #1 is in progress", "#2", "#3"))
    assert (led.state["status"], led.user_sees()) == ("active", before)
    assert led.git("log", "-1", "--format=%s", "atm/checkpoints/crew").endswith("(gate)")


def test_it_is_pushed_where_asked_and_a_push_that_fails_can_be_gone_on_with(ready: Stage, tmp_path: Path) -> None:
    ready.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    error = ready.session("consolidate", "crew", "--push", code=1)["error"]
    assert error["code"] == "git-trouble"
    assert ready.state["consolidation"]["step"] == "push"
    made = head(ready)
    refused = ready.session("consolidate", "crew", "--continue", "--force", code=1)["error"]
    assert "nobody has asked for that now" in refused["message"], "a state that others can write names the remote"
    subprocess.run([GIT, "init", "-q", "--bare", str(tmp_path / "remote.git")], check=True)
    done = ready.session("consolidate", "crew", "--continue", "--force", "--push")
    assert (done["status"], done["pushed"], head(ready)) == ("complete", "origin", made)
    assert ready.git("ls-remote", "origin").split() == [made, "refs/heads/main"], "and no checkpoint"


def test_of_two_at_once_one_consolidates_and_nobody_may_lead_meanwhile(ready: Stage) -> None:
    check = Check(ready)
    first = check.is_running_in()
    assert ready.refusal("consolidate", "crew", by="s2") == "consolidation-running"
    assert ready.refusal("consolidate", "crew", "--continue", by="s2") == "consolidation-running"
    assert ready.refusal("resume", "crew", "--force", by="s2") == "consolidation-running"
    check.may_end.touch()
    out, _ = first.communicate(timeout=240)
    assert json.loads(out)["status"] == "complete"
    assert ready.refusal("consolidate", "crew") == "team-completed"


# Everything at once.


def test_when_everything_is_killed_at_once_a_resume_finds_it_all(stage: Stage) -> None:
    stage.settle(**BRISK)
    stage.make_team("crew", "cat")
    go = stage.folder.parent / "go"
    for name in ("x", "y"):
        stage("tasks", "add", name, "--run", f"echo {name} > {name}.txt; until test -e {go}; do sleep 0.02; done")
    stage("up", "script:ann", "script:bob", env={"ATM_SESSION_ID": "s1"})
    mail(stage, "ann", "cat", "one")
    stage.daemon.start_and_settle()
    stage.becomes("ann", "working")
    stage.becomes("bob", "working")
    stage.eventually(lambda: sum("until test" in one.command for one in stage.running()) >= 2)
    stage.eventually(lambda: stage.git("branch", "--list", "atm/checkpoints/crew") != "")
    stage.daemon.kill()
    for one in stage.running():
        kill(one.pid)
    stage.eventually(lambda: stage.running() == [])
    stage.age_lead(31)
    mail(stage, "cat", "bob", "two")
    done = stage.session("resume", "crew", by="s2")
    assert done["how"] == "taken_over"
    assert [one["text"] for one in done["messages"]] == ["one", "two"]
    go.touch()
    stage("up", "script:ann", "script:bob", env={"ATM_SESSION_ID": "s2"})
    for id in ("1", "2"):
        stage.is_done(id)
    tasks = [stage.task(id) for id in ("1", "2")]
    assert [task["state"] for task in tasks] == ["completed", "completed"]
    stage("down")
    assert stage.running() == []
    done_by = {task["subject"]: task["finishedBy"] for task in tasks}
    for name, id in (("x", "1"), ("y", "2")):
        assert stage.git("show", f"atm/work/crew/{id}-{done_by[name]}:{name}.txt") == name
    assert said(stage("session", "review", "crew", "--json", code=1)) == "bad-move"
