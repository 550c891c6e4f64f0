"""
A busy team over MCP: each member has a connection of its own, sends, reads, adds, claims and completes, and pauses for
a moment. What it costs the daemon, how it lasts, and whether anything was lost or came twice.
"""

from __future__ import annotations

import os
import random
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from atm.files.adapters.machine import find_layout
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from benchmarks.cases import Bench
from benchmarks.daemon import _processor_time, resident, running
from benchmarks.mcp import talk_to_atm
from benchmarks.mcp_programs import Talk
from benchmarks.rows import Row
from benchmarks.sandboxes import TEAM, Sandbox
from benchmarks.worksync import write_tasks

TEAMS = (10, 30)
SECONDS, QUICK_SECONDS = 180.0, 6.0
TASKS, QUICK_TASKS = 2_000, 50
LONGEST_PAUSE = 0.3

WHY_PROCESSOR = (
    "the price of a call is spread over some forty places, none above a twentieth: looks at files before they are "
    "believed, locks that other programs respect, books that make a loss provable, and Python's one thread at a time"
)
WHY_SLOW = (
    "the daemon is one Python process: what all members ask for together has to pass one after the other. Ten members "
    "that never rest take up most of a core, thirty ask for two; then each waits for the others, and nothing is lost"
)


@dataclass
class Busy:
    """What one team did."""

    members: int
    seconds: float
    calls: list[tuple[float, str, float]] = field(default_factory=list)
    """When since the beginning, what, how long."""
    sent: set[str] = field(default_factory=set)
    read: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    processor: float = 0.0
    memory: list[tuple[float, int, int]] = field(default_factory=list)
    """When, resident bytes, open descriptors."""

    def percentile(self, what: str, part: float) -> float:
        ordered = sorted(taken for _, verb, taken in self.calls if verb == what)
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0

    @property
    def last_beside_first(self) -> float:
        """Calls in the last third beside those in the first."""
        third = self.seconds / 3
        first = sum(at < third for at, _, _ in self.calls)
        return sum(at >= 2 * third for at, _, _ in self.calls) / max(1, first)

    @property
    def doubled(self) -> int:
        return len(self.read) - len(set(self.read))

    @property
    def growth(self) -> int:
        """Bytes of memory gained after the first third."""
        later = [size for at, size, _ in self.memory if at >= self.seconds / 3]
        return later[-1] - later[0] if later else 0

    @property
    def new_descriptors(self) -> int:
        later = [count for at, _, count in self.memory if at >= self.seconds / 3]
        return later[-1] - later[0] if later else 0


def measure_busy_teams(bench: Bench) -> list[Busy]:
    quick = bench.effort.rounds < 10
    return [_one(bench, size, QUICK_SECONDS if quick else SECONDS, QUICK_TASKS if quick else TASKS) for size in TEAMS]


def _one(bench: Bench, size: int, seconds: float, tasks: int) -> Busy:
    bench.say(f"a busy team of {size} over MCP, {seconds:.0f} s")
    names = [f"agent-{number}" for number in range(size)]
    found = Busy(size, seconds)
    with ExitStack() as stack:
        sandbox, pid = stack.enter_context(running(bench, _team(bench.new_folder(), names, tasks)))
        talks = {name: stack.enter_context(talk_to_atm(bench, sandbox, name)) for name in names}
        for talk in talks.values():
            talk.call("team_status")
        before, began = _processor_time(pid), time.monotonic()
        threads = [threading.Thread(target=_work, args=(found, name, names, talks[name], began)) for name in names]
        for thread in threads:
            thread.start()
        while (at := time.monotonic() - began) < seconds:
            found.memory.append((at, resident(pid), len(os.listdir(f"/proc/{pid}/fd"))))
            time.sleep(1)
        for thread in threads:
            thread.join()
        found.processor = _processor_time(pid) - before
        for talk in talks.values():  # what nobody has read yet
            while _read(found, talk):
                pass
    return found


def _team(home: Path, names: list[str], tasks: int) -> Sandbox:
    sandbox = Sandbox(home)
    room = sandbox.room()
    create_team(room, TEAM)
    for name in names:
        add_member(room, TEAM, Member(name))
    write_tasks(Path(find_layout(sandbox.environment).tasks(TEAM)), tasks, lambda _: "")
    return sandbox


def _work(found: Busy, name: str, names: list[str], talk: Talk, began: float) -> None:
    chance = random.Random(name)  # the same calls in every run
    mine = ""
    while (at := time.monotonic() - began) < found.seconds:
        draw, started = chance.random(), time.perf_counter()
        try:
            if draw < 0.4:
                what, to = "send", chance.choice([one for one in names if one != name])
                said = talk.call("mail_send", {"to": to, "text": f"note {started} of {name}"}).structured
                found.sent.add(str(said["message_id"]))
            elif draw < 0.8:
                what = "read"
                _read(found, talk)
            elif draw < 0.87:
                what = "add"
                talk.call("board_add", {"subject": f"work of {name}"})
            elif mine:
                what = "complete"
                talk.call("board_complete", {"id": mine})
                mine = ""
            else:
                what = "claim"
                claimed = talk.call("board_claim", {}).structured.get("task")
                mine = str(claimed["id"]) if isinstance(claimed, dict) else ""
        except RuntimeError as error:
            found.errors.append(f"{what}: {error}"[:200])
        found.calls.append((at, what, time.perf_counter() - started))
        time.sleep(chance.random() * LONGEST_PAUSE)


def _read(found: Busy, talk: Talk) -> int:
    messages = talk.call("mail_read", {"limit": 20}).structured["messages"]
    found.read += [str(message["id"]) for message in messages]
    return len(messages)


def busy_targets(found: list[Busy]) -> list[Row]:
    return [row for one in found for row in _rows(one)]


def _rows(one: Busy) -> list[Row]:
    who = f"busy team of {one.members} over MCP"
    lost, wrong = len(one.sent - set(one.read)), one.doubled + len(one.errors)
    each = one.processor / max(1, len(one.calls)) * 1000
    sample = f"; {one.errors[0]}" if one.errors else ""
    return [
        Row(
            f"{who}, {one.seconds:.0f} s: lost, doubled, errors",
            f"{lost}, {one.doubled}, {len(one.errors)}",
            f"{len(one.sent):,} sent, {len(one.calls):,} calls{sample}",
            "0",
            not lost + wrong,
        ),
        Row(f"{who}: the daemon's processor time for a call", f"{each:.1f} ms", "", "≤ 8 ms", each <= 8, WHY_PROCESSOR),
        _within(who, one, "send", 10, 100),
        _within(who, one, "read", 10, 100),
        _within(who, one, "claim", 20, None),
        Row(
            f"{who}: calls in the last third / in the first",
            f"{one.last_beside_first:.2f}",
            "",
            "≥ 0.9",
            one.last_beside_first >= 0.9,
            WHY_SLOW,
        ),
        Row(
            f"{who}: memory gained after the first third",
            f"{one.growth / 1e6:.1f} MB",
            f"{one.memory[-1][1] / 1e6:.0f} MB at the end, {one.new_descriptors} more descriptors",
            "± 3 MB",
            abs(one.growth) <= 3e6,
            "boards, rosters and inboxes that were read are kept until others push them out: it grows towards that "
            "bound and stays",
        ),
    ]


def _within(who: str, one: Busy, what: str, middle: float, slowest: float | None) -> Row:
    half, most = one.percentile(what, 0.5) * 1000, one.percentile(what, 0.99) * 1000
    bounds = f"≤ {middle} ms" + (f" and ≤ {slowest} ms" if slowest is not None else "")
    ok = half <= middle and (slowest is None or most <= slowest)
    return Row(f"{who}: {what}, p50 and p99", f"{half:.1f} and {most:.1f} ms", "", bounds, ok, WHY_SLOW)
