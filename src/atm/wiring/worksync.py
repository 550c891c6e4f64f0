"""Work-sync over real files."""

from __future__ import annotations

import os

from atm.system.files.disk import RealDisk
from atm.system.machine import RealClock, host_name
from atm.wiring.files import build_locks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.config import Settings
    from atm.formats.files.layout import Layout
    from atm.services.roster.full_boardroom import FullBoardroom
    from atm.services.worksync.syncroom import SyncRoom


def build_syncroom(layout: Layout, settings: Settings, boardroom: FullBoardroom) -> SyncRoom:
    """The work-sync control plane over real files."""
    from atm.domain.worksync.readiness import Thresholds
    from atm.services.worksync.syncroom import SyncPolicy, SyncRoom
    from atm.system.files.record_store import RecordFiles
    from atm.system.team.team_secrets import SecretFiles
    from atm.system.worksync import JournalFiles

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
