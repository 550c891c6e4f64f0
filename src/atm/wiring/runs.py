"""Runs over this machine."""

from __future__ import annotations

import os

from atm.files.adapters.disk import RealDisk
from atm.files.adapters.machine import RealClock
from atm.wiring.files import build_locks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.board.rules.dependencies import Board
    from atm.config import Settings
    from atm.crew.services.crewroom import Crewroom
    from atm.files.formats.layout import Layout
    from atm.merges.ports import Merges
    from atm.merges.services.mergeroom import Mergeroom
    from atm.roster.services.full_boardroom import FullBoardroom
    from atm.runs.ports import LoopProcess, Runs
    from atm.runs.rules.limits import Limits
    from atm.runs.rules.orders import RunOrder, RunRules
    from atm.runs.services.runroom import Runroom


def build_runs(layout: Layout) -> Runs:
    from atm.runs.adapters import RunFiles

    disk, clock = RealDisk(layout.private_roots), RealClock()
    return RunFiles(disk, build_locks(layout, disk, clock), layout)


def build_runroom(
    layout: Layout, settings: Settings, boardroom: FullBoardroom, environment: Mapping[str, str]
) -> Runroom:
    from atm.merges.adapters.worker import MergeProcess
    from atm.runs.services.runroom import Runroom
    from atm.wiring.approvals import build_approvalroom
    from atm.wiring.crew import build_crewroom

    crew = build_crewroom(layout, settings, boardroom, environment)
    approvals = build_approvalroom(layout, settings, boardroom.room, lambda: boardroom)
    merges, worker = _mergeroom(layout, settings, crew), MergeProcess(environment)
    return Runroom(crew, build_runs(layout), approvals, merges, worker)


def start_loop(layout: Layout, environment: Mapping[str, str], order: RunOrder) -> LoopProcess:
    """Resume a run in a process of its own, which prints into the run's folder."""
    from atm.runs.adapters import DetachedLoop

    return DetachedLoop(environment, order, f"{layout.run(order.team, order.run)}/loop.log")


def build_merges(layout: Layout) -> Merges:
    from atm.merges.adapters.queue_files import MergeFiles

    disk = RealDisk(layout.private_roots)
    return MergeFiles(disk, build_locks(layout, disk, RealClock()), layout)


def board_with_merges(layout: Layout, board: Board, team: str) -> Board:
    """The board with the merge queue of its team. A queue that cannot be read counts as missing."""
    if not os.path.exists(layout.merges(team)):
        return board
    from atm.core.errors import AtmError

    try:
        return board.with_merges(build_merges(layout).read(team))
    except AtmError:
        return board


def build_mergeroom(
    layout: Layout, settings: Settings, boardroom: FullBoardroom, environment: Mapping[str, str]
) -> Mergeroom:
    from atm.wiring.crew import build_crewroom

    return _mergeroom(layout, settings, build_crewroom(layout, settings, boardroom, environment))


def _mergeroom(layout: Layout, settings: Settings, crew: Crewroom) -> Mergeroom:
    from atm.merges.adapters.git_merging import GitMerging
    from atm.merges.services.mergeroom import MergePolicy, Mergeroom

    disk, clock = RealDisk(layout.private_roots), RealClock()
    locks = build_locks(layout, disk, clock)
    policy = MergePolicy(
        strategy=settings.text("merges.strategy"),
        at_once=settings.whole("merges.at_once"),
        check=settings.text("merges.check"),
        resolver=settings.text("merges.resolver"),
        command=settings.text("merges.resolve_command"),
        resolve=settings.number("merges.resolve_minutes") * 60,
        sends_back=settings.whole("merges.sends_back"),
        radar=settings.number("merges.radar_seconds"),
    )
    return Mergeroom(crew, build_merges(layout), GitMerging(disk, clock, locks, layout), policy)


def build_rules(settings: Settings) -> RunRules:
    from atm.runs.rules.orders import RunRules

    return RunRules(
        stuck_factor=settings.number("runs.stuck_factor"),
        stuck_first=settings.number("runs.stuck_minutes") * 60,
        stuck_least=settings.number("runs.stuck_least_seconds"),
        answer=settings.number("runs.answer_seconds"),
        human=settings.number("runs.human_minutes") * 60,
        restarts=settings.whole("runs.restarts"),
        start=settings.number("crew.start_seconds"),
        overlap=settings.yes("runs.overlap"),
    )


def build_limits(settings: Settings, scope: str) -> Limits:
    """`scope`: max, agent or task."""
    from atm.runs.rules.limits import Limits

    return Limits(
        minutes=settings.number(f"runs.{scope}_minutes"),
        turns=settings.whole(f"runs.{scope}_turns"),
        tokens=settings.whole(f"runs.{scope}_tokens"),
        cost=settings.number(f"runs.{scope}_cost"),
    )


class RunNews:
    """What may have changed that a loop looks at, for the price of a few looks at folders."""

    def __init__(self, layout: Layout, team: str, lead: str) -> None:
        self._paths = (
            layout.tasks(team),
            os.path.dirname(layout.agent_record(team, lead)),
            layout.approvals(team),
            layout.inbox(team, lead),
            layout.merges(team),
        )

    def now(self) -> object:
        return tuple(_stamp(path) for path in self._paths)


def _stamp(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_ino
