"""
The whole story: a team of scripted agents whose lead is killed in every phase, and two of whose agents are killed too.

Each lead is a process of its own; the next one knows nothing but the team's name.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.proving import proves
from tests.sessions.conftest import BRISK, LEAD, Stage, kill

TASKS = [str(number) for number in range(1, 7)]


class Lead:
    """Somebody who leads the team in a process of their own, until that is killed."""

    def __init__(self, stage: Stage, name: str, *words: str) -> None:
        self.stage = stage
        self.answer = stage.folder.parent / f"{name}.json"
        atm = f"{shlex.quote(sys.executable)} -m atm"
        script = (
            f"{atm} {shlex.join(words)} --json >{self.answer}.new 2>{self.answer}.errors; "
            f"{atm} tasks beat --as {LEAD} --pid $$ >/dev/null; "
            f"mv {self.answer}.new {self.answer}; exec sleep 600"
        )
        environment = {**stage.atm.environment, "ATM_SESSION_ID": name}
        self.process = subprocess.Popen(["sh", "-c", script], env=environment, cwd=stage.folder)
        stage.started.append(self.process)

    @property
    def said(self) -> Any:
        self.stage.eventually(self.answer.exists)
        said = self.answer.read_text()
        assert said, Path(f"{self.answer}.errors").read_text()
        return json.loads(said)

    def is_killed(self) -> None:
        self.process.kill()
        self.process.wait()


def atm_in(stage: Stage) -> str:
    return shlex.join(stage.atm.command())


def kill_agent(stage: Stage, member: str) -> str:
    """-9, its host and everything below it. The task that it was at."""
    task = str(stage.record(member).task)
    for one in stage.running():
        if f"/{member}/" in one.mark:
            kill(one.pid)
    stage.eventually(lambda: not any(f"/{member}/" in one.mark for one in stage.running()))
    return task


def is_reassigned(stage: Stage, task: str, to: str) -> bool:
    """As soon as it is known that the owner is gone."""
    done = stage("session", "reassign", task, to, "--json", code=None)
    if done.code:
        assert done.json["error"]["code"] == "member-in-use"
    return done.code == 0


def commits_of_agents(stage: Stage) -> set[str]:
    """All that there are, whatever leads to them."""
    listed = stage.git("cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)").split("\n")
    commits = [line.split()[1] for line in listed if line.startswith("commit ")]
    authors = stage.git("show", "-s", "--format=%H %an", *commits).split("\n")
    return {line.split()[0] for line in authors if line.split()[1] in ("ann", "bob", "cat")}


@proves("R003-10-05")
def test_a_team_survives_its_leads(stage: Stage) -> None:
    gates = stage.folder.parent / "gates"
    gates.mkdir()
    blocked_check = f"touch {gates}/check; until test -e {gates}/after; do sleep 0.02; done"
    stage.settle(
        **BRISK,
        lead_away_minutes=0.001,
        takeover_minutes=0,
        restart_minutes=0,
        confirm_minutes=0.02,
        zombie_minutes=60,
        checks=[blocked_check],
    )
    stage.make_team("crew", "ann", "bob", "cat")
    stage.daemon.start()

    # Before any task.
    first = Lead(stage, "s1", "up", "script:ann", "script:bob", "script:cat", "--team", "crew")
    assert [one["error"] for one in first.said["members"]] == [None] * 3
    assert stage.state["lead_session_id"] == "s1"
    stage.look_twice()
    assert not stage.is_marked, "its process is known to run"
    first.is_killed()
    stage.eventually(lambda: stage.is_marked)

    # In the middle of tasks.
    second = Lead(stage, "s2", "session", "resume", "crew")
    assert (second.said["how"], second.said["lead"]["session_old"]) == ("taken_over", "s1")
    for task in TASKS:
        wait = f"until test -e {gates}/{task}; do sleep 0.02; done"
        tell = f'{atm_in(stage)} send {LEAD} "task {task}" --team crew'
        stage("tasks", "add", f"Task {task}", "--run", f"echo $ATM_IDENTITY > {task}.txt; {wait}", "--run", tell)
    for member in ("ann", "bob", "cat"):
        stage.becomes(member, "working")
    second.is_killed()
    stage.eventually(lambda: stage.is_marked)
    anns = str(stage.record("ann").task)
    (gates / anns).touch()
    stage.is_done(anns)
    assert f"task {anns}" not in stage.texts(LEAD), "it is held until somebody leads"
    lost = [kill_agent(stage, member) for member in ("bob", "cat")]

    # After all tasks.
    third = Lead(stage, "s3", "session", "resume", "crew")
    assert third.said["how"] == "taken_over"
    assert f"task {anns}" in stage.texts(LEAD)
    for task in lost:
        stage.eventually(lambda task=task: is_reassigned(stage, task, "ann"))
    for task in TASKS:
        (gates / task).touch()
    for task in TASKS:
        stage.is_done(task)
    stage.becomes("ann", "idle")
    third.is_killed()
    stage.eventually(lambda: stage.is_marked)

    # During consolidation.
    (stage.folder / "result.txt").write_text("all of it\n")
    fourth = Lead(stage, "s4", "session", "resume", "crew")
    assert (fourth.said["how"], fourth.said["progress"]["percent"]) == ("taken_over", 100)
    stage.session("shutdown", "crew", by="s4")
    consolidating = stage.start("session", "consolidate", "crew", "-m", "Result", env={"ATM_SESSION_ID": "s4"})
    stage.eventually(lambda: (gates / "check").exists() or consolidating.poll() is not None)
    for process in (consolidating, fourth.process):
        process.kill()
        process.wait()
    (gates / "after").touch()

    fifth = Lead(stage, "s5", "session", "resume", "crew")
    assert fifth.said["interrupted_consolidation"]["files"] == ["result.txt"]
    done = stage.session("consolidate", "crew", "--continue", by="s5", code=None)
    assert done.get("status") == "complete", f"{done}: nobody is there any more, so nobody is asked"
    fifth.is_killed()

    # What is left of it.
    review = stage.session("review", "crew")
    assert (review["status"], sorted(review["tasks"]["completed"])) == ("complete", TASKS)
    assert review["mailbox"] == {**review["mailbox"], "gaps": [], "duplicates": [], "torn": False}
    ledger = stage.atm.ledger()
    assert [entry["seq"] for entry in ledger] == [*range(1, len(ledger) + 1)]
    told = [text for text in stage.texts(LEAD) if text.startswith("task ")]
    assert sorted(told) == [f"task {task}" for task in TASKS]
    assert told[0] == f"task {anns}"
    entered = Counter(entry["id"] for entry in ledger if entry.get("state") == "written" and "row" in entry)
    assert set(entered.values()) == {1}, "each message was written once"
    finished: Counter[str] = Counter()
    for line in (stage.home_of_team / "tasks.jsonl").read_text().splitlines():
        past = json.loads(line)
        finished[past["task"]] += past.get("to") == "completed"
    assert finished == dict.fromkeys(TASKS, 1)
    for task in TASKS:
        who = stage.task(task)["finishedBy"]
        assert stage.git("show", f"atm/work/crew/{task}-{who}:{task}.txt") == who
    reachable = set(stage.git("rev-list", "--branches").split())
    assert commits_of_agents(stage) <= reachable
    assert (stage.git("log", "-1", "--format=%s"), stage.git("status", "--porcelain")) == ("Result", "")
    assert stage.running() == []
    assert stage.left()["worktrees"] == []
    assert not [one for one in os.listdir(Path(stage.layout.slots)) if one.endswith(".json")]
