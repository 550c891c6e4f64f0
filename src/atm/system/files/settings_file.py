"""Changing a settings file: one writer at a time, the file a link leads to, its mode kept, never torn."""

from __future__ import annotations

from atm.ports.files.disk import FileStamp
from atm.system.files.disk import PRIVATE_FILE, SHARED_FILE
from atm.system.files.refusals import explained
from atm.system.files.whole_files import read_whole, write_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.system.files.locking import Locks


def change_settings(locks: Locks, path: str, change: Callable[[str], str], *, private: bool) -> None:
    """Apply a change to the text of a settings file, which may not exist yet. Those of a repository are not private."""
    disk = locks.disk
    with explained(path):
        real = disk.real_path(path)
        disk.make_folders(real.rpartition("/")[0], private=private)
        with locks.private(real):
            found: FileStamp | None = disk.look(real)
            text = read_whole(disk, real).decode("utf-8") if found is not None else ""
            new = PRIVATE_FILE if private else SHARED_FILE
            write_over(disk, real, change(text).encode("utf-8"), mode=found.mode if found is not None else new)
