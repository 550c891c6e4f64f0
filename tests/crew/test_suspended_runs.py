"""A loop or a host that a signal has stopped (Ctrl-Z) is told at once, with the command that continues it."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import on_terminal
from tests.crew.conftest import NOTHING, Crew
from tests.crew.test_runs import PLAN, SCRIPTS, Slow, plan

__all__ = ["on_terminal", "plan"]

COLOUR = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@pytest.fixture
def suspended(crew: Crew, plan: Path) -> Iterator[Slow]:
    """Stopped in the middle of a task, as Ctrl-Z does it."""
    slow = Slow(crew, plan, PLAN)
    slow.process.send_signal(signal.SIGSTOP)
    os.waitpid(slow.process.pid, os.WUNTRACED)
    yield slow
    slow.go.write_text("")
    if slow.process.poll() is None:
        slow.process.send_signal(signal.SIGCONT)
    slow.process.communicate(timeout=120)


def the_run(crew: Crew) -> dict[str, Any]:
    (found,) = crew("status", "--team", "crew", "--json").json["runs"]
    return dict(found)


def test_a_suspended_run_is_the_first_line_of_everything_that_shows_the_team(
    crew: Crew, suspended: Slow, on_terminal
) -> None:
    command = f"kill -CONT {suspended.process.pid}"
    found = the_run(crew)
    assert (found["state"], found["resume"], found["resumable"]) == ("suspended", command, False)
    first = re.compile(rf"run {found['run']} is suspended( for [^:]+)?, as by Ctrl-Z: \d of 4 tasks completed.*")
    then = f"  continue it: {command} (or `fg` in its terminal)"
    for words in (("status",), ("members",), ("runs", "show")):
        lines = crew(*words, "--team", "crew").out.splitlines()
        assert first.fullmatch(lines[0]), lines[0]
        assert lines[1] == then
    (snapshot,) = crew("snapshot", "--team", "crew", "--json").json["teams"]
    assert snapshot["runs"][0]["resume"] == command
    (listed,) = crew("runs", "list", "--team", "crew", "--json").json["runs"]
    assert listed["state"] == "suspended"
    shown = crew("runs", "show", "--team", "crew", "--json").json
    assert (shown["state"], shown["report"], shown["resume"]) == ("suspended", None, command)
    crew.atm.environment |= {"ATM_TEAM": "crew"}
    bare = COLOUR.sub("", on_terminal(columns=100).read_until(lambda _: False)).replace("\r\n", "\n")
    assert re.match(rf"run {found['run']} is suspended", bare)
    assert command in bare.split("\nnext\n")[1].split("\n")[0]
    assert crew("top", "--plain", "--team", "crew").out.splitlines()[2].startswith("1. Run suspended. ")


def test_the_named_command_continues_the_run_to_its_end(crew: Crew, suspended: Slow) -> None:
    subprocess.run(shlex.split(the_run(crew)["resume"]), check=True)
    crew.eventually(lambda: the_run(crew)["state"] == "running")
    suspended.go.write_text("")
    out, _ = suspended.process.communicate(timeout=120)
    assert json.loads(out.splitlines()[-1])["outcome"] == "success"
    assert crew("status", "--team", "crew", "--json").json["runs"] == []
    assert crew.left() == NOTHING


def test_the_same_command_again_and_resume_are_refused_with_the_way_on(crew: Crew, suspended: Slow, plan: Path) -> None:
    again = crew("run", "--plan", str(plan), *SCRIPTS, "--yes", "--json", code=1).json["error"]
    resumed = crew("run", "--resume", "--team", "crew", "--json", code=1).json["error"]
    for error in (again, resumed):
        assert error["code"] == "run-active"
        assert "is suspended" in error["message"]
        assert f"kill -CONT {suspended.process.pid}" in error["remedy"]


def test_stop_ends_the_agents_without_waiting_and_the_run_reports_when_it_is_continued(
    crew: Crew, suspended: Slow
) -> None:
    """A run that can write its report has a minute for that; nobody waits a minute for one that cannot."""
    command = f"kill -CONT {suspended.process.pid}"
    done = crew("stop", "--team", "crew", "--json", code=1).json
    (stopped,) = done["runs"]
    assert (stopped["state"], stopped["has_report"], done["left"]) == ("suspended", False, [])
    assert crew.running() == []
    said = crew("stop", "--team", "crew", code=1).out
    assert f"is suspended (Ctrl-Z), and writes its report as soon as it is continued: {command}" in said
    subprocess.run(shlex.split(command), check=True)
    out, _ = suspended.process.communicate(timeout=120)
    assert json.loads(out.splitlines()[-1])["outcome"] == "stopped"
    assert the_run(crew)["state"] == "stopped"
    assert crew.left() == NOTHING


def test_a_suspended_host_is_told_with_the_command_that_continues_it(crew: Crew, plan: Path) -> None:
    slow = Slow(crew, plan)
    host = crew.record("a1").pid
    os.kill(host, signal.SIGSTOP)
    command = f"kill -CONT {host}"
    crew.eventually(lambda: member(crew)["continue_command"] == command)
    for verb in ("members", "status"):
        said = " ".join(crew(verb, "--team", "crew").out.split())
        assert f"a1 is suspended: a signal has stopped it (Ctrl-Z); continue it: {command}" in said
    (snapshot,) = crew("snapshot", "--team", "crew", "--json").json["teams"]
    (agent,) = (one["agent"] for one in snapshot["members"] if one["name"] == "a1")
    assert (agent["state"], agent["continue_command"]) == ("suspended", command)
    assert "Suspended. a1" in crew("top", "--plain", "--team", "crew").out
    subprocess.run(shlex.split(command), check=True)
    crew.eventually(lambda: member(crew)["continue_command"] is None)
    slow.go.write_text("")
    out, _ = slow.process.communicate(timeout=120)
    assert json.loads(out.splitlines()[-1])["outcome"] == "success"


def member(crew: Crew) -> dict[str, Any]:
    found = crew("members", "--team", "crew", "--json").json["members"]
    return next(one for one in found if one["name"] == "a1")
