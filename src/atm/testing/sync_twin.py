"""A work-sync control plane in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.services.worksync.plane import Plane, Policy
from atm.testing.board_twin import memory_desk
from atm.testing.record_twins import MemoryJournal, MemoryRecords, MemorySecrets

if TYPE_CHECKING:
    from atm.services.boardroom import Boardroom


def memory_plane(desk: Boardroom | None = None, policy: Policy | None = None) -> Plane:
    desk = desk or memory_desk()
    find = desk.room.rosters.find
    return Plane(desk, MemoryRecords(find), MemoryJournal(find), MemorySecrets(find), policy or Policy(), "twin")
