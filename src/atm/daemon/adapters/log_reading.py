"""
Reading the daemon's log, all its files in order, and following it while it grows and is turned over.

The newest file is opened first: files only ever move to higher numbers, so none can slip past a reader. What is not a
line of the log, or was torn by a full disk, is passed over.
"""

from __future__ import annotations

import os
import time

from atm.daemon.adapters.log import open_regular, rank
from atm.events.adapters.watching import watch
from atm.files.adapters.whole_files import numbered
from atm.files.formats.json_record import NotJson, decode_object
from atm.files.formats.times import to_iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from atm.daemon.adapters.log import Record

LOOK_EVERY = 1.0
"""Seconds between two looks beside the system's own events."""

MOST_FILES = 99
MOST_READ = 64 << 20
"""Bytes of one file that are looked at, from its end: ours are far smaller."""

LATE = 10.0
"""Seconds for which a file that was moved is still looked at: who writes to it began before it was moved."""

_CHUNK = 1 << 20
_START = '{"v": 1, "ts": '
"""How every line begins. Inside a text the quotes would be escaped, so nothing else in a file looks like this."""


def has_log(path: str) -> bool:
    """Has anything been written here? The newest file may just have been turned over."""
    return any(os.path.isfile(numbered(path, number)) for number in (0, 1))


def read_log(
    path: str,
    *,
    last: int | None = None,
    level: str | None = None,
    source: str | None = None,
    since: float | None = None,
) -> list[Record]:
    """
    The newest `last` lines that are at least of a level, of a source (`plugin` is every `plugin:…`), and not older
    than a moment; oldest first, over all files.
    """
    files = open_files(path)
    try:
        return _newest([(fd, os.fstat(fd).st_size) for fd in files], last, Wanted(level, source, since))
    finally:
        for fd in files:
            os.close(fd)


def follow(
    path: str,
    *,
    last: int | None = 0,
    level: str | None = None,
    source: str | None = None,
    since: float | None = None,
    ended: Callable[[], bool] | None = None,
    look_every: float = LOOK_EVERY,
) -> Iterator[Record]:
    """
    The newest `last` lines as `read_log` finds them, then every new one, until `ended` says so.

    `ended` is asked after each look, at least every `look_every` seconds. The log may be turned over, truncated,
    removed and made anew meanwhile; it need not exist yet.
    """
    wanted = Wanted(level, source, since)
    tail = _Tail(path)
    try:
        yield from tail.beginning(last, wanted)
        with watch([path]) as changes:
            while True:
                for line in tail.new_lines():
                    record = parse_line(line)
                    if record is not None and wanted(record):
                        yield record
                if ended is not None and ended():
                    return
                changes.wait(look_every)
    finally:
        tail.close()


class Wanted:
    """Which lines the reader wants to see."""

    __slots__ = ("_level", "_since", "_source")

    def __init__(self, level: str | None = None, source: str | None = None, since: float | None = None) -> None:
        self._level = rank(level) if level else 0
        self._source = source
        # Times are written by us, in one form that sorts.
        self._since = to_iso(max(0.0, since)) if since is not None else ""

    def __call__(self, record: Record) -> bool:
        source = str(record.get("source"))
        return (
            rank(str(record.get("level"))) >= self._level
            and (self._source is None or source == self._source or source.startswith(f"{self._source}:"))
            and str(record.get("ts")) >= self._since
        )


class _Late:
    """A file that was moved, and how far it has been read."""

    def __init__(self, fd: int, position: int) -> None:
        self.fd = fd
        self.until = time.monotonic() + LATE
        self._position = position

    def lines(self) -> list[bytes]:
        """The whole lines that came since the last look."""
        os.lseek(self.fd, self._position, os.SEEK_SET)
        whole, newline, _ = os.read(self.fd, _CHUNK).rpartition(b"\n")
        self._position += len(whole) + len(newline)
        return whole.split(b"\n") if newline else []


class _Tail:
    """The file that has the log's name, and how far it has been read."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = -1
        self._position = 0
        self._rest = b""
        self._late: list[_Late] = []
        """Files before this one: a writer that was about to write when one was moved may have been put to sleep."""
        self._waiting: list[int] = []
        """Files that came after this one, open, newest first."""

    def close(self) -> None:
        for fd in (self._fd, *(late.fd for late in self._late), *self._waiting):
            if fd != -1:
                os.close(fd)
        self._fd, self._late, self._waiting = -1, [], []

    def beginning(self, last: int | None, wanted: Wanted) -> list[Record]:
        """The lines that are there already. The newest file stays open, behind its last whole line."""
        files = open_files(self._path)
        if not files:
            return []
        self._fd = files[0]
        size = os.fstat(self._fd).st_size
        self._position = size - len(_tail_of(self._fd, size).rpartition(b"\n")[2])
        sizes = [(self._fd, self._position), *((fd, os.fstat(fd).st_size) for fd in files[1:])]
        try:
            return _newest(sizes, last, wanted)
        finally:
            for fd in files[1:]:
                os.close(fd)

    def new_lines(self) -> Iterator[bytes]:
        yield from self._late_lines()
        yield from self._drain()
        self._waiting = self._newer()
        while self._waiting:
            yield from self._drain()  # what came between the last look and the move
            yield self._rest
            if self._fd != -1:
                self._late.append(_Late(self._fd, self._position))
            self._fd, self._position, self._rest = self._waiting.pop(), 0, b""
            yield from self._drain()

    def _late_lines(self) -> Iterator[bytes]:
        """What came into files that were moved, for as long as somebody may still write to them."""
        now = time.monotonic()
        for late in self._late:
            yield from late.lines()
        over = [late for late in self._late if now > late.until]
        self._late = [late for late in self._late if late not in over]
        for late in over:
            os.close(late.fd)

    def _drain(self) -> Iterator[bytes]:
        if self._fd == -1:
            return
        if os.fstat(self._fd).st_size < self._position:  # truncated: everything in it is new
            self._position, self._rest = 0, b""
        os.lseek(self._fd, self._position, os.SEEK_SET)
        while data := os.read(self._fd, _CHUNK):
            self._position += len(data)
            *whole, self._rest = (self._rest + data).split(b"\n")
            self._rest = self._rest[-_CHUNK:]
            yield from whole

    def _newer(self) -> list[int]:
        """Files that came after the one we read, open, newest first. It may have been turned over several times."""
        if self._fd == -1:
            return open_files(self._path)
        ours = os.fstat(self._fd)
        if _has_name(ours, self._path):
            return []
        newer, files = [], open_files(self._path)
        found = any(os.path.samestat(os.fstat(fd), ours) for fd in files)
        for fd in files:
            known = os.fstat(fd)
            # Ours was removed: what was written after it is new, and so is whatever has its name now.
            is_older = not found and known.st_mtime_ns <= ours.st_mtime_ns and not _has_name(known, self._path)
            if is_older or os.path.samestat(known, ours):
                break
            newer.append(fd)
        for fd in files[len(newer) :]:
            os.close(fd)
        return newer


def _has_name(known: os.stat_result, path: str) -> bool:
    try:
        return os.path.samestat(os.lstat(path), known)
    except OSError:
        return False


def parse_line(line: bytes) -> Record | None:
    """
    A line of the log, or None. Where a writer was cut off in the middle of a line and another went on behind it, the
    whole line that follows is found.
    """
    text = line.decode("utf-8", "replace").strip()
    for start in (0, text.rfind(_START)):
        if not text or start < 0:
            continue
        try:
            record = decode_object(text[start:])
        except NotJson:
            continue
        if isinstance(record.get("ts"), str) and isinstance(record.get("text"), str):
            return record
    return None


MOST_LOOKS = 50


def open_files(path: str) -> list[int]:
    """
    The log's files, open, newest first; the same file never twice, though it may move while we look. A number that is
    missing is no end: while files are moved there is a gap in them.

    If the log was turned over meanwhile, perhaps more than once, a newer file may stand behind an older one: then we
    look again.
    """
    for _ in range(MOST_LOOKS):
        found = _open_files(path)
        if not found or _has_name(os.fstat(found[0]), path):
            break
        for fd in found:
            os.close(fd)
    else:
        found = _open_files(path)
    return found


def _open_files(path: str) -> list[int]:
    found: list[int] = []
    for number in range(MOST_FILES):
        try:
            fd = open_regular(numbered(path, number), os.O_RDONLY)
        except OSError:
            continue
        if any(os.path.samestat(os.fstat(fd), os.fstat(other)) for other in found):
            os.close(fd)
        else:
            found.append(fd)
    return found


def _newest(files: list[tuple[int, int]], last: int | None, wanted: Wanted) -> list[Record]:
    """The newest lines of open files of which so many bytes count, newest file first."""
    found: list[Record] = []
    for fd, size in files:
        for line in reversed(_tail_of(fd, size).split(b"\n")):
            if last is not None and len(found) >= last:
                return found[::-1]
            record = parse_line(line)
            if record is not None and wanted(record):
                found.append(record)
    return found[::-1]


def _tail_of(fd: int, size: int) -> bytes:
    os.lseek(fd, max(0, size - MOST_READ), os.SEEK_SET)
    left, parts = min(size, MOST_READ), []
    while left > 0 and (data := os.read(fd, min(left, _CHUNK))):
        parts.append(data)
        left -= len(data)
    return b"".join(parts)
