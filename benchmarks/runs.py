"""Runs: what one tick costs, how soon a task that became free is claimed, and what a large run spends on itself."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from atm.board.rules.dependencies import Board
from atm.board.rules.tasks import IN_PROGRESS, Card
from atm.files.formats.times import from_iso
from atm.runs.rules import memory as kinds
from atm.runs.rules.deciding import decide
from atm.runs.rules.memory import RunEvent, RunMemory
from atm.runs.rules.observing import observe
from atm.runs.rules.orders import AgentSeat, RunOrder
from atm.runs.rules.view import AgentView, RunView, TaskFacts
from benchmarks.cases import Bench
from benchmarks.rows import Row
from benchmarks.sandboxes import TEAM, new_team

TASKS, AGENTS = 1_000, 50
CROWD, QUICK_CROWD = (30, 200), (3, 9)
CHAIN, QUICK_CHAIN = 60, 5
LONGEST_TICK, LONGEST_CLAIM = 0.05, 0.5
WHY_CLAIM = "the loop looks at the folders ten times a second, and a claim is durable on disk"
WHY_CROWD = "each task is a worktree, a shell, a commit and two durable writes of the board on two cores"


@dataclass(frozen=True, slots=True)
class RunFigures:
    """Seconds."""

    tick: float
    claims: list[float]
    agents: int
    tasks: int
    total: float
    overhead: float
    outcome: str

    def percentile(self, share: float) -> float:
        return sorted(self.claims)[min(len(self.claims) - 1, int(share * len(self.claims)))]


def measure_runs(bench: Bench) -> RunFigures:
    quick = bench.effort.rounds < 10
    agents, tasks = QUICK_CROWD if quick else CROWD
    bench.say(f"runs: a tick with {TASKS} tasks and {AGENTS} agents; {agents} agents at {tasks} tasks")
    claims = _chain(bench, QUICK_CHAIN if quick else CHAIN)
    report = _run(bench, [f"- [ ] Task {n} (run: echo {n} > {n}.txt)" for n in range(tasks)], agents)[0]
    overhead = report["overhead"]
    assert isinstance(overhead, dict)
    total, spent = float(str(report["seconds"])), float(str(overhead["seconds"]))
    return RunFigures(_tick(), claims, agents, tasks, total, spent, str(report["outcome"]))


def _tick() -> float:
    """The slowest of a few, the first one included: pure, so it needs no machine."""
    now = 1e9
    order = RunOrder(run="r", team="t", folder="/", seats=[_seat(n) for n in range(1, AGENTS + 1)])
    working = [
        Card(n, f"T{n}", status=IN_PROGRESS, owner=f"a{n}", claim_id=f"c{n}", files=[f"src/m{n}/**"])
        for n in range(1, AGENTS // 2 + 1)
    ]
    waiting = [
        Card(n, f"T{n}", blocked_by=[str(n - 7)] if n % 3 else [], files=[f"src/m{n % 97}/*.py"])
        for n in range(AGENTS // 2 + 1, TASKS + 1)
    ]
    cards = {card.number: card for card in (*working, *waiting)}
    memory, agents = RunMemory(), {}
    for card in working:
        memory.take(RunEvent(kinds.SPAWNED, card.owner, now - 60, generation=1, task=card.id))
        agents[card.owner] = AgentView(
            name=card.owner, generation=1, state="working", is_alive=True, task=card.id, began_at=now - 60
        )
    facts = {card.id: TaskFacts() for card in cards.values()}
    slowest = 0.0
    for _ in range(5):
        began = time.perf_counter()
        view = RunView(now=now, board=Board(cards), agents=agents, facts=facts)
        for event in observe(order, memory, view):
            memory.take(event)
        decide(order, memory, view)
        slowest = max(slowest, time.perf_counter() - began)
    return slowest


def _seat(number: int) -> AgentSeat:
    return AgentSeat(name=f"a{number}", runtime="claude")


def _chain(bench: Bench, length: int) -> list[float]:
    """Each task waits for the one before: from the end of that to the claim, by the board's own history."""
    lines = [f"- [ ] T{n} (id: t{n}) (run: true)" + (f" (depends: t{n - 1})" if n else "") for n in range(length)]
    report, atm = _run(bench, lines, 2)
    if report["outcome"] != "success":
        raise RuntimeError(f"the chain ended as {report['outcome']}")
    ends, begins = {}, {}
    for number in range(1, length + 1):
        for event in atm("tasks", "history", str(number))["events"]:  # type: ignore[attr-defined]
            if event.get("to") == "in_progress":
                begins[number] = from_iso(event["at"]) or 0.0
            elif event.get("to") == "completed":
                ends[number] = from_iso(event["at"]) or 0.0
    return [max(0.0, begins[number] - ends[number - 1]) for number in range(2, length + 1)]


def _run(bench: Bench, lines: list[str], agents: int) -> tuple[dict[str, object], _Atm]:
    sandbox = new_team(bench.new_folder())
    folder = sandbox.home / "repository"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    identity = ("-c", "user.name=Bench", "-c", "user.email=bench@example.org")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        subprocess.run(["git", *identity, *words], cwd=folder, check=True)
    plan = sandbox.home / "plan.md"
    plan.write_text("\n".join(lines) + "\n")
    atm = _Atm(str(bench.installation.atm), {**sandbox.environment, "SHELL": "/bin/sh"}, folder)
    return atm("run", "--plan", str(plan), "--runtime", "script", "--agents", str(agents), "--yes"), atm


class _Atm:
    """The program, in one folder."""

    def __init__(self, program: str, environment: dict[str, str], folder: Path) -> None:
        self._program = program
        self._environment = environment
        self._folder = folder

    def __call__(self, *words: str) -> dict[str, object]:
        done = subprocess.run(
            [self._program, *words, "--team", TEAM, "--json"],
            env=self._environment,
            cwd=self._folder,
            capture_output=True,
            check=True,
        )
        found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
        return found


def run_targets(found: RunFigures) -> list[Row]:
    slowest, middle = found.percentile(0.99), found.percentile(0.5)
    each = found.overhead / found.tasks * 1000
    return [
        Row(
            f"one tick of a run, {TASKS:,} tasks × {AGENTS} agents, the slowest of five",
            *(f"{found.tick * 1000:.0f} ms", "", "≤ 50 ms", found.tick <= LONGEST_TICK, ""),
        ),
        Row(
            "a task becomes free → it is claimed, p99",
            *(
                f"{slowest * 1000:.0f} ms",
                f"p50 {middle * 1000:.0f} ms",
                "≤ 500 ms",
                slowest <= LONGEST_CLAIM,
                WHY_CLAIM,
            ),
        ),
        Row(
            f"a run of {found.agents} agents × {found.tasks} tasks: {found.outcome}, coordination",
            *(f"{found.overhead:.1f} s", f"of {found.total:.0f} s; {each:.0f} ms a task", "reported", True, WHY_CROWD),
        ),
    ]
