"""
Work-sync's cases: a look at one member of a small and of a large team, a look at everybody, a burst of changes, and
the round of the stall watch.

Looks are taken in this process, over real files; the burst is a real daemon's.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from atm import config
from atm.board.services.stall_watch import watch_stalls
from atm.events.rules import TASK_CHANGED, TeamEvent
from atm.files.adapters.machine import find_layout
from atm.files.formats.times import to_iso
from atm.files.ports.records import STATUS
from atm.roster.services.members import create_team
from atm.team.services.registry import find_team
from atm.teamd.parts.worksync import SyncWork
from atm.wiring.board import build_boardroom
from atm.wiring.mail import build_room
from atm.wiring.worksync import build_syncroom
from atm.worksync.formats.status import decode_status
from atm.worksync.rules.triggers import MANUAL, STARTUP_SCAN
from atm.worksync.services.reconcile import reconcile
from benchmarks.cases import Bench, _progress
from benchmarks.daemon import LONGEST, _ask, running
from benchmarks.measure import Times, Variant, round_robin
from benchmarks.sandboxes import TEAM, Sandbox

if TYPE_CHECKING:
    from atm.worksync.services.syncroom import SyncRoom

LEAD = "lena"
SMALL_TEAM, LARGE_TEAM = 10, 1_000
TASKS, OWN_TASKS = 50, 5
"""On both boards, and how many of these are on the agenda of the member that is looked at."""

LOOKS = 10
"""In a row, each time it is a team's turn: one takes a few milliseconds, most of it waiting for the disk."""

SCANNED, QUICK_SCANNED = (1_000, 10_000), (100, 500)
"""Members and tasks."""

STALL_MINUTES = 30.0
BURST, BURST_OWNERS = 100, 2
QUIET = 0.6
"""Seconds of the quiet window in the burst. By default it is 90; nobody wants to wait for that here."""

ROSTER_AGE = 60.0
"""Seconds. A roster that was written less than two seconds ago is decoded at every look, because a second write could
hide behind the first; the daemon meets rosters that have lain there for hours."""


@dataclass(frozen=True, slots=True)
class Scan:
    """Seconds for a look at everybody of a team, and for what else is done over its board."""

    members: int
    tasks: int
    first: float
    """When nothing is known: every task file is read, every status is new."""
    again: Times
    stall_watch: Times
    board: Times
    """Only the look at the board, which is a part of all of these."""
    routing: float
    """For the daemon's loop to find out whom `BURST` events about tasks concern."""


@dataclass(frozen=True, slots=True)
class Burst:
    """What a daemon did when many tasks changed at once."""

    events: int
    """Heard by the daemon."""
    looks: tuple[int, ...]
    """At each member whose task changed."""
    others: int
    """Looks at everybody else."""

    @property
    def is_one_each(self) -> bool:
        return self.events >= BURST and set(self.looks) == {1} and not self.others


@dataclass(frozen=True, slots=True)
class SyncFigures:
    """What was found."""

    looks: dict[str, Times]
    """Seconds of one look, in the `small` and in the `large` team."""
    scan: Scan
    burst: Burst


def measure_worksync(bench: Bench) -> SyncFigures:
    return SyncFigures(looks=time_looks(bench), scan=time_scan(bench), burst=run_burst(bench))


# A team of any size.


class Crowd:
    """A home with one team in it: a lead, and members called m0, m1, m2 …"""

    def __init__(self, home: Path, members: int) -> None:
        self.sandbox = Sandbox(home)
        self.layout = find_layout(self.sandbox.environment)
        create_team(build_room(self.layout), TEAM, lead=LEAD)
        self.agents = [f"m{number}" for number in range(members - 1)]
        self.names = [LEAD, *self.agents]
        self._enter_agents()
        self.syncroom = self.new_plane()

    def _enter_agents(self) -> None:
        """In one go: a thousand changes of the roster are another benchmark."""
        path = Path(self.layout.team_config(TEAM))
        content = json.loads(path.read_bytes())
        entry = content["members"][0]
        content["members"] += [
            {**entry, "name": name, "agentId": f"{name}@{TEAM}", "agentType": "general-purpose"} for name in self.agents
        ]
        path.write_text(json.dumps(content, indent=2), encoding="utf-8")
        then = time.time() - ROSTER_AGE
        os.utime(path, (then, then))

    def new_plane(self) -> SyncRoom:
        """As a daemon has it that was just started."""
        settings = config.load(self.layout, self.sandbox.environment, str(self.sandbox.home), {})
        return build_syncroom(
            self.layout, settings, build_boardroom(self.layout, settings, build_room(self.layout, settings))
        )

    def look_at(self, *names: str, trigger: str = MANUAL) -> None:
        looks = reconcile(self.syncroom, TEAM, dict.fromkeys(names, trigger))
        if len(looks) != len(names):
            raise RuntimeError(f"{len(looks)} looks instead of {len(names)}")

    def looks(self) -> dict[str, int]:
        """How often each member was looked at, as the status file says."""
        found = self.syncroom.records.read(TEAM, STATUS)
        return {
            name: decode_status(TEAM, name, found[name]).counters.reconciles if name in found else 0
            for name in self.names
        }


def write_tasks(folder: Path, count: int, owner: Callable[[int], str]) -> None:
    """Task files as `atm tasks claim` leaves them behind: every other one is claimed just now, the rest are pending."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, count + 1):
        write_task(folder, number, owner(number))


def write_task(folder: Path, number: int, owner: str, subject: str = "mend the importer") -> None:
    """Whole or not at all, as everybody does who shares these files."""
    is_claimed = number % 2 == 1
    claim = {"id": f"claim-{number}", "by": owner, "at": to_iso(time.time())}
    task: dict[str, object] = {
        "id": str(number),
        "subject": f"step {number}: {subject}",
        "description": "Read the notes in docs/import.md first. Two tests of the importer fail on empty files. " * 3,
        "status": "in_progress" if is_claimed else "pending",
        "owner": owner,
        "blocks": [],
        "blockedBy": [],
        "metadata": {"atm": {"claim": claim} if is_claimed else {}},
    }
    fresh = folder / f".fresh-{number}"
    fresh.write_text(json.dumps(task, indent=2), encoding="utf-8")
    fresh.rename(folder / f"{number}.json")


# One member.


def time_looks(bench: Bench) -> dict[str, Times]:
    """A member with the same agenda in a small and in a large team, taking turns."""
    bench.say(f"work-sync: a look at one member in teams of {SMALL_TEAM} and of {LARGE_TEAM:,}")
    teams = {"small": _team_with_agenda(bench, SMALL_TEAM), "large": _team_with_agenda(bench, LARGE_TEAM)}
    variants = [Variant(name, lambda crowd=crowd: _look_often(crowd)) for name, crowd in teams.items()]  # type: ignore[misc]
    times = round_robin(variants, bench.effort.rounds, _progress(bench, bench.effort.rounds))
    for crowd in teams.values():
        crowd.sandbox.remove()
    return {name: Times(tuple(seconds / LOOKS for seconds in taken.seconds)) for name, taken in times.items()}


def _team_with_agenda(bench: Bench, members: int) -> Crowd:
    """Everybody was looked at before, so the status file is as large as the team makes it."""
    crowd = Crowd(bench.new_folder(), members)
    others = crowd.agents[1 : SMALL_TEAM - 1]
    write_tasks(
        Path(crowd.layout.tasks(TEAM)),
        TASKS,
        lambda number: crowd.agents[0] if number <= OWN_TASKS else others[number % len(others)],
    )
    crowd.look_at(*crowd.names, trigger=STARTUP_SCAN)
    return crowd


def _look_often(crowd: Crowd) -> None:
    for _ in range(LOOKS):
        crowd.look_at(crowd.agents[0])


# Everybody.


def time_scan(bench: Bench) -> Scan:
    members, tasks = QUICK_SCANNED if bench.effort.rounds < 10 else SCANNED
    bench.say(f"work-sync: everybody in a team of {members:,} with {tasks:,} tasks; the stall watch over them")
    crowd = Crowd(bench.new_folder(), members)
    write_tasks(Path(crowd.layout.tasks(TEAM)), tasks, lambda number: crowd.agents[number % len(crowd.agents)])
    os.sync()
    first = seconds_of(lambda: crowd.look_at(*crowd.names, trigger=STARTUP_SCAN))
    variants = [
        Variant("again", lambda: crowd.look_at(*crowd.names, trigger=STARTUP_SCAN)),
        Variant("stall watch", lambda: _watch_stalls(crowd)),
        Variant("board", lambda: _look_at_board(crowd)),
    ]
    times = round_robin(variants, min(bench.effort.rounds, 5), _progress(bench, 5))
    routing = _time_routing(crowd)
    crowd.sandbox.remove()
    return Scan(members, tasks, first, times["again"], times["stall watch"], times["board"], routing)


def seconds_of(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _watch_stalls(crowd: Crowd) -> None:
    syncroom = crowd.syncroom
    alerts = watch_stalls(syncroom.boardroom, syncroom.records, find_team(syncroom.room, TEAM), STALL_MINUTES)
    if alerts:
        raise RuntimeError(f"nothing is overdue, and yet there were {len(alerts)} alerts")


def _look_at_board(crowd: Crowd) -> None:
    crowd.syncroom.boardroom.tasks.board(TEAM)


def _time_routing(crowd: Crowd) -> float:
    """A round of the daemon's loop in which events were heard and nobody is due yet."""
    work = SyncWork(lambda: crowd.syncroom, lambda *_, **__: None, lambda *_: None, lambda: STALL_MINUTES)
    work.work()
    for number in range(1, BURST + 1):
        owner = crowd.agents[number % len(crowd.agents)]
        work.hear(TeamEvent(TASK_CHANGED, TEAM, str(number), time.time(), {"owner": owner}))
    return seconds_of(work.work)


# A burst.


def run_burst(bench: Bench) -> Burst:
    """Many tasks of a few members change at once, beside a daemon with a short quiet window."""
    bench.say(f"work-sync: {BURST} changed tasks of {BURST_OWNERS} members at once")
    crowd = Crowd(bench.new_folder(), SMALL_TEAM)
    folder, owners = Path(crowd.layout.tasks(TEAM)), crowd.agents[:BURST_OWNERS]

    def owner(number: int) -> str:
        return owners[number % len(owners)]

    write_tasks(folder, BURST, owner)
    settings = Path(crowd.layout.settings)
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(f"[worksync]\nquiet_seconds = {QUIET}\n", encoding="utf-8")
    with running(bench, crowd.sandbox):
        _until(lambda: all(crowd.looks().values()) and _is_calm(crowd.sandbox), "the first look at everybody")
        before, heard = crowd.looks(), _events(crowd.sandbox)
        for number in range(1, BURST + 1):
            write_task(folder, number, owner(number), "mend the exporter")
        _until(lambda: _events(crowd.sandbox) - heard >= BURST, "the events")
        _until(lambda: crowd.looks() != before and _is_calm(crowd.sandbox), "the looks")
        time.sleep(2 * QUIET)  # a second look would come now
        after, heard = crowd.looks(), _events(crowd.sandbox) - heard
    more = {name: after[name] - before[name] for name in crowd.names}
    return Burst(heard, tuple(more.pop(name) for name in owners), sum(more.values()))


def _events(sandbox: Sandbox) -> int:
    found = _ask(sandbox, "status")["events"]
    assert isinstance(found, int)
    return found


def _is_calm(sandbox: Sandbox) -> bool:
    counts = _ask(sandbox, "status")["worksync"]
    assert isinstance(counts, dict)
    return not counts["queued"] and not counts["running"]


def _until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + 3 * LONGEST
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"{what} did not come within {3 * LONGEST:.0f} s")
        time.sleep(0.05)
