"""The board's cases: claims on small and large boards, listing beside reading the bytes, and a crowd of claimants."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from atm import config
from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import add
from atm.files.adapters.machine import find_layout
from atm.roster.services.members import create_team
from atm.wiring.board import build_boardroom, build_tasks
from atm.wiring.mail import build_room
from benchmarks.cases import Bench, _progress
from benchmarks.measure import Program, Times, Variant, round_robin
from benchmarks.sandboxes import TEAM, Sandbox

SMALL, LARGE = 100, 10_000
CLAIMANTS, SHARED = 10, 100

READ_BYTES = "import os, sys\nfor e in os.scandir(sys.argv[1]):\n    if e.is_file(): open(e.path, 'rb').read()\n"


def new_board(home: Path, tasks: int) -> Sandbox:
    """A board on which every third task depends on the one before it, read once so that the index knows it."""
    sandbox = Sandbox(home)
    environment = {"ATM_HOME": str(home)}
    layout = find_layout(environment)
    room = build_room(layout)
    create_team(room, TEAM)
    boardroom = build_boardroom(layout, config.load(layout, environment, str(home), {}), room)
    text = "Read the notes in docs/import.md first. Two tests of the importer fail on empty files. " * 3
    wishes = [
        NewTask(f"step {n}: mend the importer", description=text, depends_on=[f"#{n - 1}"] if n % 3 == 0 else [])
        for n in range(1, tasks + 1)
    ]
    add(boardroom, TEAM, "human", wishes)
    build_tasks(layout).board(TEAM)
    return sandbox


class Claim:
    """`atm tasks claim` on one board, each time by somebody else, who gets a task."""

    def __init__(self, bench: Bench, sandbox: Sandbox) -> None:
        self._atm = bench.installation.atm
        self._sandbox = sandbox
        self._names = (f"worker-{number}" for number in count(1))
        self._program: Program | None = None

    def prepare(self) -> None:
        words = (self._atm, "tasks", "claim", "--as", next(self._names), "--team", TEAM, "--json")
        self._program = Program(words, self._sandbox.environment, str(self._sandbox.home))

    def run(self) -> None:
        assert self._program is not None
        self._program()  # raises unless the exit code is 0: then there was a task

    def variant(self, name: str) -> Variant:
        return Variant(name, self.run, self.prepare)


def time_board(bench: Bench) -> dict[str, Times]:
    """Claims on both boards, the list of the large one, and the reading of its bytes, taking turns."""
    bench.say(f"board: claims on {SMALL} and {LARGE:,} tasks, the list of {LARGE:,} beside the reading of their bytes")
    small, large = new_board(bench.new_folder(), SMALL), new_board(bench.new_folder(), LARGE)
    folder = str(large.home / ".claude" / "tasks" / TEAM)
    made = bench.installation
    listing = Program((made.atm, "tasks", "list", "--team", TEAM, "--json"), large.environment, str(large.home))
    reading = Program((made.python, "-I", "-c", READ_BYTES, folder), large.environment, str(large.home))
    variants = [
        Claim(bench, small).variant("claim of few"),
        Claim(bench, large).variant("claim of many"),
        Variant("list", listing),
        Variant("bytes", reading),
    ]
    rounds = min(bench.effort.rounds, 20)
    times = round_robin(variants, rounds, _progress(bench, rounds))
    for sandbox in (small, large):
        shutil.rmtree(sandbox.home, ignore_errors=True)
    return times


@dataclass(frozen=True, slots=True)
class Claimants:
    """How often each task was handed out."""

    counts: Counter[str]

    @property
    def exactly_once(self) -> int:
        return sum(times == 1 for times in self.counts.values())


WORKER = """
import json, subprocess, sys
atm, name, team = sys.argv[1:]
while True:
    done = subprocess.run([atm, "tasks", "claim", "--as", name, "--team", team, "--json"], capture_output=True)
    said = json.loads(done.stdout)
    if done.returncode:
        if said["reason_code"] == "all-finished": break
        continue
    id = said["task"]["id"]
    print(id, flush=True)
    subprocess.run([atm, "tasks", "complete", id, "--as", name, "--team", team], capture_output=True, check=True)
"""


def run_claimants(bench: Bench) -> Claimants:
    """Processes that claim and complete at the same time until nothing is left."""
    bench.say(f"{CLAIMANTS} processes × {SHARED} tasks: who got what")
    sandbox = new_board(bench.new_folder(), SHARED)
    made = bench.installation
    running = [
        subprocess.Popen(
            [made.python, "-c", WORKER, made.atm, f"worker-{number}", TEAM],
            env=sandbox.environment,
            cwd=sandbox.home,
            stdout=subprocess.PIPE,
        )
        for number in range(CLAIMANTS)
    ]
    counts: Counter[str] = Counter()
    for process in running:
        counts.update(process.communicate()[0].decode().split())
    sandbox.remove()
    return Claimants(counts)
