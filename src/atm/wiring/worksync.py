"""Work-sync over real files."""

from __future__ import annotations

import os

from atm.files.adapters.disk import RealDisk
from atm.files.adapters.machine import RealClock, host_name
from atm.wiring.files import build_locks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.config import Settings
    from atm.files.formats.layout import Layout
    from atm.roster.services.full_boardroom import FullBoardroom
    from atm.worksync.services.syncroom import SyncRoom


def build_syncroom(layout: Layout, settings: Settings, boardroom: FullBoardroom) -> SyncRoom:
    """The work-sync control plane over real files."""
    from atm.files.adapters.record_store import RecordFiles
    from atm.team.adapters.team_secrets import SecretFiles
    from atm.worksync.adapters import JournalFiles
    from atm.worksync.rules.readiness import Thresholds
    from atm.worksync.services.syncroom import SyncPolicy, SyncRoom

    disk, clock = RealDisk(layout.private_roots), RealClock()
    locks = build_locks(layout, disk, clock)
    least = Thresholds(
        least_looks=settings.whole("worksync.least_looks"), least_hours=settings.number("worksync.observe_minutes") / 60
    )
    return SyncRoom(
        boardroom=boardroom,
        records=RecordFiles(disk, clock, locks, layout),
        journal=JournalFiles(disk, locks, layout),
        secrets=SecretFiles(disk, locks, layout, os.urandom),
        policy=SyncPolicy(settings.number("worksync.quiet_seconds"), least),
        me=f"{host_name()}:{os.getpid()}",
    )
