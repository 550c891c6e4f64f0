"""
Boards as a server knows them: what it has read it keeps, and looks again only at what the system says has changed.

A look at two thousand files takes longer than all the rest of a claim, and while one member looks the others wait for
the list's lock. What is written is still decided by the file under its own lock; this is about finding it.
"""

from __future__ import annotations

import threading

from atm.board.adapters.board_scan import BoardScanner, Scan
from atm.board.formats.board_index import UNSETTLED
from atm.board.formats.task import task_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.formats.board_index import Version
    from atm.core.plain import Plain
    from atm.files.formats.layout import Layout
    from atm.files.ports.clock import Clock
    from atm.files.ports.disk import Disk
    from atm.files.ports.folder_news import FolderNews

LOOK_AT_ALL_EVERY = 30.0
"""Seconds. The system does not tell of what is written through a mapped page, or by another machine."""

MOST_BOARDS = 50


class _Kept:
    """A board after the last look. Nobody changes what is in here."""

    __slots__ = ("again", "cards", "folder", "gone", "known", "odd", "since", "unproven")

    def __init__(self, folder: str, scan: Scan, since: float) -> None:
        self.folder = folder
        self.since = since
        """When all of it was last looked at."""
        self.known = scan.known
        self.cards = {**scan.cards}
        self.gone = {**scan.gone}
        self.unproven = {*scan.unproven}
        self.odd = {**scan.odd}
        unsettled = {n for n, row in scan.changed.items() if row.version == UNSETTLED and not row.is_gone}
        self.again = unsettled | scan.unreadable
        """Tasks to look at once more, although nothing is said of them."""

    def changed_lines(self, known: dict[int, list[Plain]]) -> set[int]:
        """Tasks of which the index says something else than it did."""
        if known is self.known:
            return set()
        former = self.known.get
        # Mostly the same lists; equal ones after somebody wrote the index anew.
        return {n for n, line in known.items() if (was := former(n)) is not line and was != line}


class KeptBoards(BoardScanner):
    """A scanner that remembers. For any number of threads; those that ask for one board wait for one another."""

    __slots__ = ("_boards", "_news", "_turns")

    def __init__(self, disk: Disk, clock: Clock, layout: Layout, news: FolderNews) -> None:
        super().__init__(disk, clock, layout)
        self._news = news
        self._boards: dict[str, _Kept] = {}
        self._turns: dict[str, threading.Lock] = {}

    def scan(self, team: str, folder: str, most: int | None = None) -> Scan | None:
        with self._turns.setdefault(team, threading.Lock()):
            kept, since = self._boards.pop(team, None), self.clock.monotonic()
            changed = self._news.changed(folder)  # before anything is read: what changes meanwhile is told next time
            is_known = kept is not None and kept.folder == folder and since - kept.since < LOOK_AT_ALL_EVERY
            if kept is not None and changed is not None and is_known:
                scan, since = self._brought_up_to_date(team, kept, changed, most), kept.since
            else:
                scan = super().scan(team, folder, most)
            if scan is not None:
                if len(self._boards) >= MOST_BOARDS:
                    self._boards.clear()
                self._boards[team] = _Kept(folder, scan, since)
            return scan

    def _brought_up_to_date(self, team: str, kept: _Kept, changed: set[str], most: int | None) -> Scan | None:
        scan = Scan(*self.read_index(team))
        if not scan.is_whole:
            return super().scan(team, kept.folder, most)
        scan.cards, scan.gone = {**kept.cards}, {**kept.gone}
        scan.unproven, scan.odd = {*kept.unproven}, {**kept.odd}
        numbers = kept.again | kept.changed_lines(scan.known)
        for name in changed:
            number = task_number(name)
            if number is not None:
                numbers.add(number)
            scan.odd.pop(name, None)
            version = self._version(f"{kept.folder}/{name}")
            if version is not None and (number is None or version[1] < 0):
                scan.odd[name] = version
        stale = []
        for number in sorted(numbers):
            version = self._version(f"{kept.folder}/{number}.json")
            for former in (scan.cards, scan.gone):
                former.pop(number, None)
            scan.unproven.discard(number)
            seen = self.judge(scan, number, scan.known.get(number), version)
            if seen is not None:
                stale.append((number, seen))
        return self.read_stale(scan, kept.folder, stale, most)

    def _version(self, path: str) -> Version | None:
        """As `Disk.versions` says it."""
        found = self.disk.look(path)
        if found is None or found.kind not in ("file", "folder"):
            return None
        return (found.ino, found.size if found.kind == "file" else -1, found.mtime_ns)
