"""Starts the crew, kills some of it, starts it again, and lets the history speak afterwards."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

from atm.ui.demo.board_proof import Proof, prove
from atm.ui.demo.board_worker import TEAM
from atm.wiring.board import build_tasks
from atm.wiring.files import find_layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

WORKERS, TASKS = 10, 200
LONGEST = 300.0
"""Seconds: a run that is not over by then has got stuck, which is a defect."""


@dataclass(slots=True)
class DemoReport:
    """How it went."""

    tasks: int
    workers: int
    kills: int = 0
    newcomers: int = 0
    seconds: float = 0.0
    states: dict[str, int] = field(default_factory=dict)
    proof: Proof = field(default_factory=Proof)

    @property
    def clean(self) -> bool:
        is_done = self.states.get("completed", 0) == self.tasks == self.proof.completed == self.proof.created
        return is_done and not self.proof.violations


class Crew:
    """A sandbox with a board and processes around it."""

    def __init__(self, tasks: int = TASKS, workers: int = WORKERS, seed: int | None = None) -> None:
        self.tasks = tasks
        self.workers = workers
        self.seed = seed if seed is not None else random.randrange(1 << 30)
        self.dice = random.Random(self.seed)
        self.sandbox = tempfile.mkdtemp(prefix="atm-crew-")
        self._environment = {
            **os.environ,
            "ATM_HOME": f"{self.sandbox}/home",
            # Every call is a process: compiled once, into the sandbox.
            "PYTHONPYCACHEPREFIX": f"{self.sandbox}/compiled",
            "PYTHONDONTWRITEBYTECODE": "",
        }
        self._layout = find_layout(self._environment)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._report = DemoReport(tasks, workers)

    def work(self, watch: Callable[[float, dict[str, int], DemoReport], None]) -> DemoReport:
        """Until everything is finished. `watch` is called several times a second."""
        self._found()
        started, next_kill, finished = time.monotonic(), 1.0, 0
        for number in range(1, self.workers + 1):
            self._start(f"worker-{number}")
        while (gone := time.monotonic() - started) < LONGEST and self._are_working():
            counts = build_tasks(self._layout).board(TEAM).counts()
            # Not before one more is finished: on a slow machine all would be killed before they get anywhere.
            if gone >= next_kill and counts.get("completed", 0) > finished:
                finished = counts["completed"]
                self._kill_one()
                next_kill = gone + self.dice.uniform(0.2, 0.8)
            watch(gone, counts, self._report)
            time.sleep(0.2)
        self._report.seconds = time.monotonic() - started
        for process in self._processes.values():
            _kill(process)
        return self._count()

    def _found(self) -> None:
        """The team and its plan, through the command line like everything else."""
        self._atm("teams", "create", TEAM)
        self._atm("config", "set", "board.max_retries", "1000")
        for number in range(1, self.workers + 1):
            self._atm("teams", "add-member", TEAM, f"worker-{number}")
        self._atm("tasks", "import", "-", "--format", "json", "--team", TEAM, stdin=json.dumps(self._plan()))

    def _plan(self) -> list[dict[str, object]]:
        """Each task depends on up to three of the twelve before it."""
        plan: list[dict[str, object]] = []
        for number in range(1, self.tasks + 1):
            before = range(max(1, number - 12), number)
            chosen = self.dice.sample(before, min(len(before), self.dice.randint(0, 3)))
            priority = self.dice.choice(("critical", "high", "normal", "low"))
            needs = [f"step {other}" for other in sorted(chosen)]
            plan.append({"subject": f"step {number}", "depends_on": needs, "priority": priority})
        return plan

    def _atm(self, *words: str, stdin: str = "") -> None:
        subprocess.run(
            [sys.executable, "-m", "atm", *words],
            input=stdin.encode(),
            env=self._environment,
            cwd=self.sandbox,
            stdout=subprocess.DEVNULL,
            check=True,
        )

    def _start(self, name: str) -> None:
        self._processes[name] = subprocess.Popen(
            [sys.executable, "-m", "atm.ui.demo.board_worker", self.sandbox, name, str(self.seed)],
            env=self._environment,
            cwd=self.sandbox,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _are_working(self) -> bool:
        return any(process.poll() is None for process in self._processes.values())

    def _kill_one(self) -> None:
        """kill -9 for a worker and the command it is in; then the same one comes back, or a new one instead."""
        alive = [name for name, process in self._processes.items() if process.poll() is None]
        if not alive:
            return
        name = self.dice.choice(alive)
        _kill(self._processes.pop(name))
        self._report.kills += 1
        if self.dice.random() < 0.25:
            self._report.newcomers += 1
            name = f"newcomer-{self._report.newcomers}"
            self._atm("teams", "add-member", TEAM, name)
        self._start(name)

    def _count(self) -> DemoReport:
        tasks = build_tasks(self._layout)
        with tasks.turn(TEAM) as turn:  # whatever a killed process left is finished here
            board = turn.board
        needs = {card.id: board.blockers(card) for card in board.cards.values()}
        self._report.states = board.counts()
        self._report.proof = prove(tasks.past(TEAM)[0], needs)
        return self._report

    def remove(self) -> None:
        shutil.rmtree(self.sandbox, ignore_errors=True)


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
