"""
The file system as our file code uses it: one method per step that can fail or be interrupted.

Everything under `files/adapters` works through this, so that a test can stop the world before or after any
single step. Nothing above `system` sees it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from atm.files.formats.file_stamp import FileStamp
else:
    Protocol = object  # typing costs 15 ms to import, and nothing here needs it at run time


class Disk(Protocol):
    """Paths are strings. Failures are OSError, as the system gave them."""

    may_stay_open: bool
    """Can a file be renamed and removed while it is open? Not on Windows."""

    def look(self, path: str) -> FileStamp | None:
        """What lies at the path, links not followed; None if nothing does."""

    def look_open(self, fd: int) -> FileStamp: ...

    def real_path(self, path: str) -> str: ...

    def names(self, folder: str) -> list[str]:
        """Names in a folder, in no order; empty if there is no such folder."""

    def versions(self, folder: str) -> dict[str, tuple[int, int, int]]:
        """
        For every regular file in a folder its inode, size and time of change, and for every folder in it the same with
        a size of -1. Links are not followed.
        """

    def open_read(self, path: str) -> int: ...

    def is_written(self, fd: int) -> bool:
        """Has anybody this file open who may write into it yet? False where the system does not tell."""

    def create(self, path: str, like: FileStamp | None = None, mode: int = 0o600) -> int:
        """Open a new file for reading and writing; it must not exist. `like` gives mode and owner."""

    def open_append(self, path: str, mode: int = 0o600) -> int: ...

    def read_at(self, fd: int, start: int, size: int) -> bytes: ...

    def write(self, fd: int, data: bytes) -> None:
        """All of it, at the current place."""

    def copy(self, source: int, target: int, size: int) -> None:
        """The first `size` bytes of one open file to the current place of another."""

    def sync(self, fd: int) -> None: ...

    def close(self, fd: int) -> None: ...

    def exchange(self, one: str, other: str) -> bool:
        """Swap two files in one step; False where the system cannot."""

    def rename(self, source: str, target: str) -> None: ...

    def link(self, source: str, target: str) -> None:
        """A second name; FileExistsError if the target exists."""

    def remove(self, path: str) -> None: ...

    def make_folder(self, path: str, *, private: bool = False) -> None:
        """One folder; FileExistsError if anything is there."""

    def make_folders(self, path: str, *, private: bool = False) -> None:
        """
        A folder and its missing parents; fine if it is there. `private` ones are for us alone, whatever the umask, and
        PermissionError if another user may have put one of them there for us; others are as Claude Code makes them.
        """

    def remove_folder(self, path: str) -> None: ...

    def touch(self, path: str) -> None: ...

    def chmod(self, path: str, mode: int) -> None: ...

    def sync_folder(self, path: str) -> None: ...

    def lock(self, path: str) -> int | None:
        """An exclusive lock that dies with the process, on a file of ours; None if another process holds it."""

    def replace_body(self, fd: int, data: bytes) -> None:
        """What a lock file says about its holder."""
