"""Where the files of this machine lie, and how they are locked."""

from __future__ import annotations

import os
import sys

from atm.files.adapters.disk import RealDisk
from atm.files.adapters.locking import Locks
from atm.files.adapters.machine import RealChance, RealClock, find_layout, host_name, interruptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.files.adapters.turns import Turns
    from atm.files.formats.layout import Layout
    from atm.files.ports.clock import Chance, Clock
    from atm.files.ports.disk import Disk
    from atm.team.ports.repositories import Repositories

__all__ = ["build_locks", "change_settings", "find_layout", "interruptions"]


def build_locks(
    layout: Layout, disk: Disk | None = None, clock: Clock | None = None, chance: Chance | None = None
) -> Locks:
    """Locks in the name of this process."""
    disk = disk or RealDisk(layout.private_roots)
    parts = (disk, clock or RealClock(), chance or RealChance())
    return Locks(*parts, layout.locks, pid=os.getpid(), host=host_name(), turns=_turns(disk))


def _turns(disk: Disk) -> Turns | None:
    """
    One thread alone has no other to wait for, and need not load this. On a disk of a test's own a process may end where
    it stands, and this one goes on.
    """
    if "threading" not in sys.modules or type(disk) is not RealDisk:
        return None
    from atm.files.adapters.turns import OF_THIS_PROCESS

    return OF_THIS_PROCESS


def build_repositories() -> Repositories:
    from atm.team.adapters.repositories import RepositoriesOnDisk

    return RepositoriesOnDisk()


def change_settings(layout: Layout, path: str, change: Callable[[str], str]) -> None:
    from atm.files.adapters import whole_files

    whole_files.change_settings(build_locks(layout), path, change, private=layout.is_private(path))
