"""The daemon's cases: how soon a changed file is an event, what it weighs with many teams, what it costs when idle."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from atm.daemon.adapters.client import listen, stop
from atm.files.adapters.machine import find_layout
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.wiring.daemon import ask_daemon
from benchmarks.cases import Bench
from benchmarks.sandboxes import TEAM, Sandbox, new_team

TEAMS, MEMBERS = 100, 20
CHANGES, QUICK_CHANGES = 500, 20
IDLE_SECONDS, QUICK_SECONDS = 30.0, 2.0
LONGEST = 10.0


@dataclass(frozen=True, slots=True)
class DaemonFigures:
    """What was found."""

    latencies: tuple[float, ...]
    memory_alone: int
    memory_with_teams: int
    idle_seconds: float
    """Seconds of processor time in `watched` seconds, with all those teams."""
    watched: float

    def percentile(self, part: float) -> float:
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))]

    @property
    def idle_share(self) -> float:
        return self.idle_seconds / self.watched


def measure_daemon(bench: Bench) -> DaemonFigures:
    """A daemon beside one team, and one beside a hundred."""
    quick = bench.effort.rounds < 10
    bench.say(f"daemon: {QUICK_CHANGES if quick else CHANGES} changed files until the event is heard")
    with running(bench, new_team(bench.new_folder())) as (sandbox, _):
        latencies = tuple(_latencies(sandbox, QUICK_CHANGES if quick else CHANGES))
        alone = _memory(sandbox)
    bench.say(f"daemon: {TEAMS} teams of {MEMBERS} members, memory and idle time")
    with running(bench, many_teams(bench.new_folder())) as (sandbox, pid):
        seconds = QUICK_SECONDS if quick else IDLE_SECONDS
        before = _processor_time(pid)
        time.sleep(seconds)
        return DaemonFigures(latencies, alone, _memory(sandbox), _processor_time(pid) - before, seconds)


class running:
    """`with running(…) as (sandbox, pid):` a daemon of the installed atm."""

    def __init__(self, bench: Bench, sandbox: Sandbox) -> None:
        self._atm = bench.installation.atm
        self._sandbox = sandbox

    def __enter__(self) -> tuple[Sandbox, int]:
        subprocess.run(
            [self._atm, "daemon", "start"], env=self._sandbox.environment, check=True, stdout=subprocess.DEVNULL
        )
        while not self._has_done_its_first_rounds():
            time.sleep(0.5)
        pid = _ask(self._sandbox, "ping")["pid"]
        assert isinstance(pid, int)
        return self._sandbox, pid

    def _has_done_its_first_rounds(self) -> bool:
        loops = _ask(self._sandbox, "status")["loops"]
        assert isinstance(loops, list)
        return all(loop["runs"] for loop in loops)

    def __exit__(self, *_: object) -> None:
        stop(find_layout(self._sandbox.environment), 15)
        self._sandbox.remove()


def many_teams(home: Path) -> Sandbox:
    sandbox = Sandbox(home)
    room = sandbox.room()
    for number in range(TEAMS):
        team = f"team-{number}"
        create_team(room, team)
        for member in range(MEMBERS):
            add_member(room, team, Member(f"agent-{member}"))
        send(room, team, "agent-0", Draft(sender="agent-1", text="hello"))
    return sandbox


def _ask(sandbox: Sandbox, what: str) -> dict[str, object]:
    found = ask_daemon(find_layout(sandbox.environment), what)
    assert isinstance(found, dict)
    return {**found}


def _memory(sandbox: Sandbox) -> int:
    found = _ask(sandbox, "status")["memory"]
    assert isinstance(found, int)
    return found


def resident(pid: int) -> int:
    """Bytes, without asking the daemon, which may be busy."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _processor_time(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _latencies(sandbox: Sandbox, changes: int) -> Iterator[float]:
    """From the return of the rename that replaces the inbox to the event in another process's hands."""
    heard: dict[str, float] = {}
    some, ready = threading.Condition(), threading.Event()
    threading.Thread(target=_listen, args=(sandbox, heard, some, ready), daemon=True).start()
    assert ready.wait(LONGEST)
    inbox = sandbox.inbox
    for number in range(changes):
        id = f"change-{number}"
        row = (
            f'{{"from": "bob", "text": "t", "timestamp": "2026-11-15T00:00:00.000Z", "read": false, "msg_id": "{id}"}}'
        )
        fresh = inbox.with_name(".fresh")
        fresh.write_text(f"[{row}]")
        os.replace(fresh, inbox)
        changed = time.perf_counter()
        with some:
            assert some.wait_for(lambda id=id: id in heard, LONGEST), f"{id} was never told"  # type: ignore[misc]
        yield heard[id] - changed
        time.sleep(0.01)


def _listen(sandbox: Sandbox, heard: dict[str, float], some: threading.Condition, ready: threading.Event) -> None:
    fields = {"kinds": ["message.written"], "team": TEAM}
    for event in listen(find_layout(sandbox.environment), {**fields}):  # type: ignore[dict-item]
        at = time.perf_counter()
        detail = event.get("detail")
        with some:
            if event.get("kind") == "listening":
                ready.set()
            elif isinstance(detail, dict):
                heard[str(detail.get("id"))] = at
                some.notify_all()
