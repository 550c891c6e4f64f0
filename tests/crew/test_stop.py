"""`atm stop` with real processes: it ends the agents of a team and nothing else, whatever a file says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.crew.conftest import NOTHING, Crew
from tests.optional import skip_without

from atm.crew.rules.agents import AgentRecord
from atm.crew.rules.marks import VARIABLE
from atm.files.adapters.processes import began
from atm.runs.adapters import RunFiles

TURNS = 10
"""The issue saw the run killed in 2 of 10 stops."""

PLAN = "".join(f"- [ ] Task {n} (run: touch begun-{n}; sleep 600)\n" for n in range(4))
WORDS = ("--runtime", "script", "--agents", "3", "--team", "crew", "--yes", "--json", "--fresh")


@pytest.fixture
def tree() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the user's with children: one in its session, one in a session of its own."""
    environment = {key: value for key, value in os.environ.items() if key != VARIABLE}
    script = "sleep 987 & setsid sleep 987 & echo ready; wait"
    with subprocess.Popen(
        ["/bin/sh", "-c", script], stdout=subprocess.PIPE, env=environment, start_new_session=True
    ) as made:
        assert made.stdout is not None
        assert made.stdout.readline() == b"ready\n"
        children = _children(made.pid)
        yield made
        for pid in (made.pid, *children):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue


def _children(pid: int) -> list[int]:
    """From the kernel where it tells, so that a machine without ps can run this."""
    if not os.path.isdir("/proc/self"):
        said = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, check=True).stdout.decode()
        return [int(line.split()[0]) for line in said.splitlines() if line.split()[1] == str(pid)]
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            facts = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if facts[1] == str(pid):
            found.append(int(path.parent.name))
    return found


def _lives(pid: int) -> bool:
    return bool(began(pid))


def forge(crew: Crew, member: str, **facts: Any) -> AgentRecord:
    """A record as a hostile teammate would write it, beside those of the others."""
    known: dict[str, Any] = {"team": "crew", "member": member, "generation": 7, "runtime": "script"}
    known |= {"mark": f"{crew.records.home}/crew/{member}/7/k", "backend": "headless", "folder": str(crew.folder)}
    made = AgentRecord(**{**known, "at": 1.0, "state": "working", "slot": 900, **facts})
    with crew.records.turn("crew", member) as turn:
        turn.write(made)
    return made


def test_ten_stops_while_a_run_works_leave_ten_reports_and_no_agent(crew: Crew) -> None:
    plan = crew.folder.parent / "plan.md"
    plan.write_text(PLAN)
    for turn in range(TURNS):
        running = crew.atm.start("run", "--plan", str(plan), *WORDS)
        if turn % 2:  # all moments: while its agents are just being started, and while they work
            crew.eventually(lambda: any("sleep 600" in one.command for one in crew.running()))
        else:
            crew.eventually(lambda: crew.running() != [])
        said = crew("stop", "--team", "crew", "--json", code=None)
        out, _ = running.communicate(timeout=120)
        report = json.loads(out.splitlines()[-1])
        assert (said.code, running.returncode) == (0, 1), (turn, said.out, out)
        assert (report["outcome"], report["action"]) == ("stopped", "run")
        assert said.json["runs"] == [{"team": "crew", "run": report["run"], "state": "stopped", "has_report": True}], (
            said.out
        )
        assert said.json["left"] == []
        assert Path(crew.layout.run("crew", report["run"]), "report.json").exists()
        assert crew.left() == NOTHING
        crew("runs", "clean", report["run"], "--team", "crew", "--yes", code=None)
        crew("tasks", "release", "--all", code=None)
        Path(crew.layout.stop_latch("crew")).unlink()


CLAIMS = ("pid", "spawner", "program", "no mark", "the mark of a daemon")


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_forged_record_kills_no_process_of_others(crew: Crew, tree: subprocess.Popen[bytes], claim: str) -> None:
    crew("up", "script:ann")
    at = began(tree.pid)
    host: dict[str, Any] = {"pid": tree.pid, "began": at}
    facts: dict[str, dict[str, Any]] = {
        "pid": host,
        "spawner": {"state": "spawning", "spawner": tree.pid, "spawner_began": at},
        "program": {"program_pid": tree.pid},
        "no mark": {**host, "mark": ""},
        "the mark of a daemon": {**host, "mark": "no-agent"},
    }
    forge(crew, "eve", **facts[claim])
    said = crew("stop", "--team", "crew", "--json").json
    assert _lives(tree.pid)
    assert all(_lives(pid) for pid in _children(tree.pid))
    assert len(_children(tree.pid)) == 2
    assert [one["member"] for one in said["stopped"] if one["how"] == "killed"] == ["ann"]
    if claim != "program":
        (left_alone,) = said["untouched"]
        assert (left_alone["pid"], left_alone["member"]) == (tree.pid, "eve")
        assert "has no mark of an agent of this team" in left_alone["why"]
    assert crew.left() == NOTHING
    assert crew("stop", "--team", "crew", code=3).out == "no agent ran\n"


@pytest.mark.parametrize("verb", ["kill", "down", "doctor", "up"])
def test_nor_does_it_by_another_command(crew: Crew, tree: subprocess.Popen[bytes], verb: str) -> None:
    forge(crew, "eve", pid=tree.pid, began=began(tree.pid), mark="")
    words = {
        "kill": ("kill", "eve"),
        "down": ("down", "eve"),
        "doctor": ("doctor", "--fix"),
        "up": ("up", "script:ann"),
    }
    settings = crew.folder.parent / "settings.toml"
    settings.write_text("[crew]\nshutdown_seconds = 0.2\n")
    crew(*words[verb], code=None, env={"ATM_CONFIG": str(settings)})
    assert _lives(tree.pid)
    assert len(_children(tree.pid)) == 2
    crew("stop", "--team", "crew", code=None)
    assert _lives(tree.pid)
    assert crew.left() == NOTHING


@pytest.mark.parametrize("number", [0, -1, 1, "own", "parent"])
def test_numbers_that_mean_more_than_one_process_or_ourselves_are_passed_over(crew: Crew, number: int | str) -> None:
    """0 and -1 are groups to `kill` and any child to `waitpid`; 1 is the system; the parent of `atm` is this test."""
    crew("up", "script:ann")
    pid = number if isinstance(number, int) else os.getpid()
    at = began(pid) if pid > 0 else "1"
    forge(crew, "eve", pid=pid, began=at, spawner=pid, spawner_began=at, mark="")
    said = crew("stop", "--team", "crew", "--json").json
    assert [one["member"] for one in said["stopped"] if one["how"] == "killed"] == ["ann"]
    assert _lives(1)
    assert crew.left() == NOTHING


def test_a_record_that_was_copied_to_another_name_ends_neither(crew: Crew) -> None:
    crew("up", "script:ann", "script:bob")
    bob = crew.record("bob")
    path = Path(crew.layout.agent_record("crew", "ann"))
    kept = path.read_bytes()
    path.write_bytes(Path(crew.layout.agent_record("crew", "bob")).read_bytes())
    assert crew.record("ann") is None
    crew("kill", "ann", code=1)
    assert _lives(bob.pid)
    path.write_bytes(kept)
    forge(crew, "ann", **{key: getattr(bob, key) for key in ("mark", "pid", "began", "generation")})
    crew("kill", "ann", code=None)
    assert _lives(bob.pid)
    crew("stop", "--team", "crew")
    assert crew.left() == NOTHING


def test_another_team_of_the_same_home_lives_on(crew: Crew) -> None:
    crew("teams", "create", "other", code=None)
    crew("up", "script:bob", "--team", "other")
    bob: Any = crew.record("bob", "other")
    crew("up", "script:ann", "--team", "crew")
    forge(crew, "eve", pid=bob.pid, began=bob.began, mark=bob.mark)
    said = crew("stop", "--team", "crew", "--json").json
    assert _lives(bob.pid)
    assert [one["pid"] for one in said["untouched"]] == [bob.pid]
    both = crew("stop", "--all", "--json").json
    assert [(one["team"], one["member"], one["how"]) for one in both["stopped"]] == [("other", "bob", "killed")]
    assert not _lives(bob.pid)


def test_an_agent_whose_record_is_gone_is_ended_and_named(crew: Crew) -> None:
    crew("up", "script:ann")
    pid = crew.record("ann").pid
    os.kill(pid, signal.SIGSTOP)  # else it ends by itself, as one whose record is gone does
    os.unlink(crew.layout.agent_record("crew", "ann"))
    said = crew("stop", "--team", "crew", "--json").json
    assert [(one["member"], one["pid"], one["how"]) for one in said["stopped"]] == [("ann", pid, "killed")]
    assert not _lives(pid)


@pytest.mark.parametrize("state", ["running", "suspended"])
def test_a_run_that_hangs_is_named_and_not_killed(crew: Crew, monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    """The system may not tell that it is suspended; then it is one that does not answer."""
    from atm.runs.services import stopping
    from atm.wiring.runs import build_runs

    plan = crew.folder.parent / "plan.md"
    plan.write_text(PLAN)
    running = crew.atm.start("run", "--plan", str(plan), *WORDS)
    crew.eventually(lambda: any("sleep 600" in one.command for one in crew.running()))
    running.send_signal(signal.SIGSTOP)
    try:
        made = _crewroom(crew)
        if state == "running":
            monkeypatch.setattr(RunFiles, "suspended_loop", lambda runs, team: 0)  # noqa: ARG005
        done, (run,) = stopping.stop_with_runs(build_runs(crew.layout), made, ["crew"], "zoe", seconds=0.5)
        assert (run.state, run.has_report, run.is_over) == (state, False, False)
        assert run.pid == (running.pid if state == "suspended" else 0)
        assert done.left == []
        assert running.poll() is None
        assert not any("sleep 600" in one.command for one in crew.running())
    finally:
        running.send_signal(signal.SIGCONT)
    out, _ = running.communicate(timeout=120)
    assert json.loads(out.splitlines()[-1])["outcome"] == "stopped"
    assert crew.left() == NOTHING


def _crewroom(crew: Crew) -> Any:
    from atm import config
    from atm.wiring.board import build_boardroom
    from atm.wiring.crew import build_crewroom
    from atm.wiring.mail import build_room

    settings = config.load(crew.layout, crew.atm.environment, str(crew.folder), {}, "")
    boardroom = build_boardroom(crew.layout, settings, build_room(crew.layout, settings))
    return build_crewroom(crew.layout, settings, boardroom, crew.atm.environment)


def test_the_words_for_people_say_what_was_done_and_what_was_left_alone(
    crew: Crew, tree: subprocess.Popen[bytes]
) -> None:
    crew("up", "script:ann")
    forge(crew, "eve", pid=tree.pid, began=began(tree.pid))
    said = crew("stop", "--team", "crew").out
    assert "✓ ann was killed" in said
    assert f"- process {tree.pid} was left alone (/bin/sh -c sleep 987" in said
    assert "the record of eve names it as its host, but it has no mark of an agent of this team" in said


def test_a_window_that_a_record_names_and_that_is_another_agents_stays(crew: Crew) -> None:
    skip_without("tmux")
    crew("up", "command:bob", "command:cat", "--backend", "tmux")
    bob, cat = crew.record("bob"), crew.record("cat")
    with crew.records.turn("crew", "cat") as turn:
        turn.write(replace(cat, pane=bob.pane, pid=bob.pid, began=bob.began, server=bob.server))
    crew("kill", "cat", code=None)
    assert _lives(bob.pid)
    assert not _lives(cat.pid)
    crew("stop", "--team", "crew")
    assert crew.left() == NOTHING


def test_what_a_person_runs_in_a_window_or_a_pane_beside_an_agent_is_no_agent(crew: Crew) -> None:
    skip_without("tmux")
    crew("up", "command:bob", "command:cat", "--backend", "tmux")
    bob = crew.record("bob")
    kinds = (("new-window", "-t", "=atm-crew:"), ("split-window", "-t", bob.pane), ("new-session",))
    pids = []
    for kind in kinds:
        words = ("tmux", "-S", bob.server, *kind, "-d", "-P", "-F", "#{pane_pid}", "--", "sleep", "987")
        pids.append(int(subprocess.run(words, capture_output=True, check=True).stdout))
    try:
        marked = {one.pid for one in crew.running()}
        assert (bob.pid in marked, marked & {*pids}) == (True, set())
        crew("kill", "bob")
        assert crew("stop", "--team", "crew", "--json").json["left"] == []
        assert [pid for pid in pids if not _lives(pid)] == []
        assert crew.left() == NOTHING
    finally:
        subprocess.run(("tmux", "-S", bob.server, "kill-server"), check=False, capture_output=True)
