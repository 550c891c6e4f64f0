"""
Rows of other programs that we brought along, written down and watched for a moment (seed 001, step 11).

A program without locks adds a row to an old copy; our rewrite displaces that version and carries the row over. If the
program read the file in between, its next write knows nothing of its own row, and drops it. So what we carry is written
down beside the private lock's file, and the versions that we displaced need not be kept. Whoever has the lock next
looks whether the rows are there, and puts back those that are not, until no such copy can be about any more.

The lock's body says how many rows there are and since when: a list of [first, last, count], in the order of the rows.
Times are monotonic, because a clock that is set must not end a watch. `last` is None for rows that nobody has seen in
the file yet; those are owed, however long that takes.
"""

from __future__ import annotations

from atm.files.adapters.whole_files import read_whole, write_over
from atm.files.formats.json_record import NotJson, RawArray, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from atm.core.plain import Plain
    from atm.files.adapters.locking import PrivateLock

WATCH_FOR = 2.0
"""Seconds after which nobody writes from a copy that he read before: programs without locks take milliseconds."""

LONGEST_WATCH = 60.0
"""Seconds after which a row that keeps vanishing is let go: something wants it gone."""

PUT_BACK_WITHIN = 300.0
"""A row that was seen in the file longer ago may have been taken out on purpose since (as for our own, D24)."""

MOST_ROWS, MOST_BYTES = 1000, 4 << 20
"""Of more than that the oldest are let go: they have been watched for the longest."""


class _Batch:
    """Rows that were carried at the same time."""

    __slots__ = ("first", "last", "rows")

    def __init__(self, first: float, last: float | None, rows: list[str]) -> None:
        self.first = first
        self.last = last
        self.rows = rows


class CarriedRows:
    """The rows that are watched in one file, for whoever holds its private lock."""

    __slots__ = ("_batches", "_private", "path")

    def __init__(self, private: PrivateLock) -> None:
        self._private = private
        self.path = f"{private.path}.carried"
        self._batches = self._read()

    def _read(self) -> list[_Batch]:
        marked = _batches_in(self._private.body.get("carried"))
        try:
            rows = RawArray(to_text(read_whole(self._private.locks.disk, self.path))).items if marked else []
        except (FileNotFoundError, NotJson):
            return []
        if sum(count for _, _, count in marked) != len(rows):  # killed between the file and the note: none is let go
            return [_Batch(self._now, None, rows)]
        found, at = [], 0
        for first, last, count in marked:
            found.append(_Batch(first, last, rows[at : at + count]))
            at += count
        return found

    @property
    def _now(self) -> float:
        return self._private.locks.clock.monotonic()

    def due(self) -> bytes:
        """What should lie in the file, as a list of its own."""
        return _as_list([batch for batch in self._batches if batch.last is None or self._is_recent(batch.last)])

    def _is_recent(self, last: float) -> bool:
        """Also if it lies ahead: then the machine was started anew, and nobody knows how long ago that was."""
        return self._now - last <= PUT_BACK_WITHIN

    def add(self, rows: list[str]) -> None:
        """Durable when this returns. The rows are owed until `placed` says otherwise."""
        if self._batches and self._batches[-1].last is None:  # a note that grows makes every later one slower
            self._batches[-1].rows += rows
        else:
            self._batches.append(_Batch(self._now, None, rows))
        self._bound()
        self._write(durable=True)
        self._private.note(carried=self._marks())

    def _bound(self) -> None:
        count = size = 0
        for batch in reversed(self._batches):
            fitting = []
            for row in reversed(batch.rows):
                count, size = count + 1, size + len(row)
                if count > MOST_ROWS or (size > MOST_BYTES and count > 1):
                    break
                fitting.append(row)
            batch.rows = fitting[::-1]
        self._batches = [batch for batch in self._batches if batch.rows]

    def placed(self, *, had_vanished: bool, watch: bool, owed: Collection[str] = ()) -> None:
        """
        All that was due lies in the file now, except what is still owed. What was there all the while is watched no
        longer than a moment.
        """
        now, before = self._now, sum(len(batch.rows) for batch in self._batches)
        waiting = _Batch(now, None, [row for batch in self._batches for row in batch.rows if row in owed])
        kept = []
        for batch in self._batches if watch else []:
            batch.rows = [row for row in batch.rows if row not in owed]
            if batch.last is None or (had_vanished and now - batch.first < LONGEST_WATCH):
                batch.last = now
            if 0 <= now - batch.last < WATCH_FOR:
                kept.append(batch)
        self._batches = [batch for batch in (*kept, waiting) if batch.rows]
        if waiting.rows or sum(len(batch.rows) for batch in self._batches) != before:
            self._write(durable=bool(waiting.rows))
        self._private.body["carried"] = self._marks()

    def forget(self, rows: Collection[str]) -> None:
        """These are not to come back."""
        if rows:
            for batch in self._batches:
                batch.rows = [row for row in batch.rows if row not in rows]
            self._batches = [batch for batch in self._batches if batch.rows]
            self._write(durable=False)
            self._private.body["carried"] = self._marks()

    def _write(self, *, durable: bool) -> None:
        disk = self._private.locks.disk
        if self._batches:
            write_over(disk, self.path, _as_list(self._batches), durable=durable)
        elif disk.look(self.path) is not None:
            disk.remove(self.path)

    def _marks(self) -> list[Plain]:
        return [[batch.first, batch.last, len(batch.rows)] for batch in self._batches]


def _as_list(batches: list[_Batch]) -> bytes:
    return to_bytes("[" + ",\n".join(row for batch in batches for row in batch.rows) + "]\n")


def _batches_in(marks: Plain) -> list[tuple[float, float | None, int]]:
    found: list[tuple[float, float | None, int]] = []
    for mark in marks if isinstance(marks, list) else []:
        match mark:
            case [float() | int() as first, float() | int() | None as last, int() as count]:
                found.append((first, last, count))
            case _:
                return [(0.0, None, -1)]  # not as we write it: then all rows of the file are owed
    return found
