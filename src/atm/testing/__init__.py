"""
Twins of every port, in memory, and a clock that only moves when told: for tests, simulators and plugin authors.

The same contract suites run against these twins and against the real adapters (`tests/contracts`), so a twin
cannot drift into fiction. `FaultyDisk` wraps any disk and stops the world at a chosen step.
"""

from __future__ import annotations

from atm.testing.board import MemoryPrograms, MemoryTasks
from atm.testing.files import Crash, FaultyDisk, LookingNews, QuickDisk
from atm.testing.mail import (
    MemoryArchive,
    MemoryDrift,
    MemoryInboxes,
    MemoryLedger,
    MemoryMarks,
    MemorySpool,
    make_message,
)
from atm.testing.rooms import MemoryStores, memory_boardroom, memory_room
from atm.testing.roster import MemoryBackups, MemoryStates, MemoryTeamFiles
from atm.testing.team import MemoryPresence, MemoryRosters
from atm.testing.time_and_chance import FakeChance, FakeClock

__all__ = [
    "Crash",
    "FakeChance",
    "FakeClock",
    "FaultyDisk",
    "LookingNews",
    "MemoryArchive",
    "MemoryBackups",
    "MemoryDrift",
    "MemoryInboxes",
    "MemoryLedger",
    "MemoryMarks",
    "MemoryPresence",
    "MemoryPrograms",
    "MemoryRosters",
    "MemorySpool",
    "MemoryStates",
    "MemoryStores",
    "MemoryTasks",
    "MemoryTeamFiles",
    "QuickDisk",
    "make_message",
    "memory_boardroom",
    "memory_room",
]
