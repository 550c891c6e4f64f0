"""
Looking at a board without reading it all: only files that changed since the last look are opened.

What was read is remembered in the index with the version of the file it came from. A version that is too fresh for
its time stamp to show a second change is not trusted: that file is read again.
"""

from __future__ import annotations

from atm.board.formats.board_index import (
    END,
    HEAD,
    TRUSTED,
    UNSETTLED,
    Row,
    card_of,
    decode_lines,
    encode_rows,
    is_gone,
    is_line,
    is_proven,
    is_unchanged,
    row_of,
)
from atm.board.formats.task import decode_task, task_number
from atm.board.formats.task_history import state_of
from atm.board.rules.dependencies import Board
from atm.board.rules.tasks import Card
from atm.files.adapters.rewriting import COARSE_TICK_NS, FINE_TICK_NS
from atm.files.adapters.whole_files import read_whole, write_over
from atm.files.formats.json_record import NotJson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.formats.board_index import Version
    from atm.core.plain import Plain
    from atm.files.formats.layout import Layout
    from atm.files.ports.clock import Clock
    from atm.files.ports.disk import Disk

TORN_TRIES, TORN_NAP = 5, 0.02
FRESH_NS = 2_000_000_000
"""A file that cannot be read is waited for only if another program wrote it a moment ago."""

MOST_INDEXES = 50
END_KEPT = 200
"""Indexes that a process keeps in mind, and bytes by which it knows one again."""

SPARE_LINES = 500
"""Superseded lines that the index may hold before it is written anew."""


class Scan:
    """A board as it was found, and what of it is new."""

    __slots__ = (
        "cards",
        "changed",
        "gone",
        "is_whole",
        "known",
        "lines",
        "odd",
        "unproven",
        "unreadable",
    )

    def __init__(self, known: dict[int, list[Plain]], lines: int, is_whole: bool) -> None:
        self.is_whole = is_whole
        """Was the whole index there? If not, it says nothing of tasks that are gone."""
        self.known = known
        """The newest line of the index for every task."""
        self.lines = lines
        self.cards: dict[int, Card] = {}
        self.gone: dict[int, Card] = {}
        self.unproven: set[int] = set()
        """Tasks of which the history does not tell how they came to be as they are."""
        self.changed: dict[int, Row] = {}
        self.unreadable: set[int] = set()
        """Tasks whose file the system would not let us read just now."""
        self.odd: dict[str, Version] = {}
        """Files that are no task's, by name."""

    @property
    def litter(self) -> list[str]:
        """Half-made files of ours. Whoever holds the list's lock may remove them: nobody else is making any."""
        ours = (name for name in self.odd if name.startswith("."))
        return [name for name in ours if ".json.new-" in name or name.endswith("mark.new")]

    @property
    def being_changed(self) -> dict[int, int]:
        """Tasks beside which a lock or a new version lies, and since when, in nanoseconds: another program is at it, or
        one of us was killed."""
        found: dict[int, int] = {}
        for name, version in self.odd.items():
            held = _being_changed(name)
            if held is not None:
                found[held] = min(version[2], found.get(held, version[2]))
        return found

    def put(self, row: Row) -> None:
        """What was found out just now."""
        number = row.card.number
        self.changed[number] = row
        here, there = (self.gone, self.cards) if row.is_gone else (self.cards, self.gone)
        here[number] = row.card
        there.pop(number, None)
        (self.unproven.discard if row.is_proven else self.unproven.add)(number)

    def lose(self, number: int) -> None:
        """Its file is gone."""
        card = self.cards.get(number)
        if card is not None:
            self.put(Row(card, UNSETTLED, is_proven=False, is_gone=True))

    def keep(self, number: int, line: list[Plain]) -> None:
        """What was known before."""
        (self.gone if is_gone(line) else self.cards)[number] = card_of(line)
        if not is_proven(line):
            self.unproven.add(number)

    def former(self, number: int) -> Row | None:
        line = self.known.get(number)
        return row_of(line) if line is not None and is_line(line) else None

    def board(self) -> Board:
        return Board({**self.cards}, {**self.gone})  # of its own: what is put here later is another board

    def all_rows(self) -> list[Row]:
        kept = [row_of(line) for number, line in self.known.items() if number not in self.changed and is_line(line)]
        return [*kept, *self.changed.values()]


class _IndexRead:
    """An index as it was read: which file, how far, its last bytes (an inode is used again), and what it said."""

    __slots__ = ("end", "known", "lines", "place", "size")

    def __init__(
        self, place: tuple[int, int], size: int, end: bytes, known: dict[int, list[Plain]], lines: int
    ) -> None:
        self.place = place
        self.size = size
        self.end = end
        self.known = known
        self.lines = lines


class BoardScanner:
    """Reads boards through the index."""

    __slots__ = ("_indexes", "_layout", "clock", "disk")

    def __init__(self, disk: Disk, clock: Clock, layout: Layout) -> None:
        self.disk = disk
        self.clock = clock
        self._layout = layout
        self._indexes: dict[str, _IndexRead] = {}

    def scan(self, team: str, folder: str, most: int | None = None) -> Scan | None:
        """Everything; None if more than `most` files would have to be read."""
        scan = Scan(
            *self.read_index(team)
        )  # before the folder: what is made meanwhile must not look as if it were gone
        versions = self.disk.versions(folder)
        stale: list[tuple[int, Version]] = []
        take, cards = versions.pop, scan.cards
        for number, line in scan.known.items():
            version = take(f"{number}.json", None)
            # Almost all of them pass here; on ten thousand tasks a call for each would cost more than the lock.
            if (
                line[0] == TRUSTED
                and len(line) <= END
                and version is not None
                and line[3] == version[2]
                and line[1] == version[0]
                and line[2] == version[1]
            ):
                cards[number] = Card(*line[HEAD:])  # type: ignore[arg-type]
            elif (seen := self.judge(scan, number, line, version)) is not None:
                stale.append((number, seen))
        for name, version in versions.items():  # what the index does not know yet
            new = task_number(name)
            if new is not None and version[1] >= 0:
                stale.append((new, version))
            else:
                scan.odd[name] = version
        return self.read_stale(scan, folder, stale, most)

    def judge(self, scan: Scan, number: int, line: list[Plain] | None, version: Version | None) -> Version | None:
        """Take what the index says of a task, if it still holds; else the version that must be read."""
        is_there = version is not None and version[1] >= 0
        if line is None or not is_line(line):
            return version if is_there else None
        if not is_there and not is_gone(line):
            scan.put(Row(card_of(line), UNSETTLED, is_proven=False, is_gone=True))
        elif version is None or version[1] < 0 or is_unchanged(line, version):
            scan.keep(number, line)
        else:
            return version
        return None

    def read_stale(self, scan: Scan, folder: str, stale: list[tuple[int, Version]], most: int | None) -> Scan | None:
        if most is not None and len(stale) > most:
            return None
        now = int(self.clock.now() * 1e9)
        for number, version in stale:
            self._look_again(scan, f"{folder}/{number}.json", number, version, now)
        return scan

    def read_index(self, team: str) -> tuple[dict[int, list[Plain]], int, bool]:
        """A daemon has read most of it before: lines are added, and now and then the file is written anew."""
        former = self._indexes.get(team)
        try:
            fd = self.disk.open_read(self._layout.board_index(team))
        except OSError:
            return {}, 0, False
        try:
            found = self.disk.look_open(fd)
            start = former.size - len(former.end) if former is not None and found.size >= former.size else 0
            data = self.disk.read_at(fd, start, found.size - start)
        except OSError:
            return {}, 0, False
        finally:
            self.disk.close(fd)
        place = (found.dev, found.ino)
        if former is not None and start and former.place == place and data.startswith(former.end):
            return self._remembered(team, place, start, data, former)
        if start:
            return self._forgotten(team)
        return self._remembered(team, place, 0, data, None)

    def _forgotten(self, team: str) -> tuple[dict[int, list[Plain]], int, bool]:
        self._indexes.pop(team, None)
        return self.read_index(team)

    def _remembered(
        self, team: str, place: tuple[int, int], start: int, data: bytes, former: _IndexRead | None
    ) -> tuple[dict[int, list[Plain]], int, bool]:
        known, lines, is_whole = decode_lines(data[len(former.end) :] if former is not None else data)
        if former is not None:
            # Of its own: another thread may be going through the former one.
            known, lines = ({**former.known, **known} if known else former.known), lines + former.lines
        if is_whole and data.endswith(b"\n"):
            if len(self._indexes) >= MOST_INDEXES:
                self._indexes.clear()
            self._indexes[team] = _IndexRead(place, start + len(data), data[-END_KEPT:], known, lines)
        else:
            self._indexes.pop(team, None)
        return known, lines, is_whole

    def _look_again(self, scan: Scan, path: str, number: int, version: Version, now: int) -> None:
        former = scan.former(number)
        try:
            card = self._card(path, number, is_fresh=abs(now - version[2]) < FRESH_NS)
        except FileNotFoundError:
            return
        except OSError as error:
            # Not what the file says but what the system says now: remembered by nobody, entered nowhere.
            scan.cards[number] = Card(number, status="", problem=error.strerror or str(error))
            scan.unreadable.add(number)
            return
        tick = FINE_TICK_NS if version[2] % 1_000_000_000 else COARSE_TICK_NS
        is_proven = former is not None and former.is_proven and not former.is_gone and _is_same(former.card, card)
        scan.put(Row(card, version if now - version[2] > tick else UNSETTLED, is_proven=is_proven))

    def _card(self, path: str, number: int, *, is_fresh: bool) -> Card:
        """What the file says. One that is no task, also after a while, is a card that says so."""
        problem = ""
        for attempt in range(TORN_TRIES if is_fresh else 1):
            if attempt:
                self.clock.sleep(TORN_NAP)
            try:
                return only_card(decode_task(read_whole(self.disk, path), number))
            except NotJson as error:
                problem = str(error)
        return Card(number, status="", problem=problem)

    def remember(self, team: str, scan: Scan) -> None:
        """Write down what was new. Only a cache: if it cannot be written, the next look reads more."""
        if not scan.changed and (scan.is_whole or not scan.known):
            return
        path = self._layout.board_index(team)
        most = 1.3 * (len(scan.cards) + len(scan.gone)) + SPARE_LINES
        try:
            if scan.is_whole and scan.lines + len(scan.changed) <= most:
                self._append(path, encode_rows(scan.changed.values()))
            else:
                self.disk.make_folders(path.rpartition("/")[0], private=True)
                write_over(self.disk, path, encode_rows(scan.all_rows()), durable=False)
        except OSError:
            return
        scan.changed = {}

    def _append(self, path: str, data: bytes) -> None:
        fd = self.disk.open_append(path)
        try:
            self.disk.write(fd, data)
        finally:
            self.disk.close(fd)


def _being_changed(name: str) -> int | None:
    """The task that `7.json.lock` and `.7.json.atm-123-1` are about."""
    stem = name.removesuffix(".lock") if name.endswith(".lock") else name[1:].partition(".atm-")[0]
    return task_number(stem) if stem != name and stem != name[1:] else None


def only_card(task: Card) -> Card:
    """Without the texts, so that a board of ten thousand stays small."""
    return Card(*task.values())  # type: ignore[arg-type]


def _is_same(one: Card, other: Card) -> bool:
    """Did nothing happen that belongs into the history?"""
    return one.last_event == other.last_event and state_of(one) == state_of(other)
