"""Changing a settings file: one writer at a time, the file a link leads to, its mode kept, never torn."""

from __future__ import annotations

from atm.ports.files.disk import FileStamp
from atm.system.files.refusals import explained
from atm.system.files.whole_files import read_whole, write_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.system.files.locking import Locks

NEW_FILE = 0o644


def change_settings(locks: Locks, path: str, change: Callable[[str], str]) -> None:
    """Apply a change to the text of a settings file, which may not exist yet."""
    disk = locks.disk
    with explained(path):
        real = disk.real_path(path)
        disk.make_folders(real.rpartition("/")[0], 0o755)
        with locks.private(real):
            found: FileStamp | None = disk.look(real)
            text = read_whole(disk, real).decode("utf-8") if found is not None else ""
            write_over(disk, real, change(text).encode("utf-8"), mode=found.mode if found is not None else NEW_FILE)
