"""
A file of lines that is turned over before it grows large: `log.jsonl`, then `log.jsonl.1` and so on.

Several processes may write at once. A line is one `write` at the end of the file, so lines do not mix; whoever turns
the files over holds a lock meanwhile, and nobody waits for it. A line that still goes to the file that was moved is in
number 1, not lost. Where a writer was killed, or the disk was full, in the middle of a line, the next one begins a new
line; so it does where it finds another in the middle of writing, and then there is an empty line between the two.
"""

from __future__ import annotations

from atm.core.errors import FileBusy
from atm.files.adapters.whole_files import numbered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from atm.files.ports.disk import Disk

LARGEST_FILE = 5 << 20
KEPT = 5


class TurnedFile:
    """One such file. `hold` takes the lock without waiting, and raises FileBusy or OSError if it cannot."""

    __slots__ = ("_disk", "_hold", "_kept", "_largest", "_path")

    def __init__(
        self,
        disk: Disk,
        path: str,
        hold: Callable[[], AbstractContextManager[object]],
        *,
        largest: int = LARGEST_FILE,
        kept: int = KEPT,
    ) -> None:
        self._disk = disk
        self._path = path
        self._hold = hold
        self._largest = largest
        self._kept = kept

    def append(self, line: bytes) -> None:
        """Raises OSError."""
        fd = self._open()
        try:
            size = self._disk.look_open(fd).size
            if size and size + len(line) > self._largest:
                self._disk.close(fd)  # where an open file cannot be renamed
                fd = -1
                self._turn_over(len(line))
                fd = self._open()
                size = self._disk.look_open(fd).size
            is_torn = size and self._disk.read_at(fd, size - 1, 1) != b"\n"
            self._disk.write(fd, b"\n" + line if is_torn else line)
        finally:
            if fd != -1:
                self._disk.close(fd)

    def _open(self) -> int:
        found = self._disk.look(self._path)
        if found is not None and found.kind != "file":
            raise OSError(22, "is not a regular file", self._path)  # a pipe would fill up and hold us
        if found is not None and found.mode & 0o077:
            self._disk.chmod(self._path, 0o600)
        return self._disk.open_append(self._path)

    def _turn_over(self, more: int) -> None:
        """
        Move every file one number up, unless another process is at it or was. Whoever cannot writes on, up to twice the
        size: a folder in which nothing can be renamed must not fill the disk.
        """
        try:
            with self._hold():
                if self._size() + more > self._largest:
                    for number in range(self._kept, 0, -1):
                        self._move(numbered(self._path, number - 1), numbered(self._path, number))
        except (OSError, FileBusy):
            if self._size() + more > 2 * self._largest:
                raise

    def _size(self) -> int:
        found = self._disk.look(self._path)
        return found.size if found is not None else 0

    def _move(self, source: str, target: str) -> None:
        try:
            self._disk.rename(source, target)
        except FileNotFoundError:
            return
