"""The screen: its first paint beside a bare Textual program, and what it takes of a core while nobody does anything."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Mapping
from dataclasses import dataclass

from atm.board.services import planning
from atm.board.services.new_tasks import NewTask
from atm.files.adapters.machine import find_layout
from atm.roster.services.members import add_member
from atm.team.rules.team import Member
from atm.wiring.board import build_tasks
from benchmarks.cases import Bench
from benchmarks.measure import Times, Variant, round_robin
from benchmarks.rows import Row, at_most
from benchmarks.sandboxes import TEAM, Sandbox, new_team

ROUNDS, QUICK_ROUNDS = 10, 1
LARGE, QUICK_LARGE = (50, 1000), (5, 20)
IDLE, QUICK_IDLE = 20.0, 2.0
SETTLED = 3.0
BOUND = 60.0
MARK = b"Needs you"
BARE = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("Needs you")
Bare().run()
"""
WHY_PAINT = "the team is read before anything is said of it"
WHY_IDLE = "who falls silent changes no file: every few seconds each heartbeat is looked at"


@dataclass(frozen=True, slots=True)
class ScreenFigures:
    """First paints, and shares of a core."""

    paint: dict[str, Times]
    size: tuple[int, int]
    idle: float
    idle_large: float


class ScreenProgram:
    """A program in a terminal of its own."""

    def __init__(self, words: list[str], environment: Mapping[str, str]) -> None:
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            os.execve(words[0], words, {**environment, "TERM": "xterm-256color"})
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def until_painted(self) -> None:
        seen, end = b"", time.monotonic() + BOUND
        while MARK not in seen:
            assert time.monotonic() < end, seen[-500:]
            seen += self._read(0.05)

    def _read(self, seconds: float) -> bytes:
        ready, _, _ = select.select([self._fd], [], [], seconds)
        return os.read(self._fd, 65536) if ready else b""

    def rest(self, seconds: float) -> None:
        """Somebody looks at it, and presses nothing."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self._read(min(0.5, left))

    def processor_time(self) -> float:
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._fd)


def measure_screen(bench: Bench) -> ScreenFigures:
    quick = bench.effort.rounds < 10
    rounds, size, idle = (QUICK_ROUNDS, QUICK_LARGE, QUICK_IDLE) if quick else (ROUNDS, LARGE, IDLE)
    bench.say(f"the screen: first paint, {rounds} rounds; idle for {idle:.0f} s, twice")
    sandbox = new_team(bench.new_folder())
    variants = [
        Variant("screen", lambda: _paint([sys.executable, "-m", "atm", "top"], sandbox)),
        Variant("bare", lambda: _paint([sys.executable, "-c", BARE], sandbox)),
    ]
    paint = round_robin(variants, rounds, lambda _: None)
    return ScreenFigures(paint, size, _idle(sandbox, idle), _idle(_large(bench, size), idle))


def _paint(words: list[str], sandbox: Sandbox) -> None:
    program = ScreenProgram(words, _environment(sandbox))
    try:
        program.until_painted()
    finally:
        program.end()


def _environment(sandbox: Sandbox) -> dict[str, str]:
    return {**sandbox.environment, "ATM_DAEMON_AUTOSTART": "0", "ATM_TEAM": TEAM}


def _idle(sandbox: Sandbox, seconds: float) -> float:
    program = ScreenProgram([sys.executable, "-m", "atm", "top"], _environment(sandbox))
    try:
        program.until_painted()
        program.rest(SETTLED)
        before = program.processor_time()
        program.rest(seconds)
        return (program.processor_time() - before) / seconds * 100
    finally:
        program.end()


def _large(bench: Bench, size: tuple[int, int]) -> Sandbox:
    from atm import config
    from atm.wiring.board import build_boardroom

    members, tasks = size
    sandbox = new_team(bench.new_folder())
    room, layout = sandbox.room(), find_layout(sandbox.environment)
    for number in range(members):
        add_member(room, TEAM, Member(f"agent{number}"))
    board = build_boardroom(layout, config.load(layout, sandbox.environment, str(sandbox.home), {}), room)
    planning.add(board, TEAM, "human", [NewTask(f"Task number {number} of a large plan") for number in range(tasks)])
    assert len(build_tasks(layout).board(TEAM).cards) == tasks
    return sandbox


def screen_targets(found: ScreenFigures) -> list[Row]:
    members, tasks = found.size
    return [
        at_most(
            "`atm top`: first paint / a bare Textual program's",
            found.paint["screen"],
            found.paint["bare"],
            1.5,
            WHY_PAINT,
        ),
        *(
            Row(
                f"`atm top` while nobody does anything, {what}",
                f"{share:.2f} %",
                "of one core",
                "≤ 1 %",
                share <= 1,
                WHY_IDLE,
            )
            for what, share in (
                ("a team of five", found.idle),
                (f"{members} agents and {tasks} tasks", found.idle_large),
            )
        ),
    ]
