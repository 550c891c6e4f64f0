"""A task that is cancelled, given away or over its limit ends at once with its command, over real processes."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.crew.conftest import NOTHING, Crew

ONE = ("--runtime", "script", "--agents", "1", "--team", "crew")
HANGS = """\
setsid sh -c 'echo $$ > {at}/own-session; exec sleep 600' & \
env -i setsid sh -c 'echo $$ > {at}/no-mark; exec sleep 600' & \
(sleep 600 & echo $! > {at}/grandchild; wait) & \
echo half > half.txt; \
while [ ! -s {at}/own-session -o ! -s {at}/no-mark -o ! -s {at}/grandchild ]; do sleep 0.02; done; \
touch {at}/hangs; sleep 600"""
PIDS = ("own-session", "no-mark", "grandchild")


class Hanging:
    """A run of one agent, whose first task hangs with a tree of processes."""

    def __init__(self, crew: Crew, more: str = "", attributes: str = "") -> None:
        self.crew = crew
        self.at = crew.folder.parent
        plan = self.at / "plan.md"
        script = self.at / "hang.sh"
        script.write_text(HANGS.format(at=self.at))
        plan.write_text(f"- [ ] Hangs (run: sh {script}) {attributes}\n{more}")
        self.process = crew.atm.start("run", "--plan", str(plan), *ONE, "--yes", "--json")
        crew.eventually((self.at / "hangs").exists)

    def pids(self) -> list[int]:
        return [int((self.at / name).read_text()) for name in PIDS]

    def result(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        out, error = self.process.communicate(timeout=150)
        lines = [json.loads(line) for line in out.splitlines()]
        assert lines, error
        return lines[:-1], lines[-1]


@pytest.fixture
def hanging(crew: Crew) -> Iterator[Callable[..., Hanging]]:
    """Begins such a run. What a test has cut off from everything that bears a mark is ended afterwards."""
    begun: list[Hanging] = []

    def begin(more: str = "", attributes: str = "") -> Hanging:
        begun.append(Hanging(crew, more, attributes))
        return begun[-1]

    yield begin
    for run in begun:
        if run.process.poll() is None:
            run.process.kill()
            run.process.communicate(timeout=60)
        for pid in filter(is_running, run.pids()):
            os.kill(pid, signal.SIGKILL)
        crew.eventually(lambda run=run: not any(map(is_running, run.pids())))


Begin = Callable[..., Hanging]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        if os.path.isdir("/proc/self"):
            return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def of_kind(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["kind"] == kind]


def test_cancelling_a_running_task_ends_its_whole_tree_and_the_agent_does_the_next_one(
    crew: Crew, hanging: Begin
) -> None:
    run = hanging("- [ ] Next (run: echo n > n.txt)\n")
    pids, host = run.pids(), crew.record("a1").pid
    assert all(map(is_running, pids))
    crew("tasks", "cancel", "1", "--reason", "not needed", "--team", "crew")
    events, report = run.result()
    assert [pid for pid in pids if is_running(pid)] == []
    assert report["tasks"]["completed"] == ["2"]
    assert report["tasks"]["cancelled"] == ["1"]
    spawned = of_kind(events, "agent.spawned")
    assert [event["detail"]["pid"] for event in spawned] == [host]  # the same agent, never started again
    assert not of_kind(events, "task.failed")
    assert not of_kind(events, "agent.error")
    assert crew.task("1")["failures"] == 0
    saved = [crew("salvage", "show", id, "--team", "crew").out for id in report["salvage"]]
    assert any("half" in text for text in saved)
    assert crew.left() == NOTHING


def test_a_running_task_that_is_given_to_another_ends_its_command_too(crew: Crew, hanging: Begin) -> None:
    run = hanging("- [ ] Next (run: echo n > n.txt)\n")
    pids = run.pids()
    crew("teams", "add-member", "crew", "bob", code=None)
    crew("tasks", "assign", "1", "--to", "bob", "--team", "crew")
    crew.eventually(lambda: not any(map(is_running, pids)))
    crew.is_done("2")
    assert (crew.task("1")["failures"], crew.task("1")["owner"]) == (0, "bob")
    crew("tasks", "cancel", "1", "--reason", "enough", "--team", "crew")
    assert run.result()[1]["tasks"]["completed"] == ["2"]


def test_cancelling_a_task_ends_the_check_that_runs_for_it(crew: Crew) -> None:
    at = crew.folder.parent
    plan, check = at / "plan.md", at / "check.sh"
    check.write_text(f"echo $$ > {at}/check\nexec sleep 600\n")
    plan.write_text(f"- [ ] Done soon (run: true) (accept: sh {check})\n- [ ] Next (run: true)\n")
    process = crew.atm.start("run", "--plan", str(plan), *ONE, "--yes", "--json")
    crew.eventually(lambda: (at / "check").exists() and (at / "check").read_text().strip())
    crew("tasks", "cancel", "1", "--reason", "not needed", "--team", "crew")
    out, _ = process.communicate(timeout=150)
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines[-1]["tasks"]["completed"] == ["2"]
    assert not of_kind(lines[:-1], "task.failed")
    assert not is_running(int((at / "check").read_text()))
    assert crew.left() == NOTHING


def test_a_command_that_outlives_the_limit_of_its_task_is_one_attempt_and_leaves_no_process(
    crew: Crew, hanging: Begin
) -> None:
    crew("config", "set", "board.max_retries", "0")
    run = hanging("- [ ] Next (run: true)\n", "(timeout: 3s)")
    pids = run.pids()
    events, report = run.result()
    assert [pid for pid in pids if is_running(pid)] == []
    (failed,) = of_kind(events, "task.failed")
    assert failed["detail"]["attempt"] == 1
    assert failed["detail"]["error"].startswith("it ran longer than its limit of 3s")
    assert report["tasks"]["completed"] == ["2"]
    assert len(of_kind(events, "agent.spawned")) == 1
    assert "half" in crew("salvage", "show", report["salvage"][0], "--team", "crew").out
    shown = crew("tasks", "show", "1", "--team", "crew").out
    assert "3s for each attempt" in shown
    assert crew.left() == NOTHING


def test_a_check_that_outlives_the_limit_of_its_task_is_one_attempt_and_leaves_no_process(crew: Crew) -> None:
    """The checks are part of the attempt: their own limit, of ten minutes, is not the task's."""
    crew("config", "set", "board.max_retries", "0")
    at = crew.folder.parent
    plan, check = at / "plan.md", at / "check.sh"
    check.write_text(HANGS.format(at=at))
    plan.write_text(
        f"- [ ] Hangs (run: echo half > b.txt) (accept: sh {check}) (timeout: 3s)\n- [ ] Next (run: true)\n"
    )
    out = crew("run", "--plan", str(plan), *ONE, "--yes", "--json", code=2).out
    *events, report = [json.loads(line) for line in out.splitlines()]
    assert [name for name in PIDS if is_running(int((at / name).read_text()))] == []
    (failed,) = of_kind(events, "task.failed")
    assert failed["detail"]["attempt"] == 1
    assert failed["detail"]["error"].startswith("it ran longer than its limit of 3s")
    assert f"command sh {check} did not end" in failed["detail"]["error"]
    assert report["tasks"]["completed"] == ["2"]
    assert crew.git("show", "atm/work/crew/1-a1:b.txt") == "half"
    assert crew.left() == NOTHING


def test_the_time_on_a_task_its_limit_and_its_silence_are_said_by_members_status_and_the_snapshot(
    crew: Crew, hanging: Begin
) -> None:
    run = hanging("", "(timeout: 10m)")
    crew.eventually(lambda: crew.record("a1").task_since > 0)
    for words in (("members", "crew"), ("status", "--team", "crew")):
        assert "a1: #1 for" in (said := crew(*words).out), said
        assert "of 10m" in said
    (one,) = (m for m in crew("members", "crew", "--json").json["members"] if m["name"] == "a1")
    whole = crew("snapshot", "--team", "crew", "--json").json["teams"][0]
    (same,) = (m for m in whole["members"] if m["name"] == "a1")
    for member in (one, same):
        assert member["task_limit"] == 600
        assert member["task_since"] <= member["output_at"]
    crew("tasks", "cancel", "1", "--reason", "seen", "--team", "crew")
    run.result()
    assert "a1: #1" not in crew("members", "crew").out


def test_a_limit_holds_although_the_run_was_killed(crew: Crew, hanging: Begin) -> None:
    crew("config", "set", "board.max_retries", "0")
    run = hanging("", "(timeout: 4s)")
    pids = run.pids()
    run.process.send_signal(signal.SIGKILL)
    run.process.communicate(timeout=60)
    crew.is_done("1")
    assert crew.task("1")["state"] == "failed"
    crew.eventually(lambda: not any(map(is_running, pids)))


# Requests of agents that need no answer any more.


class Waiting(NamedTuple):
    """A run, and a request of its agent that a person could answer."""

    run: Hanging
    id: str


@pytest.fixture
def waiting(crew: Crew, hanging: Begin) -> Waiting:
    """A request of an agent that works on a task."""
    run = hanging()
    words = (
        "approvals",
        "ask",
        "--tool",
        "Bash",
        "--command",
        "git push",
        "--as",
        "a1",
        "--task",
        "1",
        "--team",
        "crew",
        "--json",
    )
    id: str = crew(*words, code=3).json["approval"]["id"]
    assert crew("approvals", "list", "--team", "crew", "--json").json["approvals"][0]["id"] == id
    return Waiting(run, id)


def state_of(crew: Crew, id: str) -> tuple[str, str]:
    found = crew("approvals", "list", "--all", "--team", "crew", "--json", code=None).json["approvals"]
    (one,) = (one for one in found if one["id"] == id)
    return one["state"], one["reason"]


def test_cancelling_a_task_takes_its_request_away_from_people_at_once(crew: Crew, waiting: Waiting) -> None:
    crew("tasks", "cancel", "1", "--reason", "not needed", "--team", "crew")
    assert crew("approvals", "list", "--team", "crew", "--json", code=3).json["approvals"] == []
    said = crew("approvals", "approve", waiting.id, "--as", "human", "--json", code=1).json
    assert said["error"]["code"] == "approval-closed"
    assert "#1 is cancelled" in said["error"]["message"]
    assert state_of(crew, waiting.id)[0] == "cancelled"
    waiting.run.result()


def test_a_request_of_an_agent_that_was_killed_waits_for_nobody(crew: Crew, waiting: Waiting) -> None:
    run = waiting.run
    run.process.send_signal(signal.SIGKILL)
    run.process.communicate(timeout=60)
    os.kill(crew.record("a1").pid, signal.SIGKILL)
    crew.eventually(lambda: not is_running(crew.record("a1").pid))
    assert crew("approvals", "list", "--team", "crew", "--json", code=3).json["approvals"] == []
    assert crew("snapshot", "--team", "crew", "--json").json["teams"][0]["approvals"] == []
    assert state_of(crew, waiting.id) == ("cancelled", "the process that asked for a1 has ended")


def test_a_run_that_is_resumed_cancels_what_its_dead_agents_had_asked(crew: Crew, waiting: Waiting) -> None:
    run = waiting.run
    run.process.send_signal(signal.SIGKILL)
    run.process.communicate(timeout=60)
    os.kill(crew.record("a1").pid, signal.SIGKILL)
    (run.at / "hang.sh").write_text("true\n")
    said = crew("run", "--resume", "--team", "crew", "--json")
    assert json.loads(said.out.splitlines()[-1])["outcome"] == "success"
    files = [*Path(crew.layout.approvals("crew")).rglob(f"*{waiting.id}*")]
    assert len(files) > 1  # the request, and the answer that the run has given
    state, reason = state_of(crew, waiting.id)
    assert state == "cancelled"
    assert reason
