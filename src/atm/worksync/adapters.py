"""
What the control plane did and why, one JSON object a line: implements `files.ports.records.AuditJournal`.

`turned_file` says how several processes write at once.
"""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.events.adapters.turned_file import KEPT, LARGEST_FILE, TurnedFile
from atm.files.adapters.team_data import TeamData
from atm.files.adapters.whole_files import numbered
from atm.worksync.formats.journal_note import decode_note, encode_note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from atm.core.plain import Record
    from atm.files.adapters.locking import Locks
    from atm.files.formats.layout import Layout
    from atm.files.ports.disk import Disk

_CHUNK = 64 << 10


class JournalFiles:
    """Nothing in here raises: a journal that cannot be written must not stop what it is about."""

    __slots__ = ("_disk", "_largest", "_layout", "_locks", "_places")

    def __init__(self, disk: Disk, locks: Locks, layout: Layout, *, largest: int = LARGEST_FILE) -> None:
        self._disk = disk
        self._locks = locks
        self._layout = layout
        self._largest = largest
        self._places = TeamData(disk, layout)

    def note(self, team: str, record: Record) -> None:
        path = self._layout.sync_journal(team)
        try:
            self._places.check(team, path)
            self._places.prepare(team, path)
            file = TurnedFile(self._disk, path, lambda: self._locks.private(path, patience=0.0), largest=self._largest)
            file.append(encode_note(record))
        except (OSError, AtmError):
            return

    # Reading.

    def last(self, team: str, count: int) -> list[Record]:
        found: list[Record] = []
        try:
            path = self._layout.sync_journal(team)
            self._places.check(team, path)
            for line in self._lines_backwards(path):
                if len(found) >= count:
                    break
                record = decode_note(line)
                if record is not None:
                    found.append(record)
        except (OSError, AtmError):
            pass  # what was read until then is better than nothing
        return found[::-1]

    def _lines_backwards(self, path: str) -> Iterator[bytes]:
        """The newest file first: files only move to higher numbers, so none slips past us; one may be met twice."""
        seen: set[tuple[int, int]] = set()
        for number in range(KEPT + 1):
            name = numbered(path, number)
            found = self._disk.look(name)
            if found is None or found.kind != "file":
                continue
            try:
                fd = self._disk.open_read(name)
            except FileNotFoundError:
                continue
            try:
                stamp = self._disk.look_open(fd)
                if (stamp.dev, stamp.ino) not in seen:
                    seen.add((stamp.dev, stamp.ino))
                    yield from self._lines_of(fd, stamp.size)
            finally:
                self._disk.close(fd)

    def _lines_of(self, fd: int, size: int) -> Iterator[bytes]:
        rest = b""
        while size > 0:
            start = max(0, size - _CHUNK)
            first, *whole = (self._disk.read_at(fd, start, size - start) + rest).split(b"\n")
            yield from reversed(whole)
            # A line of ours is never so long; what is not ours must not be gathered without end.
            rest, size = first[:_CHUNK], start
        yield rest
