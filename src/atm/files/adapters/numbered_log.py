"""
Append-only files of numbered lines, one writer at a time.

A torn last line, left by a crash, is closed with a newline before the next line is written, so that it costs
that line alone.

A number is never used again, whatever the last line says: a small file beside the log (`mailbox.log.seq`) holds the
highest number, and the size of the log when it was given. The next number is above it and above all that was appended
since. Where the log is another file or is shorter, or nothing is known of it, the whole log is read once.
"""

from __future__ import annotations

from atm.core.errors import UnreadableFile
from atm.files.adapters.refusals import explained
from atm.files.formats.json_record import MOST_SEQ, highest_seq, last_seq

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from atm.files.adapters.locking import Locks
    from atm.files.formats.file_stamp import FileStamp
    from atm.files.formats.layout import Layout
    from atm.files.ports.disk import Disk

    class Numbered(Protocol):
        """A line before it has its number."""

        def numbered(self, seq: int) -> bytes: ...


TAIL = 4096
WINDOW = 1 << 20
"""How much is read at once where the whole log has to be."""

MARK_SUFFIX = ".seq"

_WIDTH = 16
"""Digits of each number in the file beside the log. Its length never changes, so that it is replaced by one write."""


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
            stamp = self._disk.look_open(fd)
            size, mark = stamp.size, self._open_mark(path)
            try:
                first = self._highest(fd, stamp, mark) + 1
                if first + len(lines) > MOST_SEQ:
                    raise UnreadableFile(f"{path} leaves no numbers for new lines", "see `atm doctor`", path)
                self._write(fd, size, first, lines)
                self._note(mark, fd, first + len(lines) - 1)
            finally:
                if mark is not None:
                    self._disk.close(mark)
        finally:
            self._disk.close(fd)
        if not size:
            self._disk.sync_folder(path.rpartition("/")[0])
        return [first + i for i in range(len(lines))]

    def _write(self, fd: int, size: int, first: int, lines: Sequence[Numbered]) -> None:
        data = b"".join(line.numbered(first + i) for i, line in enumerate(lines))
        if size and self._disk.read_at(fd, size - 1, 1) != b"\n":
            data = b"\n" + data
        self._disk.write(fd, data)
        self._disk.sync(fd)

    def _open(self, path: str) -> int:
        try:
            return self._disk.open_append(path)
        except FileNotFoundError:
            # Only our own state folder is made; the folder of a team that is gone stays gone.
            if path.startswith(self._layout.state_root):
                self._disk.make_folders(path.rpartition("/")[0], private=True)
            return self._disk.open_append(path)

    # The highest number.

    def _open_mark(self, path: str) -> int | None:
        """The file beside the log. None if it cannot be had: then the log is read instead."""
        try:
            return self._disk.lock(f"{path}{MARK_SUFFIX}")
        except OSError:
            return None

    def _highest(self, fd: int, stamp: FileStamp, mark: int | None) -> int:
        """The highest number ever given: by the mark, by all that was appended since, and by the last line."""
        seq, size, inode = self._noted(mark)
        is_known = seq >= 0 and inode == stamp.ino % 10**_WIDTH and size <= stamp.size
        since = self._highest_from(fd, size if is_known else 0, stamp.size)
        start = max(0, stamp.size - TAIL)
        tail = self._disk.read_at(fd, start, stamp.size - start) if stamp.size else b""
        return max(seq, since, last_seq(tail.partition(b"\n")[2] if start else tail) or 0, 0)

    def _highest_from(self, fd: int, start: int, end: int) -> int:
        highest, rest = 0, b""
        while start < end:
            data = self._disk.read_at(fd, start, min(WINDOW, end - start))
            if not data:
                break
            start += len(data)
            whole, _, rest = (rest + data).rpartition(b"\n")
            highest = max(highest, highest_seq(whole))
        return max(highest, highest_seq(rest))

    def _noted(self, mark: int | None) -> tuple[int, int, int]:
        """Highest number, size and inode of the log; a number of -1 if nothing is known, or it is torn."""
        if mark is None:
            return -1, 0, 0
        words = self._disk.read_at(mark, 0, 4 * _WIDTH).split(b"\n")[0].split(b" ")
        if len(words) != 3 or not all(len(word) == _WIDTH and word.isdigit() for word in words):
            return -1, 0, 0
        seq, size, inode = map(int, words)
        return (seq, size, inode) if seq <= MOST_SEQ else (-1, 0, 0)

    def _note(self, mark: int | None, fd: int, seq: int) -> None:
        """Not synced: after a crash an older mark is as good, and a torn one is known by its form."""
        if mark is None:
            return
        try:
            now = self._disk.look_open(fd)
            words = (f"{number:0{_WIDTH}d}" for number in (seq, now.size, now.ino % 10**_WIDTH))
            self._disk.replace_body(mark, f"{' '.join(words)}\n".encode())
        except OSError:
            return  # the lines are written; the next writer reads what the mark does not know
