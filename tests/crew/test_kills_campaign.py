"""
Seeded kills of `atm run`, of its agents' hosts and of the daemon, each followed by what a person could type next.

Whatever that is: completed work is on the target or in the queue, no attempt is counted, and the first screen says what
happened. Bounded here; 200 of them by `make chaos`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.chaos import LONG
from tests.cli.conftest import Terminal
from tests.crew.conftest import NOTHING, Crew

from atm.crew.rules.marks import read_mark

pytestmark = pytest.mark.campaign

TARGET = "atm/result/crew"
SCRIPTS = ("--runtime", "script", "--agents", "2", "--team", "crew")
TASKS = """\
- [ ] One (id: a) (run: sleep 0.2; echo 1 > 1.txt)
- [ ] Two (id: b) (run: sleep 0.1; echo 2 > 2.txt)
- [ ] Three (id: c) (depends: a) (run: sleep 0.2; cp 1.txt 3.txt)
- [ ] Four (id: d) (depends: a, b) (run: cat 1.txt 2.txt > 4.txt; sleep 0.1)
"""
OTHER = "- [ ] Five (id: e) (run: echo 5 > 5.txt)\n"
CREW_FILE = 'team = "crew"\n\n[[agents]]\nname = "u1"\nruntime = "script"\n'

LOOP, HOST, BOTH, DAEMON = "loop", "host", "loop and hosts", "daemon"
SAME, FRESH, RESUME, STOP, UP = "the same command", "another plan", "--resume", "stop", "up"
VICTIMS = (LOOP, LOOP, LOOP, BOTH, BOTH, HOST, DAEMON)
LAST_EVENT = 45
"""About so many events a whole run has: the kill comes after a number of them."""


class Killing:
    """One seed: a run, a kill somewhere in it, and what follows."""

    def __init__(self, crew: Crew, seed: int) -> None:
        self.crew = crew
        self.dice = random.Random(seed)
        self.victim = self.dice.choice(VICTIMS)
        self.next = self.dice.choice((SAME, FRESH, RESUME, STOP, UP))
        self.after = self.dice.randrange(1, LAST_EVENT)
        self.plan, self.other = crew.folder.parent / "plan.md", crew.folder.parent / "other.md"
        self.plan.write_text(TASKS)
        self.other.write_text(OTHER)
        self.loop: subprocess.Popen[bytes] | None = None

    def kill(self) -> None:
        """Kill the victim after so many events, or when the run is over before that."""
        if self.victim == DAEMON:
            self.crew("daemon", "start")
        self.loop = self.crew.atm.start("run", "--plan", str(self.plan), *SCRIPTS, "--yes", "--json")
        loop = self.loop
        self.crew.eventually(lambda: loop.poll() is not None or self._events() >= self.after)
        if self.victim in (LOOP, BOTH):
            loop.kill()
            loop.communicate(timeout=60)
        if self.victim in (HOST, BOTH):
            hosts = [one.pid for one in self.crew.running() if self._is_host(one.mark)]
            for pid in hosts if self.victim == BOTH else self.dice.sample(hosts, min(1, len(hosts))):
                _kill(pid)
        if self.victim == DAEMON:
            _kill(int(self.crew("daemon", "status", "--json", code=None).json.get("pid") or 0))
        if self.victim in (HOST, DAEMON):
            out, _ = loop.communicate(timeout=180)
            assert json.loads(out.splitlines()[-1])["outcome"] == "success", "the run goes on by itself"

    def _is_host(self, text: str) -> bool:
        mark = read_mark(text)
        return mark is not None and bool(mark.member)

    def _events(self) -> int:
        folder = Path(self.crew.layout.team("crew"), "runs")
        return sum(len(path.read_bytes().splitlines()) for path in folder.glob("*/events.jsonl"))

    @property
    def last(self) -> dict[str, str]:
        found: list[dict[str, str]] = self.crew("runs", "list", "--team", "crew", "--json", code=None).json["runs"]
        return found[-1]

    # What must be true, whatever was killed.

    def completed_work_is_on_its_way(self) -> None:
        """Every completed task is on the target, or listed by the queue: hosts that live complete more meanwhile."""
        tasks = self.tasks()
        listed = {one["task"]: one for one in self.crew("merge", "--team", "crew", "--json", code=None).json["items"]}
        for task in tasks:
            if task["state"] == "completed":
                assert task["id"] in listed, f"#{task['id']} is in no queue"
                if listed[task["id"]]["status"] == "merged":
                    self.crew.git("cat-file", "-e", f"{TARGET}:{task['id']}.txt")

    def no_attempt_is_counted(self) -> None:
        assert {task["failures"] for task in self.tasks()} <= {0}

    def the_first_screen_tells(self) -> None:
        """Bare `atm` at a terminal: its first line says how the last run stands, and the next one how to resume it."""
        last, said = self.last, self._first_screen()
        first = said.strip().splitlines()[0]
        if last["state"] == "died":
            assert f"run {last['run']} died" in first, said
        assert ("died" in first) == (last["state"] == "died"), said
        if last["state"] in ("died", "paused"):
            assert f"atm run --resume {last['run']} --team crew" in said

    def _first_screen(self) -> str:
        environment = {**self.crew.atm.environment, "TERM": "dumb", "ATM_TEAM": "crew"}
        terminal = Terminal(self.crew.atm.command(), environment, self.crew.folder, 80)
        said = terminal.read_until(lambda _: False)
        assert terminal.close() == 0
        return said

    def tasks(self) -> list[dict[str, str]]:
        found: list[dict[str, str]] = self.crew("tasks", "list", "--all", "--team", "crew", "--json", code=None).json[
            "tasks"
        ]
        return found

    # What a person types next.

    def types(self) -> None:
        {SAME: self._same, FRESH: self._fresh, RESUME: self._resume, STOP: self._stop, UP: self._up}[self.next]()

    def _same(self) -> None:
        has_died = self.last["state"] == "died"
        said = self.crew("run", "--plan", str(self.plan), *SCRIPTS, "--yes", "--json", code=None)
        if has_died:
            assert json.loads(said.out)["error"]["code"] == "run-died"

    def _fresh(self) -> None:
        self.crew("run", "--plan", str(self.other), *SCRIPTS, "--fresh", "--yes", "--json")

    def _resume(self) -> None:
        if self.last["state"] in ("died", "paused"):
            self.crew("run", "--resume", "--team", "crew", "--json")

    def _stop(self) -> None:
        self.crew("stop", "--team", "crew", code=None)
        self.crew.eventually(lambda: self.crew.running() == [])

    def _up(self) -> None:
        file = self.plan.with_name("crew.toml")
        file.write_text(CREW_FILE)
        self.crew("up", "--crew", str(file), "--team", "crew", "--yes", code=None)
        self.crew("down", "--team", "crew", code=None)

    def finish(self) -> None:
        """Until nothing is open: the run is resumed, or another one begun for what is left."""
        for _ in range(3):
            if self.last["state"] in ("died", "paused"):
                self.crew("run", "--resume", "--team", "crew", "--json", code=None)
            if all(task["state"] == "completed" for task in self.tasks()):
                break
            self.crew("run", *SCRIPTS, "--yes", "--json", code=None)
        self.crew("merge", "work", "--team", "crew", "--json", code=None)


def _kill(pid: int) -> None:
    if pid > 0:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return


@pytest.mark.parametrize("seed", range(200 if LONG else 8))
def test_nothing_is_lost_and_no_attempt_counted_whatever_is_killed_and_typed_next(
    crew: Crew, seed: int, request: pytest.FixtureRequest
) -> None:
    killing = Killing(crew, seed)
    request.node.user_properties.append(("killed", f"{killing.victim} after {killing.after}, then {killing.next}"))
    killing.kill()
    checks: tuple[Callable[[], None], ...] = (killing.completed_work_is_on_its_way, killing.no_attempt_is_counted)
    for check in (killing.the_first_screen_tells, *checks):
        check()
    killing.types()
    for check in checks:
        check()
    killing.finish()
    for check in checks:
        check()
    assert {task["state"] for task in killing.tasks()} == {"completed"}
    for task in killing.tasks():
        crew.git("cat-file", "-e", f"{TARGET}:{task['id']}.txt")
    if killing.victim == DAEMON:  # the next one finds what the killed one left, and takes it away when it stops
        crew("daemon", "start")
        crew("daemon", "stop")
    assert crew.left() == NOTHING
