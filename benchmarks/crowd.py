"""
Many processes that send to one inbox at once, and the count of what arrived.

The clock starts when every process is ready and stops when the last one has sent everything: starting interpreters is
not what is measured here.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from atm.roster.services.members import add_member
from atm.team.rules.team import Member
from benchmarks import baseline
from benchmarks.installation import Installation, clean_environment
from benchmarks.sandboxes import OWNER, TEAM, Sandbox, new_team

WORKER = Path(__file__).with_name("crowd_worker.py")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one crowd did."""

    sent: int
    lost: int
    doubled: int
    queued: int
    seconds: float
    slowest_percent: float
    """Seconds below which 99 of 100 sends took."""

    @property
    def rate(self) -> float:
        return self.sent / self.seconds


def run_crowd(installation: Installation, kind: str, folder: Path, processes: int, each: int) -> Outcome:
    """A crowd of senders of one kind: `atm`, or a style of the rival's."""
    if kind == "atm":
        return _run_atm(installation, folder, processes, each)
    folder.mkdir(parents=True)
    path = str(folder / "inbox.json")
    ids, taken, seconds = _run(installation, kind, path, processes, each)
    return _outcome(ids, [row["message_id"] for row in baseline.read(path)], 0, taken, seconds)


def _run_atm(installation: Installation, folder: Path, processes: int, each: int) -> Outcome:
    sandbox = new_team(folder)
    room = sandbox.room()
    for number in range(processes):  # as members: what strangers may have unread is bounded for all of them together
        add_member(room, TEAM, Member(f"sender-{number}"))
    ids, taken, seconds = _run(installation, "atm", str(folder), processes, each)
    arrived = [str(row.id) for row in sandbox.room().inboxes.rows(TEAM, OWNER)]
    waiting = _spooled(sandbox)
    sandbox.remove()
    return _outcome(ids, [*arrived, *waiting], len(waiting), taken, seconds)


def _spooled(sandbox: Sandbox) -> list[str]:
    spool = sandbox.room().spool
    return [spooled.entry.message_id for spooled in [*spool.pending(), *spool.failed()]]


def _outcome(sent: list[str], arrived: Iterable[str], queued: int, taken: list[float], seconds: float) -> Outcome:
    found = Counter(arrived)
    return Outcome(
        sent=len(sent),
        lost=len(set(sent) - found.keys()),
        doubled=sum(count > 1 for count in found.values()),
        queued=queued,
        seconds=seconds,
        slowest_percent=statistics.quantiles(taken, n=100)[-1],
    )


def _run(
    installation: Installation, kind: str, target: str, processes: int, each: int
) -> tuple[list[str], list[float], float]:
    workers = [_start(installation, kind, target, f"sender-{number}", each) for number in range(processes)]
    try:
        _wait_for("ready", workers)
        started = time.perf_counter()
        for worker in workers:
            _tell(worker)
        _wait_for("done", workers)
        seconds = time.perf_counter() - started
        reports = [json.loads(_line(worker)) for worker in workers]
    finally:
        _end(workers)
    ids = [message_id for report in reports for message_id in report["ids"]]
    taken = [one for report in reports for one in report["seconds"]]
    return ids, taken, seconds


def _start(installation: Installation, kind: str, target: str, name: str, each: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [installation.python, str(WORKER), kind, target, name, str(each)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=clean_environment(),
    )


def _wait_for(word: str, workers: list[subprocess.Popen[str]]) -> None:
    for worker in workers:
        said = _line(worker)
        if said != word:
            raise RuntimeError(f"a sender ended early: {said!r}")


def _tell(worker: subprocess.Popen[str]) -> None:
    assert worker.stdin is not None
    worker.stdin.write("go\n")
    worker.stdin.flush()


def _line(worker: subprocess.Popen[str]) -> str:
    assert worker.stdout is not None
    return worker.stdout.readline().strip()


def _end(workers: list[subprocess.Popen[str]]) -> None:
    for worker in workers:
        worker.terminate()  # no harm to one that has ended
        worker.communicate()
