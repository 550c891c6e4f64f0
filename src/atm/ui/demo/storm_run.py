"""Starts the storm, shows it while it blows, and counts afterwards."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field

from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.ui.demo.storm_workers import READER, TEAM
from atm.wiring.files import find_layout
from atm.wiring.mail import build_room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SENDERS = 8
PATIENCE = 60.0
"""Seconds for each to end by itself: a reader that is killed may not have written down yet what it was shown."""


@dataclass(slots=True)
class Tally:
    """What the logs prove."""

    sent: set[str] = field(default_factory=set)
    read: dict[str, int] = field(default_factory=dict)
    queued: int = 0
    merged: int = 0
    rewrites: int = 0
    kills: int = 0
    refused: int = 0
    seconds: float = 0.0
    restored: int = 0
    still_spooled: int = 0

    @property
    def lost(self) -> int:
        return len(self.sent - self.read.keys())

    @property
    def doubled(self) -> int:
        return sum(count > 1 for count in self.read.values())

    @property
    def delivered(self) -> int:
        return len(self.sent & self.read.keys())

    @property
    def clean(self) -> bool:
        return bool(self.sent) and not self.lost and not self.doubled


class Storm:
    """A sandbox full of processes."""

    def __init__(self, seconds: float, seed: int | None = None, *, rival: bool = True, killer: bool = True) -> None:
        self.seconds = seconds
        self.dice = random.Random(seed)
        self.sandbox = tempfile.mkdtemp(prefix="atm-storm-")
        self.rival = rival
        self.killer = killer
        self.kills = 0
        self._stop = f"{self.sandbox}/stop"
        self._offsets: dict[str, int] = {}
        self._tally = Tally()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def blow(self, watch: Callable[[float, Tally], None]) -> Tally:
        """Run it. `watch` is called several times a second with the time gone by and the tally so far."""
        room = build_room(find_layout({"ATM_HOME": self.sandbox}))
        create_team(room, TEAM)
        add_member(room, TEAM, Member(READER))
        for number in range(1, SENDERS + 1):
            self._start("sender", f"sender-{number}", f"sender-{number}")
        self._start("reader", READER, "-")
        if self.rival:
            self._start("rival", "rival", str(self.dice.randrange(1 << 30)))
        started = time.monotonic()
        next_kill, sent = 0.3, 0
        while (gone := time.monotonic() - started) < self.seconds:
            # Not before one more was sent: on a slow machine all would be killed before they get anywhere.
            if self.killer and gone >= next_kill and len(self._tally.sent) > sent:
                sent = len(self._tally.sent)
                self._kill_one()
                next_kill = gone + self.dice.uniform(0.1, 0.4)
            watch(gone, self.count())
            time.sleep(0.1)
        self._end()
        self._tally.seconds = time.monotonic() - started
        self._run("settle", "settle", "-")
        self._count_ledger()
        return self.count()

    def _command(self, role: str, name: str, extra: str) -> list[str]:
        log = f"{self.sandbox}/{name}.log"
        return [sys.executable, "-m", "atm.ui.demo.storm_workers", role, self.sandbox, log, self._stop, extra]

    def _start(self, role: str, name: str, extra: str) -> None:
        self._processes[name] = subprocess.Popen(self._command(role, name, extra), stdin=subprocess.DEVNULL)

    def _run(self, role: str, name: str, extra: str) -> None:
        subprocess.run(self._command(role, name, extra), check=True, timeout=300, stdin=subprocess.DEVNULL)

    def _kill_one(self) -> None:
        """kill -9, wherever it is; and start it again, as a supervisor would."""
        name = f"sender-{self.dice.randint(1, SENDERS)}"
        process = self._processes[name]
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.kills += 1
        self._start("sender", name, name)

    def _end(self) -> None:
        with open(self._stop, "w", encoding="utf-8"):
            pass
        for process in self._processes.values():
            try:
                process.wait(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def count(self) -> Tally:
        """Read what the logs gained since the last time."""
        self._tally.kills = self.kills
        for name in sorted(os.listdir(self.sandbox)):
            if name.endswith(".log"):
                self._count_log(f"{self.sandbox}/{name}")
        return self._tally

    def _count_log(self, path: str) -> None:
        with open(path, "rb") as file:
            file.seek(self._offsets.get(path, 0))
            data = file.read()
        whole, newline, _ = data.rpartition(b"\n")
        self._offsets[path] = self._offsets.get(path, 0) + len(whole) + len(newline)
        for line in whole.decode().splitlines():
            self._count_line(line.split())

    def _count_line(self, words: list[str]) -> None:
        tally = self._tally
        if words[0] == "sent":
            tally.sent.add(words[1])
            tally.queued += words[2] == "queued"
            tally.merged += int(words[3])
        elif words[0] == "read":
            tally.read[words[1]] = tally.read.get(words[1], 0) + 1
        elif words[0] == "rewrote":
            tally.rewrites += 1
        elif words[0] == "refused":
            tally.refused += 1

    def _count_ledger(self) -> None:
        room = build_room(find_layout({"ATM_HOME": self.sandbox}))
        entries = room.ledger.entries(TEAM)[0]
        self._tally.restored = sum(len(entry.ids) for entry in entries if entry.state == "restored")
        self._tally.still_spooled = len(room.spool.pending()) + len(room.spool.failed())

    def remove(self) -> None:
        shutil.rmtree(self.sandbox, ignore_errors=True)
