"""After `kill -9` of `atm run`: what its user types next, and that nothing is lost or charged for."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from pathlib import Path
from typing import Any

from tests.cli.conftest import Terminal
from tests.crew.conftest import NOTHING, Crew

TARGET = "atm/result/crew"
WAITS = "- [ ] Wait (id: w) (run: echo $$ >> {mark}; while [ ! -e {go} ]; do sleep 0.05; done; echo w > w.txt)\n"
AFTER = "- [ ] After it (depends: w) (run: cat w.txt > after.txt)\n"
OTHER = "- [ ] Another (run: echo o > o.txt)\n"
SCRIPTS = ("--runtime", "script", "--agents", "2", "--team", "crew")


class Killed:
    """A run whose loop was killed while the agent of its first task works."""

    def __init__(self, crew: Crew, *, completed: bool = False) -> None:
        self.crew = crew
        self.folder = crew.folder.parent
        self.mark, self.go, self.plan = (self.folder / name for name in ("mark", "go", "plan.md"))
        self.plan.write_text(WAITS.format(mark=self.mark, go=self.go) + AFTER)
        self.words = ("run", "--plan", str(self.plan), *SCRIPTS)
        loop = crew.atm.start(*self.words, "--yes", "--json")
        crew.eventually(self.mark.exists)
        if completed:  # a loop that stands still cannot merge what is completed
            loop.send_signal(signal.SIGSTOP)
            self.go.write_text("")
            crew.eventually(lambda: crew.task("1")["state"] == "completed")
        loop.kill()
        loop.communicate(timeout=60)
        (self.run,) = (one["run"] for one in crew("runs", "list", "--team", "crew", "--json").json["runs"])

    def begun(self) -> int:
        """How often a command of the first task was begun."""
        return len(self.mark.read_text().split())

    def last_word(self, *words: str, code: int | None = 0) -> dict[str, Any]:
        out = self.crew(*words, "--json", code=code).out
        word: dict[str, Any] = json.loads(out.splitlines()[-1])
        return word

    def at_terminal(self, *words: str) -> Terminal:
        environment = {**self.crew.atm.environment, "TERM": "dumb"}
        return Terminal(self.crew.atm.command(*words), environment, self.crew.folder, 80)

    def failures(self) -> dict[str, int]:
        said = self.crew("tasks", "list", "--all", "--team", "crew", "--json").json["tasks"]
        return {one["id"]: one["failures"] for one in said}


def states(crew: Crew) -> dict[str, str]:
    said = crew("tasks", "list", "--all", "--team", "crew", "--json").json["tasks"]
    return {one["id"]: one["state"] for one in said}


def on_target(crew: Crew, name: str) -> str:
    return crew.git("show", f"{TARGET}:{name}")


def test_the_same_command_again_without_a_terminal_begins_nothing_and_names_both_ways(crew: Crew) -> None:
    killed = Killed(crew)
    for plan in (killed.plan, killed.folder / "other.md"):
        plan.write_text(OTHER)
        said = crew("run", "--plan", str(plan), *SCRIPTS, "--yes", "--json", code=1).json["error"]
        assert said["code"] == "run-died"
        assert f"atm run --resume {killed.run} --team crew" in said["remedy"]
        assert "--fresh" in said["remedy"]
    assert states(crew) == {"1": "in_progress", "2": "blocked"}
    assert (killed.begun(), len(crew("runs", "list", "--team", "crew", "--json").json["runs"])) == (1, 1)
    killed.go.write_text("")
    assert killed.last_word("run", "--resume", "--team", "crew")["tasks"]["completed"] == ["1", "2"]
    assert (killed.begun(), killed.failures()) == (1, {"1": 0, "2": 0})
    assert crew.left() == NOTHING


def test_at_a_terminal_the_return_key_resumes_and_the_agent_at_work_is_taken_over(crew: Crew) -> None:
    killed = Killed(crew)
    terminal = killed.at_terminal(*killed.words, "--yes")
    shown = terminal.read_until(lambda text: "[Y/n]" in text)
    assert f"run {killed.run} died: 0 of 2 tasks completed; a1 still works" in shown
    terminal.type("\n")
    terminal.read_until(lambda text: "goes on" in text)
    killed.go.write_text("")
    assert "success: 2 of 2 tasks" in terminal.read_until(lambda _: False)
    assert (terminal.close(), killed.begun(), killed.failures()) == (0, 1, {"1": 0, "2": 0})
    assert crew.left() == NOTHING


def test_at_a_terminal_no_ends_the_agents_with_their_work_saved_and_charges_no_task(crew: Crew) -> None:
    killed = Killed(crew)
    terminal = killed.at_terminal(*killed.words, "--yes")
    terminal.read_until(lambda text: "[Y/n]" in text)
    terminal.type("n\n")
    crew.eventually(lambda: killed.begun() == 2)
    killed.go.write_text("")
    shown = terminal.read_until(lambda _: False)
    assert "ended a1 of an earlier run" in shown
    assert "success: 2 of 2 tasks" in shown
    assert (terminal.close(), killed.failures()) == (0, {"1": 0, "2": 0})
    assert crew.left() == NOTHING


def test_a_dry_run_says_that_the_last_run_died_and_changes_nothing(crew: Crew) -> None:
    killed = Killed(crew)
    said = crew(*killed.words, "--dry-run")
    assert f"note: run {killed.run} died" in said.err
    assert states(crew) == {"1": "in_progress", "2": "blocked"}


def test_ctrl_c_at_the_question_changes_nothing(crew: Crew) -> None:
    killed = Killed(crew)
    terminal = killed.at_terminal(*killed.words, "--yes")
    terminal.read_until(lambda text: "[Y/n]" in text)
    terminal.process.send_signal(signal.SIGINT)
    terminal.read_until(lambda _: False)
    assert terminal.close() == 130
    assert states(crew) == {"1": "in_progress", "2": "blocked"}
    assert len(crew.running()) > 0


def test_a_run_that_is_killed_while_the_user_reads_another_plan_is_never_replaced_unasked(crew: Crew) -> None:
    """When the plan was shown the run was under way, so nothing was asked then; when the user says yes it is dead."""
    killed = Killed(crew)
    loop = crew.atm.start("run", "--resume", "--team", "crew", "--json")
    crew.eventually(lambda: crew("runs", "list", "--team", "crew", "--json").json["runs"][-1]["state"] == "running")
    killed.plan.write_text(OTHER)
    terminal = killed.at_terminal(*killed.words)
    assert "died" not in terminal.read_until(lambda text: "[y/N]" in text or "[Y/n]" in text)
    loop.kill()
    loop.communicate(timeout=60)
    terminal.type("y\n")
    shown = terminal.read_until(lambda _: False)
    assert terminal.close() == 1
    assert f"atm run --resume {killed.run} --team crew" in " ".join(shown.split())
    assert states(crew) == {"1": "in_progress", "2": "blocked"}
    assert (killed.begun(), len(crew("runs", "list", "--team", "crew", "--json").json["runs"])) == (1, 1)
    killed.go.write_text("")
    assert killed.last_word("run", "--resume", "--team", "crew")["outcome"] == "success"


def test_another_plan_with_fresh_ends_what_is_left_and_does_both(crew: Crew) -> None:
    killed = Killed(crew)
    killed.plan.write_text(OTHER)
    again = crew.atm.start(*killed.words, "--fresh", "--yes", "--json")
    crew.eventually(lambda: killed.begun() == 2)
    killed.go.write_text("")
    out, _ = again.communicate(timeout=120)
    report = json.loads(out.splitlines()[-1])
    assert (report["outcome"], report["tasks"]["completed"]) == ("success", ["1", "2", "3"])
    assert killed.failures() == {"1": 0, "2": 0, "3": 0}
    assert (on_target(crew, "w.txt"), on_target(crew, "o.txt")) == ("w", "o")
    runs = crew("runs", "list", "--team", "crew", "--json").json["runs"]
    assert [one["state"] for one in runs] == ["died", "success"]
    assert crew.left() == NOTHING


def test_a_run_that_was_killed_with_its_agent_is_resumed_and_its_task_is_not_charged(crew: Crew) -> None:
    killed = Killed(crew)
    for one in sorted(crew.running(), key=lambda one: one.pid):  # the host before its command
        with contextlib.suppress(ProcessLookupError):  # it ended with the one before
            os.kill(one.pid, signal.SIGKILL)
    killed.go.write_text("")
    assert killed.last_word("run", "--resume", "--team", "crew")["outcome"] == "success"
    assert (killed.begun(), killed.failures()) == (2, {"1": 0, "2": 0})
    assert crew.left() == NOTHING


def test_an_agent_that_runs_already_keeps_its_name_and_the_run_takes_others(crew: Crew) -> None:
    """The agent of `up` was named a1 by its user; a run that wanted that name would be refused its start."""
    crew("up", "command:a1", "--prompt", "sleep 600", "--team", "crew")
    plan = crew.folder.parent / "plan.md"
    plan.write_text(OTHER)
    out = crew("run", "--plan", str(plan), *SCRIPTS, "--yes", "--json").out
    report = json.loads(out.splitlines()[-1])
    assert ([one["name"] for one in report["agents"]], report["outcome"]) == (["a2", "a3"], "success")
    assert crew.task("1")["failures"] == 0
    crew("kill", "a1", "--team", "crew")


def test_a_worktree_that_cannot_be_made_is_no_attempt_and_the_run_says_why(crew: Crew) -> None:
    crew("config", "set", "runs.human_minutes", "0.01")
    worktrees = Path(crew.layout.state_root, "worktrees")
    worktrees.parent.mkdir(parents=True, exist_ok=True)
    worktrees.write_text("in the way")
    plan = crew.folder.parent / "plan.md"
    plan.write_text(OTHER)
    said = crew("run", "--plan", str(plan), *SCRIPTS, "--yes", code=1).out
    assert "#1 Another cannot be begun: " in said, said
    assert str(worktrees) in said
    assert (crew.task("1")["failures"], states(crew)) == (0, {"1": "pending"})
    worktrees.unlink()
    again = crew("run", *SCRIPTS, "--yes", "--json")
    assert json.loads(again.out.splitlines()[-1])["outcome"] == "success"
    assert on_target(crew, "o.txt") == "o"


# Work that was completed when the loop was killed.


def test_what_was_completed_and_not_merged_is_merged_by_whatever_run_comes_next(crew: Crew) -> None:
    killed = Killed(crew, completed=True)
    listed = crew("merge", "--team", "crew", "--json").json["items"]
    assert [(one["task"], one["status"]) for one in listed][:1] == [("1", "queued")]
    killed.plan.write_text(OTHER)
    report = killed.last_word(*killed.words, "--fresh", "--yes")
    assert (report["outcome"], [row["task"] for row in report["merged"]]) == ("success", ["1", "2", "3"])
    assert (on_target(crew, "w.txt"), on_target(crew, "after.txt")) == ("w", "w")
    assert (killed.begun(), killed.failures()) == (1, {"1": 0, "2": 0, "3": 0})


def test_it_is_merged_without_a_run_too(crew: Crew) -> None:
    Killed(crew, completed=True)
    items = crew("merge", "work", "--team", "crew", "--json").json["items"]
    assert [(one["task"], one["status"]) for one in items] == [("1", "merged")]
    assert on_target(crew, "w.txt") == "w"


def test_it_is_merged_into_another_branch_if_the_next_run_names_one(crew: Crew) -> None:
    killed = Killed(crew, completed=True)
    report = killed.last_word(*killed.words, "--fresh", "--yes", "--into", "elsewhere")
    assert (report["outcome"], report["into"]["branch"]) == ("success", "elsewhere")
    assert (crew.git("show", "elsewhere:w.txt"), crew.git("show", "elsewhere:after.txt")) == ("w", "w")


def test_a_run_begins_for_nothing_but_the_merge_of_what_is_completed(crew: Crew) -> None:
    killed = Killed(crew, completed=True)
    crew("tasks", "cancel", "2", "--reason", "not needed", "--team", "crew")
    report = killed.last_word("run", *SCRIPTS, "--fresh", "--yes")
    assert [row["task"] for row in report["merged"]] == ["1"]
    assert on_target(crew, "w.txt") == "w"


# Work that builds on work in conflict.

CONFLICT = """\
- [ ] One (id: a) (run: echo 1 > x.txt; touch {go}1; while [ ! -e {go}2 ]; do sleep 0.05; done)
- [ ] Two (id: b) (run: echo 2 > x.txt; touch {go}2; while [ ! -e {go}1 ]; do sleep 0.05; done)
- [ ] Both (depends: a, b) (run: cp x.txt both.txt)
"""


def in_conflict(crew: Crew) -> tuple[str, ...]:
    plan = crew.folder.parent / "plan.md"
    plan.write_text(CONFLICT.format(go=crew.folder.parent / "go"))
    return ("run", "--plan", str(plan), *SCRIPTS)


def resolve(crew: Crew, task: str) -> None:
    place = Path(crew("merge", "resolve", task, "--team", "crew", "--json").json["folder"])
    (place / "x.txt").write_text("both\n")
    assert crew("merge", "resolve", task, "--done", "--team", "crew", "--json").json["item"]["status"] == "merged"


def flagged(crew: Crew) -> str:
    items = crew("merge", "--team", "crew", "--json", code=None).json.get("items", [])
    return next((one["task"] for one in items if one["needs_human"]), "")


def test_what_builds_on_a_conflict_waits_for_it_and_begins_as_soon_as_it_is_resolved(crew: Crew) -> None:
    running = crew.atm.start(*in_conflict(crew), "--yes", "--json")
    crew.eventually(lambda: flagged(crew))
    assert states(crew)["3"] == "pending"
    resolve(crew, flagged(crew))
    out, _ = running.communicate(timeout=120)
    assert json.loads(out.splitlines()[-1])["outcome"] == "success"
    assert on_target(crew, "both.txt") == "both"
    assert crew.task("3")["failures"] == 0
    assert crew.left() == NOTHING


def test_a_run_that_ended_before_the_conflict_was_resolved_says_so_and_is_resumed_to_success(crew: Crew) -> None:
    crew("config", "set", "runs.human_minutes", "0.01")
    out = crew(*in_conflict(crew), "--yes", code=2).out
    conflict = flagged(crew)
    assert "#3 cannot go on without a person" in out
    assert f"not merged: #{conflict}" in out
    (run,) = crew("runs", "list", "--team", "crew", "--json").json["runs"]
    text = Path(crew.layout.run("crew", run["run"]), "report.md").read_text()
    assert f"it waits for the merge of #{conflict} (in conflict in x.txt)" in text
    resolve(crew, conflict)
    report = json.loads(crew("run", "--resume", "--team", "crew", "--json").out.splitlines()[-1])
    assert (report["outcome"], report["tasks"]["completed"]) == ("success", ["1", "2", "3"])
    assert on_target(crew, "both.txt") == "both"
