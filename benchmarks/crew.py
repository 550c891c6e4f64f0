"""Agents: what a start costs beside git's own worktree, how long thirty take to end, and what a host weighs."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass

from benchmarks.cases import Bench
from benchmarks.daemon import resident
from benchmarks.measure import Times
from benchmarks.rows import Row
from benchmarks.sandboxes import TEAM, new_team

AGENTS, QUICK_AGENTS = 30, 3
FILES = 200

WHY_SPAWN = (
    "an agent is two starts of Python (the command and the host that outlives it), a roster entry, a slot and a record "
    "that is made durable before each step; `git worktree add` alone takes a few milliseconds"
)


@dataclass(frozen=True, slots=True)
class CrewFigures:
    """What was found."""

    worktree: Times
    program: Times
    spawn: Times
    agents: int
    up: float
    down: float
    memory: int
    """Resident bytes of one host."""


def measure_crew(bench: Bench) -> CrewFigures:
    quick = bench.effort.rounds < 10
    rounds, agents = (2, QUICK_AGENTS) if quick else (10, AGENTS)
    bench.say(f"agents: {rounds} starts beside git's worktree, and {agents} at once")
    sandbox = new_team(bench.new_folder())
    folder = sandbox.home / "repository"
    folder.mkdir()
    for number in range(FILES):
        (folder / f"{number}.txt").write_text("some text\n" * 20)
    identity = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        subprocess.run(["git", *identity, *words], cwd=folder, check=True)

    def atm(*words: str) -> tuple[float, dict[str, object]]:
        began = time.perf_counter()
        done = subprocess.run(
            [bench.installation.atm, *words, "--team", TEAM, "--json"],
            env={**sandbox.environment, "SHELL": "/bin/sh"},
            cwd=folder,
            capture_output=True,
            check=True,
        )
        return time.perf_counter() - began, json.loads(done.stdout)

    def timed(*words: str) -> float:
        began = time.perf_counter()
        subprocess.run(words, cwd=folder, check=True, capture_output=True, env=sandbox.environment)
        return time.perf_counter() - began

    worktree, program, spawn = list[float](), list[float](), list[float]()
    for number in range(rounds):
        path = str(sandbox.home / f"tree-{number}")
        worktree.append(timed("git", "worktree", "add", "-q", "-b", f"branch-{number}", path))
        program.append(timed("/bin/sh", "-c", "true"))
        spawn.append(atm("spawn", f"command:one-{number}")[0])
        atm("kill", f"one-{number}")
    up, said = atm("up", *(f"script:agent-{number}" for number in range(agents)))
    members = said["members"]
    assert isinstance(members, list)
    memory = resident(int(members[0]["pid"]))
    down, _ = atm("down")
    return CrewFigures(Times(tuple(worktree)), Times(tuple(program)), Times(tuple(spawn)), agents, up, down, memory)


def crew_targets(found: CrewFigures) -> list[Row]:
    allowed = 2 * found.worktree.median + found.program.median
    ratio = found.spawn.median / allowed
    detail = f"{found.spawn.milliseconds} / (2 × {found.worktree.milliseconds} + {found.program.milliseconds})"
    return [
        Row(
            "`atm spawn` / (2 × `git worktree add` + the program's own start)",
            *(f"{ratio:.2f}", detail, "≤ 1.0", ratio <= 1, WHY_SPAWN),
        ),
        Row(f"`atm down` of {found.agents} agents", f"{found.down:.1f} s", f"they came up in {found.up:.1f} s"),
        Row("memory for each agent beyond its program's own", f"{found.memory / 1e6:.0f} MB", "its host, resident"),
    ]
