"""Rooms in memory: the twins of all ports, put together as wiring puts the real ones together."""

from __future__ import annotations

from collections.abc import Callable

from atm.board.ports.workplaces import AgentPlaces
from atm.mail.rules.lifetimes import RetentionPolicy
from atm.roster.services.full_boardroom import FullBoardroom
from atm.roster.services.teamroom import Teamroom
from atm.testing.board import MemoryPrograms, MemoryTasks
from atm.testing.files import MemoryJournal, MemoryRecords, MemorySecrets
from atm.testing.mail import (
    MemoryArchive,
    MemoryDrift,
    MemoryInboxes,
    MemoryLedger,
    MemoryMarks,
    MemorySpool,
)
from atm.testing.roster import MemoryBackups, MemoryStates, MemoryTeamFiles
from atm.testing.surfacing import MemoryEndpoints, MemorySurfacings
from atm.testing.team import MemoryPresence, MemoryProcesses, MemoryRosters
from atm.testing.time_and_chance import FakeChance, FakeClock
from atm.worksync.services.syncroom import SyncPolicy, SyncRoom


class MemoryStores:
    """The twins of team life, and of what lies around the inboxes."""

    def __init__(self, clock: FakeClock, rosters: MemoryRosters, inboxes: MemoryInboxes) -> None:
        self.ledger = MemoryLedger(clock)
        self.spool = MemorySpool(clock)
        self.archive = MemoryArchive()
        self.marks = MemoryMarks()
        self.drift = MemoryDrift()
        self.presence = MemoryPresence()
        self.processes = MemoryProcesses()
        self.states = MemoryStates(rosters)
        self.files = MemoryTeamFiles(rosters, inboxes, self.ledger, self.states)
        self.backups = MemoryBackups(self.files)
        self.surfacings = MemorySurfacings()
        self.endpoints = MemoryEndpoints()
        self.secrets = MemorySecrets()


def memory_room(*, policy: RetentionPolicy | None = None, seed: int = 0) -> Teamroom:
    """A mailroom without a disk. Its parts are the twins above."""
    clock = FakeClock()
    rosters, inboxes = MemoryRosters(), MemoryInboxes()
    return Teamroom(
        clock=clock,
        chance=FakeChance(seed),
        rosters=rosters,
        inboxes=inboxes,
        stores=MemoryStores(clock, rosters, inboxes),
        policy=policy or RetentionPolicy(),
    )


def memory_boardroom(
    room: Teamroom | None = None,
    *,
    hooks: dict[str, list[str]] | None = None,
    workplaces: Callable[[], AgentPlaces] | None = None,
) -> FullBoardroom:
    """A board without a disk, over a mailroom without one. Its `tasks` and `programs` are twins."""
    room = room or memory_room()
    programs = MemoryPrograms()
    tasks = MemoryTasks(room.clock)
    return FullBoardroom(room=room, tasks=tasks, programs=lambda: programs, hooks=hooks, workplaces=workplaces)


def memory_syncroom(boardroom: FullBoardroom | None = None, policy: SyncPolicy | None = None) -> SyncRoom:
    """Work-sync without a disk."""
    boardroom = boardroom or memory_boardroom()
    find = boardroom.room.rosters.find
    return SyncRoom(
        boardroom, MemoryRecords(find), MemoryJournal(find), MemorySecrets(find), policy or SyncPolicy(), "twin"
    )
