"""`atm run` over real processes, worktrees and git: a plan in, branches out, whatever is killed meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.crew.conftest import NOTHING, Crew
from tests.proving import proves

PLAN = """\
- [ ] Make b (id: b) (run: echo b > b.txt) (accept: test -f b.txt) (files: b.txt)
- [ ] Make c (id: c) (run: echo c > c.txt) (accept: test -f c.txt)
- [ ] Join them (id: d) (depends: b, c) (run: cat b.txt c.txt > d.txt) (accept: grep -q c d.txt)
"""
SLOW = "- [ ] Wait (id: w) (run: touch {mark}; while [ ! -e {go} ]; do sleep 0.05; done; echo w > w.txt)\n"
SCRIPTS = ("--runtime", "script", "--agents", "2", "--team", "crew")


@pytest.fixture
def plan(crew: Crew) -> Path:
    path = crew.folder.parent / "plan.md"
    path.write_text(PLAN)
    return path


def run(crew: Crew, plan: Path, *words: str, code: int | None = 0) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Its events, and its last word."""
    said = crew("run", "--plan", str(plan), *SCRIPTS, "--yes", "--json", *words, code=code)
    lines = [json.loads(line) for line in said.out.splitlines()]
    return lines[:-1], lines[-1]


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["kind"] for event in events]


def test_a_plan_becomes_branches_whose_checks_pass_and_nothing_is_left(crew: Crew, plan: Path) -> None:
    events, report = run(crew, plan)
    assert (report["action"], report["outcome"], report["team"]) == ("run", "success", "crew")
    assert report["tasks"]["completed"] == ["1", "2", "3"]
    branch = report["branches"][2]["branch"]
    assert crew.git("show", f"{branch}:d.txt") == "b\nc"  # what it builds on was done on two other branches
    assert crew.git("rev-parse", branch) == report["branches"][2]["commit"]
    assert crew.git("log", "-1", "--format=%an", branch) in ("a1", "a2")
    assert crew.left() == NOTHING
    assert crew.git("status", "--porcelain") == ""
    assert kinds(events)[0] == "run.started"
    assert kinds(events)[-1] == "run.ended"
    assert {"agent.spawned", "task.claimed", "task.completed", "task.unblocked"} <= {*kinds(events)}
    spawned = next(event for event in events if event["kind"] == "agent.spawned")
    assert spawned["detail"]["pid"] > 0
    assert (spawned["team"], spawned["run"], spawned["detail"]["generation"]) == ("crew", report["run"], 1)


def test_the_folder_of_a_run_has_everything(crew: Crew, plan: Path) -> None:
    _, report = run(crew, plan)
    folder = Path(crew.layout.run("crew", report["run"]))
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert {"plan.json", "plan.md", "events.jsonl", "report.json", "report.md"} <= names
    assert any(name.startswith("out/a") for name in names)
    assert (folder / "plan.md").read_text() == PLAN.replace("[ ]", "[x]")
    assert plan.read_text() == PLAN  # the user's own is touched only with --tick
    assert (folder.stat().st_mode & 0o777, (folder / "plan.json").stat().st_mode & 0o777) == (0o700, 0o600)
    assert "| #3 Join them |" in (folder / "report.md").read_text()
    assert json.loads((folder / "report.json").read_text())["outcome"] == "success"


@proves("R004-orchestration-O6b")
def test_the_users_plan_is_ticked_if_that_is_wanted_and_nothing_else_of_it_changes(crew: Crew, plan: Path) -> None:
    text = f"\ufeff# Mine\r\n\r\n{PLAN}- [ ] Cannot be (id: x) (run: false)\n".replace("\n", "\r\n").replace(
        "\r\r", "\r"
    )
    plan.write_bytes(text.encode())
    run(crew, plan, "--tick", code=2)
    assert plan.read_bytes().decode() == text.replace("[ ]", "[x]", 3)


def test_a_task_that_fails_for_good_makes_the_run_partial_and_the_next_unreachable(crew: Crew, plan: Path) -> None:
    plan.write_text(f"{PLAN}- [ ] Bad (id: e) (run: echo half > h.txt; false)\n- [ ] After (depends: e) (run: true)\n")
    events, report = run(crew, plan, code=2)
    assert report["outcome"] == "partial"
    assert (report["tasks"]["failed"], report["tasks"]["unreachable"]) == (["4"], ["5"])
    assert kinds(events).count("task.failed") == 3  # two retries are three attempts
    assert report["salvage"]
    saved = crew("salvage", "show", report["salvage"][0], "--team", "crew", code=None)
    assert "half" in saved.out
    assert crew.left() == NOTHING


def test_nothing_done_is_failed(crew: Crew, plan: Path) -> None:
    plan.write_text("- [ ] Bad (run: false)\n")
    assert run(crew, plan, code=1)[1]["outcome"] == "failed"


def test_a_dry_run_shows_waves_overlaps_and_commands_and_changes_no_byte(crew: Crew, plan: Path) -> None:
    plan.write_text(f"{PLAN}- [ ] Also b (run: true) (files: b.txt)\n")

    def everything() -> dict[str, bytes]:
        roots = (crew.atm.home, crew.folder)
        return {str(p): p.read_bytes() for root in roots for p in root.rglob("*") if p.is_file()}

    before = everything()
    said = crew("run", "--plan", str(plan), *SCRIPTS, "--dry-run", "--json").json
    assert said["dry_run"] is True
    assert said["waves"] == [["1", "2", "4"], ["3"]]
    assert said["overlaps"] == [{"tasks": ["1", "4"], "files": ["b.txt"]}]
    assert said["commands"][0] == {"task": "1", "command": "echo b > b.txt", "trusted": True}
    assert [one["name"] for one in said["agents"]] == ["a1", "a2"]
    assert said["base"] == {"rev": crew.git("rev-parse", "HEAD"), "branch": "main"}
    assert everything() == before


def test_a_run_that_was_done_before_has_nothing_to_do(crew: Crew, plan: Path) -> None:
    run(crew, plan)
    said = crew("run", "--plan", str(plan), *SCRIPTS, "--yes", "--json", code=3).json
    assert said["outcome"] == "nothing"


def test_without_a_terminal_and_without_yes_nothing_begins(crew: Crew, plan: Path) -> None:
    said = crew("run", "--plan", str(plan), *SCRIPTS, "--json", code=1).json
    assert said["error"]["code"] == "usage"
    assert crew("runs", "list", "--team", "crew", code=3).out == "this team has had no run\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            "- [ ] One (id: a) (depends: b) (run: true)\n- [ ] Two (id: b) (depends: a) (run: true)\n",
            "dependency-cycle",
        ),
        ("- [ ] One (depends: nothing) (run: true)\n", "bad-task"),
        ("- [ ] One (runtime: cloude) (run: true)\n", "bad-task"),
        ("- [ ] One\n", "bad-task"),
        ("no plan at all", "bad-task"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_before_anything_is_started(
    crew: Crew, plan: Path, text: str, code: str
) -> None:
    plan.write_text(text)
    said = crew("run", "--plan", str(plan), *SCRIPTS, "--yes", "--json", code=1).json
    assert said["error"]["code"] == code
    assert crew.left() == NOTHING


def test_a_runtime_that_is_not_here_is_refused(crew: Crew, plan: Path) -> None:
    path = {"PATH": "/usr/bin:/bin"}
    words = ("run", "--plan", str(plan), "--runtime", "opencode", "--team", "crew", "--yes", "--json")
    assert crew(*words, code=1, env=path).json["error"]["code"] == "runtime-missing"


def test_outside_of_a_repository_nothing_runs(crew: Crew, plan: Path) -> None:
    said = crew.atm("run", "--plan", str(plan), *SCRIPTS, "--yes", "--json", code=1, cwd=crew.folder.parent)
    assert said.json["error"]["code"] == "usage"


# Killed, interrupted, resumed.


class Slow:
    """A run that waits for us in the middle."""

    def __init__(self, crew: Crew, plan: Path, more: str = "") -> None:
        self.crew = crew
        self.mark, self.go = plan.parent / "mark", plan.parent / "go"
        plan.write_text(SLOW.format(mark=self.mark, go=self.go) + more)
        self.process = crew.atm.start("run", "--plan", str(plan), *SCRIPTS, "--yes", "--json")
        crew.eventually(self.mark.exists)

    def end(self, number: int) -> tuple[int, list[dict[str, Any]]]:
        self.process.send_signal(number)
        out, _ = self.process.communicate(timeout=60)
        return self.process.returncode, [json.loads(line) for line in out.splitlines() if line.endswith(b"}")]


def test_a_loop_that_is_killed_leaves_its_agents_at_work_and_another_goes_on(crew: Crew, plan: Path) -> None:
    slow = Slow(crew, plan, PLAN)
    slow.end(signal.SIGKILL)
    assert crew.running()
    assert crew("runs", "list", "--team", "crew", "--json").json["runs"][0]["state"] == "died"
    slow.go.write_text("")
    said = crew("run", "--resume", "--team", "crew", "--json")
    report = json.loads(said.out.splitlines()[-1])
    assert (report["outcome"], report["tasks"]["completed"]) == ("success", ["1", "2", "3", "4"])
    history = crew("tasks", "history", "1", "--team", "crew", "--json").json["events"]
    assert [event.get("to") for event in history].count("completed") == 1
    assert crew.left() == NOTHING


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_ends_its_agents_and_can_go_on(crew: Crew, plan: Path, number: int) -> None:
    slow = Slow(crew, plan, PLAN)
    code, said = slow.end(number)
    assert code == 128 + number
    assert (said[-1]["action"], said[-1]["outcome"]) == ("run", "stopped")
    assert "run.paused" in kinds(said[:-1])
    assert crew.left() == NOTHING
    slow.go.write_text("")
    report = json.loads(crew("run", "--resume", "--team", "crew", "--json").out.splitlines()[-1])
    assert report["outcome"] == "success"
    assert crew.left() == NOTHING


def test_an_agent_that_is_killed_is_started_again_and_its_task_tried_again(crew: Crew, plan: Path) -> None:
    slow = Slow(crew, plan, PLAN)
    owner = crew.task("1")["owner"]
    os.kill(crew.record(owner).pid, signal.SIGKILL)
    slow.go.write_text("")
    out, _ = slow.process.communicate(timeout=120)
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines[-1]["outcome"] == "success"
    error = next(event for event in lines if event.get("kind") == "agent.error")
    assert error["subject"] == owner
    assert crew.left() == NOTHING


def test_two_loops_cannot_look_after_one_team(crew: Crew, plan: Path) -> None:
    slow = Slow(crew, plan)
    said = crew("run", "--resume", "--team", "crew", "--json", code=1).json
    assert said["error"]["code"] == "run-active"
    slow.go.write_text("")
    slow.process.communicate(timeout=120)


def test_a_stopped_team_ends_its_run(crew: Crew, plan: Path) -> None:
    slow = Slow(crew, plan)
    crew("stop", "--team", "crew", code=None)
    out, _ = slow.process.communicate(timeout=120)
    assert json.loads(out.splitlines()[-1])["outcome"] == "stopped"
    assert slow.process.returncode == 1
    assert crew.left() == NOTHING


def test_a_run_ends_when_its_time_is_over(crew: Crew, plan: Path) -> None:
    plan.write_text("- [ ] Never ends (run: sleep 600)\n")
    events, report = run(crew, plan, "--max-minutes", "0.03", code=1)
    assert report["outcome"] == "stopped"
    assert {"budget.warned", "budget.exceeded"} & {*kinds(events)}
    assert crew.left() == NOTHING


def test_a_budget_that_is_used_up_stays_used_up_until_somebody_gives_more(crew: Crew, plan: Path) -> None:
    plan.write_text("- [ ] Slow (run: sleep 600)\n")
    run(crew, plan, "--max-minutes", "0.03", code=1)
    crew("tasks", "cancel", "1", "--reason", "too slow", "--team", "crew")
    crew("tasks", "add", "Quick", "--run", "true", "--team", "crew")
    again = crew("run", "--resume", "--team", "crew", "--json", code=1)
    assert json.loads(again.out.splitlines()[-1])["outcome"] == "stopped"
    more = crew("run", "--resume", "--team", "crew", "--max-minutes", "10", "--json")
    assert json.loads(more.out.splitlines()[-1])["outcome"] == "success"


def test_a_command_may_be_silent_for_as_long_as_its_own_limit_allows(crew: Crew, plan: Path) -> None:
    plan.write_text("- [ ] Quiet (run: sleep 2)\n")
    crew("config", "set", "runs.stuck_minutes", "0.001")
    crew("config", "set", "runs.answer_seconds", "0.1")
    events, report = run(crew, plan)
    assert report["outcome"] == "success"
    assert "agent.asked" not in kinds(events)


def test_an_agent_that_does_not_want_to_end_ends_with_its_run(crew: Crew, plan: Path) -> None:
    atm = " ".join(crew.atm.command("down", "--keep", "no", "--team", "crew"))
    mark = plan.parent / "mark"
    plan.write_text(f"- [ ] Stays (run: touch {mark}; while true; do {atm} 2>/dev/null; sleep 0.1; done)\n")
    process = crew.atm.start("run", "--plan", str(plan), *SCRIPTS, "--yes", "--json")
    crew.eventually(mark.exists)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
    assert crew.left() == NOTHING


def test_a_run_whose_reader_goes_away_leaves_nobody_behind(crew: Crew, plan: Path) -> None:
    slow = Slow(crew, plan)
    for pipe in (slow.process.stdout, slow.process.stderr):
        assert pipe is not None
        pipe.close()
    slow.go.write_text("")
    slow.process.wait(timeout=120)
    crew.eventually(lambda: crew.left() == NOTHING)


def test_an_order_that_somebody_changed_is_not_gone_on_with(crew: Crew, plan: Path) -> None:
    slow = Slow(crew, plan)
    slow.end(signal.SIGINT)
    (name,) = (one["run"] for one in crew("runs", "list", "--team", "crew", "--json").json["runs"])
    file = Path(crew.layout.run("crew", name), "plan.json")
    order = json.loads(file.read_text())
    evil = {"name": "evil", "runtime": "command", "command": ["/bin/sh", "-c", "touch pwned"]}
    file.write_text(json.dumps({**order, "seats": [evil]}))
    assert crew("run", "--resume", "--team", "crew", "--json", code=1).json["error"]["code"] == "not-trusted"
    file.write_text(json.dumps({**order, "run": "../../../.."}))
    said = crew("runs", "clean", name, "--team", "crew", "--yes", "--json", code=1).json
    assert said["error"]["code"] == "no-such-run"
    assert crew.atm.home.exists()


def test_a_stop_holds_although_somebody_tried_to_go_on_while_the_loop_was_busy(crew: Crew, plan: Path) -> None:
    slow = Slow(crew, plan)
    slow.process.send_signal(signal.SIGSTOP)
    crew("stop", "--team", "crew", code=None)
    assert crew("run", "--resume", "--team", "crew", "--json", code=1).json["error"]["code"] == "run-active"
    slow.process.send_signal(signal.SIGCONT)
    out, _ = slow.process.communicate(timeout=120)
    assert json.loads(out.splitlines()[-1])["outcome"] == "stopped"
    assert crew.left() == NOTHING


# What a run asks people for, and who may begin one.


def test_a_command_that_nobody_allowed_waits_for_a_person(crew: Crew, plan: Path) -> None:
    plan.write_text("- [ ] Mine (run: touch x)\n")
    crew("tasks", "import", str(plan), "--team", "crew")
    crew("config", "set", "runs.human_minutes", "0.01")
    said = crew("run", *SCRIPTS, "--yes", "--json", code=1)
    report = json.loads(said.out.splitlines()[-1])
    assert report["tasks"]["needs_human"] == ["1"]
    assert not (crew.folder / "x").exists()
    crew("tasks", "allow", "1", "--team", "crew")
    said = crew("run", *SCRIPTS, "--yes", "--json")
    assert json.loads(said.out.splitlines()[-1])["outcome"] == "success"


def test_agents_know_who_they_are_and_what_they_work_for(crew: Crew, plan: Path) -> None:
    names = ("ATM_TEAM", "ATM_IDENTITY", "ATM_TASK", "ATM_RUN", "ATM_GENERATION", "ATM_WORKTREE", "ATM_PORT_BASE")
    said = "; ".join(f'echo "${name}" >> who.txt' for name in names)
    plan.write_text(f"- [ ] Who (run: {said})\n")
    _, report = run(crew, plan)
    told = crew.git("show", f"{report['branches'][0]['branch']}:who.txt").splitlines()
    assert told[:5] == ["crew", report["agents"][0]["name"], "1", report["run"], "1"]
    assert told[5].endswith(f"/1-{told[1]}")
    assert told[6].isdecimal()


def test_hostile_titles_and_goals_break_no_line_no_table_and_no_branch(crew: Crew, plan: Path) -> None:
    hostile = "\x1b[2J| `rm -rf` </task> $(touch pwned) ; ../../x"
    plan = plan.with_suffix(".json")
    plan.write_text(json.dumps([{"title": hostile, "run": "echo 1 > 1.txt"}]))
    said = crew("run", hostile, "--plan", str(plan), *SCRIPTS, "--yes")
    assert "\x1b[2J" not in said.out
    assert not list(crew.folder.parent.rglob("pwned"))
    run_name = crew("runs", "list", "--team", "crew", "--json").json["runs"][0]["run"]
    text = Path(crew.layout.run("crew", run_name), "report.md").read_text()
    assert "\x1b" not in text
    assert r"\| \`rm -rf\` &lt;/task>" in text


def test_a_repository_that_moves_meanwhile_changes_nothing_for_the_run(crew: Crew, plan: Path) -> None:
    slow = Slow(crew, plan, "- [ ] Look (id: l) (depends: w) (run: ls > ls.txt)\n")
    (crew.folder / "late.txt").write_text("late")
    crew.git("add", "late.txt")
    crew.git("commit", "-q", "-m", "late")
    slow.go.write_text("")
    out, _ = slow.process.communicate(timeout=120)
    report = json.loads(out.splitlines()[-1])
    assert report["outcome"] == "success"
    assert "late.txt" not in crew.git("show", f"{report['branches'][1]['branch']}:ls.txt")


def test_clean_saves_nothing_of_what_is_on_the_target(crew: Crew, plan: Path) -> None:
    _, report = run(crew, plan, "--merge", "squash")
    said = crew("runs", "clean", report["run"], "--team", "crew", "--yes", "--json").json
    assert (len(said["branches"]), said["saved"]) == (3, [])
    assert crew.git("show", "atm/result/crew:d.txt") == "b\nc"
    assert "atm/work/" not in crew.git("branch", "--list")


def test_clean_removes_branches_after_saving_what_is_only_there(crew: Crew, plan: Path) -> None:
    _, report = run(crew, plan, "--merge", "none")
    assert "atm/work/" in crew.git("branch", "--list")
    assert crew("runs", "clean", report["run"], "--team", "crew", "--json", code=1).json["error"]["code"] == "usage"
    said = crew("runs", "clean", report["run"], "--team", "crew", "--yes", "--json").json
    assert len(said["branches"]) == 3
    assert said["saved"]
    assert "atm/work/" not in crew.git("branch", "--list")
    assert crew("runs", "list", "--team", "crew", code=3)


def test_without_a_terminal_a_run_prints_plain_lines(crew: Crew, plan: Path) -> None:
    said = crew("run", "--plan", str(plan), *SCRIPTS, "--yes").out
    assert "\x1b" not in said
    assert "#1 Make b" in said.partition("✓")[2]
    assert "success: 3 of 3 tasks" in said
    quiet = crew("run", "--plan", str(plan), *SCRIPTS, "--yes", "--display", "none", code=3).out
    assert quiet.startswith("the plan has no open task")


def test_an_agent_may_not_begin_a_run(crew: Crew, plan: Path) -> None:
    crew("teams", "add-member", "crew", "bob")
    shell = f"{' '.join(crew.atm.command('tasks', 'beat', '--as', 'bob', '--pid'))} $$ --team crew && "
    shell += " ".join(crew.atm.command("run", "--plan", str(plan), *SCRIPTS, "--yes", "--json"))
    done = subprocess.run(
        ["/bin/sh", "-c", shell], cwd=crew.folder, env=crew.atm.environment, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"not-allowed" in done.stdout


CREW_FILE = """\
team = "crew"

[[agents]]
name = "ann"
runtime = "script"

[[agents]]
name = "bob"
runtime = "script"
require_plan = true
"""


def test_a_crew_file_names_the_agents_and_a_dry_run_gives_no_consent(crew: Crew, plan: Path) -> None:
    file = plan.with_name("crew.toml")
    file.write_text(CREW_FILE)
    words = ("run", "--plan", str(plan), "--crew", str(file), "--json")
    said = crew(*words, "--dry-run").json
    assert [one["name"] for one in said["agents"]] == ["ann", "bob"]
    assert not list(crew.atm.home.rglob("trust.json"))
    slow = crew.atm.start(*words, "--yes")
    approved: list[str] = []

    def approves_what_comes() -> bool:
        for one in crew("tasks", "list", "--team", "crew", "--json", code=None).json.get("tasks", []):
            if one["state"] == "planning" and crew("tasks", "plan", "approve", one["id"], code=None).code == 0:
                approved.append(one["owner"])
        return slow.poll() is not None

    crew.eventually(approves_what_comes)
    out, _ = slow.communicate(timeout=60)
    assert {*approved} == {"bob"}
    assert json.loads(out.splitlines()[-1])["outcome"] == "success"
    assert crew.left() == NOTHING


def test_what_lies_on_the_board_is_part_of_what_is_shown_and_seated(crew: Crew, plan: Path) -> None:
    crew("tasks", "add", "From before", "--run", "true", "--team", "crew")
    said = crew("run", "--plan", str(plan), *SCRIPTS, "--dry-run", "--json").json
    assert [one["subject"] for one in said["tasks"]] == ["From before", "Make b", "Make c", "Join them"]
    crew("tasks", "add", "For a mind", "--team", "crew")
    said = crew("run", "--plan", str(plan), *SCRIPTS, "--yes", "--json", code=1).json
    assert said["error"]["code"] == "bad-task"


def test_a_goal_without_a_yes_starts_no_model(crew: Crew) -> None:
    said = crew("run", "do it", "--runtime", "script", "--team", "new", "--json", code=1).json
    assert said["error"]["code"] == "usage"
    assert not Path(crew.layout.team("new")).exists()


def test_a_plan_that_is_done_shows_and_does_nothing(crew: Crew, plan: Path) -> None:
    run(crew, plan)
    assert crew("run", "--plan", str(plan), "--team", "crew", "--dry-run", "--json", code=3).json["tasks"] == []
    plan.write_text(PLAN.replace("[ ]", "[x]"))
    assert crew("run", "--plan", str(plan), "--team", "fresh", "--yes", "--json", code=3).json["outcome"] == "nothing"


def test_work_that_its_checks_refused_is_saved_and_its_branches_go_with_the_run(crew: Crew, plan: Path) -> None:
    plan.write_text("- [ ] Wrong (run: echo wrong > w.txt) (accept: false)\n")
    _, report = run(crew, plan, code=1)
    assert report["salvage"]
    assert "wrong" in crew("salvage", "show", report["salvage"][0], "--team", "crew", code=None).out
    crew("runs", "clean", report["run"], "--team", "crew", "--yes")
    assert "atm/work/" not in crew.git("branch", "--list")


@pytest.mark.parametrize(("words", "shows"), [((), True), (("--display", "none"), False)])
def test_whoever_starts_a_run_is_a_human_of_the_team_that_it_makes(
    crew: Crew, plan: Path, words: tuple[str, ...], shows: bool
) -> None:
    said = crew("run", "--plan", str(plan), "--runtime", "script", "--team", "new", "--yes", *words).out
    me = crew("config", "get", "core.identity").out.strip()
    assert (f"made team new\nyou are in it as {me};" in said) is shows
    kinds_of = {one["name"]: one["kind"] for one in crew("teams", "show", "new", "--json").json["members"]}
    assert kinds_of[me] == "human"
    assert crew.atm.inbox(me, "new").exists()


def test_a_run_in_a_team_that_is_there_enters_nobody(crew: Crew, plan: Path) -> None:
    before = {one["name"] for one in crew("members", "--team", "crew", "--json").json["members"]}
    run(crew, plan)
    after = {one["name"] for one in crew("members", "--team", "crew", "--json").json["members"]}
    assert after - before == {"a1", "a2"}
