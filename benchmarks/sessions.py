"""Sessions: how long a lead needs to find its team again, of the seed's five members and of a hundred."""

from __future__ import annotations

import json
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from atm import config
from atm.board.services import planning
from atm.board.services.new_tasks import NewTask
from atm.files.adapters.machine import find_layout
from atm.mail.rules.quotas import Quota
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.roster.services.members import add_member
from atm.team.rules.team import Member
from atm.team.services.lifecycle import note_activity
from atm.wiring.board import build_boardroom
from atm.wiring.mail import build_room
from benchmarks.cases import Bench
from benchmarks.measure import Times
from benchmarks.rows import Row
from benchmarks.sandboxes import TEAM, TEXT, Sandbox, new_team

LARGE, QUICK_LARGE = (100, 1_000, 10_000), (10, 20, 100)
"""Members, tasks and messages of the large team."""


@dataclass(frozen=True, slots=True)
class SessionFigures:
    """What was found."""

    small: Times
    probe: Times
    checkpoint: Times
    size: tuple[int, int, int]
    large: float
    large_state: int
    """Bytes of its state."""
    steps: dict[str, float]
    """Milliseconds of each step for the large one."""


def measure_sessions(bench: Bench) -> SessionFigures:
    quick = bench.effort.rounds < 10
    rounds, size = (2, QUICK_LARGE) if quick else (10, LARGE)
    bench.say(f"sessions: {rounds} resumes of five members, then {size[0]} × {size[1]} tasks × {size[2]} messages")
    small, large = _Led(bench, 5, 5, 20), _Led(bench, *size)
    resumes = [small.run("resume", "--session", "one")[0] for _ in range(rounds)]
    probes = [small.run("probe", code=3)[0] for _ in range(rounds)]
    checkpoints = [small.run("checkpoint", "--git")[0] for _ in range(rounds)]
    seconds, said = large.run("resume", "--session", "one")
    steps = said["steps"]
    assert isinstance(steps, list)
    state = Path(find_layout(large.sandbox.environment).state(TEAM))
    return SessionFigures(
        Times(tuple(resumes)),
        Times(tuple(probes)),
        Times(tuple(checkpoints)),
        size,
        seconds,
        state.stat().st_size,
        {str(one["name"]): float(one["ms"]) for one in steps},
    )


class _Led:
    """A team with mail and tasks, and a repository in which it is led."""

    def __init__(self, bench: Bench, members: int, tasks: int, messages: int) -> None:
        self._atm = bench.installation.atm
        self.sandbox: Sandbox = new_team(bench.new_folder())
        self._folder = self.sandbox.home / "repository"
        self._folder.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=self._folder, check=True)
        layout = find_layout(self.sandbox.environment)
        room = build_room(layout)
        names = [f"member-{number}" for number in range(members)]
        for name in names:
            add_member(room, TEAM, Member(name))
        settings = config.load(layout, self.sandbox.environment, str(self._folder), {})
        board = build_boardroom(layout, settings, room)
        planning.add(board, TEAM, "human", [NewTask(f"task {number}") for number in range(tasks)])
        room.quota = Quota(0, 0)  # a team of months
        for number in range(messages):
            send(room, TEAM, names[number % members], Draft(sender=names[(number + 1) % members], text=TEXT))
        note_activity(room, TEAM)

    def run(self, verb: str, *words: str, code: int = 0) -> tuple[float, dict[str, object]]:
        began = time.perf_counter()
        done = subprocess.run(
            [self._atm, "session", verb, TEAM, *words, "--json"],
            env={**self.sandbox.environment, "ATM_DAEMON_AUTOSTART": "0"},
            cwd=self._folder,
            capture_output=True,
            check=False,
        )
        assert done.returncode == code, done.stderr.decode()
        return time.perf_counter() - began, json.loads(done.stdout)


def session_targets(found: SessionFigures) -> list[Row]:
    members, tasks, messages = found.size
    slowest = ", ".join(f"{name} {ms:.0f} ms" for name, ms in found.steps.items() if ms >= 1)
    return [
        Row(
            "`atm session resume` of five members",
            *(
                f"{found.small.median:.2f} s",
                "the seed allows 20 s",
                "≤ 1 s",
                found.small.median <= 1,
                "",
            ),
        ),
        Row("`atm session probe` of it", found.probe.milliseconds, "writes nothing"),
        Row("`atm session checkpoint --git` of it", found.checkpoint.milliseconds, "the seed allows 5 s"),
        Row(
            f"resume of {members} members × {tasks:,} tasks × {messages:,} messages",
            *(f"{found.large:.2f} s", f"{slowest}; its state has {found.large_state / 1000:.0f} KB"),
        ),
    ]
