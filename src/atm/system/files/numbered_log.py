"""
Append-only files of numbered lines, one writer at a time.

A torn last line, left by a crash, is closed with a newline before the next line is written, so that it costs
that line alone.
"""

from __future__ import annotations

from atm.formats.files.json_record import last_seq
from atm.system.files.refusals import explained

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from atm.formats.files.layout import Layout
    from atm.ports.files.disk import Disk
    from atm.system.files.locking import Locks

    class Numbered(Protocol):
        """A line before it has its number."""

        def numbered(self, seq: int) -> bytes: ...


TAIL = 4096


class NumberedLog:
    """Append-only lines with strictly increasing numbers: the ledger of mail, and the history of tasks."""

    __slots__ = ("_disk", "_layout", "_locks")

    def __init__(self, disk: Disk, locks: Locks, layout: Layout) -> None:
        self._disk = disk
        self._locks = locks
        self._layout = layout

    def append_to(self, path: str, lines: Sequence[Numbered]) -> list[int]:
        with explained(path), self._locks.private(path):
            return self._append(path, lines)

    def _append(self, path: str, lines: Sequence[Numbered]) -> list[int]:
        fd = self._open(path)
        try:
            size = self._disk.look_open(fd).size
            first = self._last(fd, size) + 1
            data = b"".join(line.numbered(first + i) for i, line in enumerate(lines))
            if size and self._disk.read_at(fd, size - 1, 1) != b"\n":
                data = b"\n" + data
            self._disk.write(fd, data)
            self._disk.sync(fd)
        finally:
            self._disk.close(fd)
        if not size:
            self._disk.sync_folder(path.rpartition("/")[0])
        return [first + i for i in range(len(lines))]

    def _open(self, path: str) -> int:
        try:
            return self._disk.open_append(path)
        except FileNotFoundError:
            # Only our own state folder is made; the folder of a team that is gone stays gone.
            if path.startswith(self._layout.state_root):
                self._disk.make_folders(path.rpartition("/")[0], private=True)
            return self._disk.open_append(path)

    def _last(self, fd: int, size: int) -> int:
        """The last number used, from the end of the file; further back if the last line is long."""
        window = TAIL
        while size:
            start = max(0, size - window)
            tail = self._disk.read_at(fd, start, size - start)
            if start:
                tail = tail.partition(b"\n")[2]  # the first line of the window is probably cut
            found = last_seq(tail)
            if found is not None:
                return found
            if not start:
                return 0
            window *= 8
        return 0
