"""What one rewrite does with rows of writers without locks: it writes them down, brings them along, lets them go."""

from __future__ import annotations

from atm.files.adapters.remains.carried_rows import CarriedRows
from atm.files.formats.json_record import NotJson, RawArray, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.files.adapters.locking import PrivateLock

    RowsOf = Callable[[bytes], dict[object, str]]
    """The rows of a list by their keys, each verbatim. Raises NotJson."""

    Watch = Callable[[str], bool]
    """Is this row to be looked after? Not if somebody else does."""


class Carrying:
    """For whoever holds the lock, and meets such a writer or comes after one."""

    __slots__ = ("_brought", "_has_vanished", "_is_blind", "_known", "_owed", "_rows", "_rows_of", "_watch")

    def __init__(self, private: PrivateLock, rows_of: RowsOf, watch: Watch | None) -> None:
        self._rows = CarriedRows(private)
        self._rows_of = rows_of
        self._watch = watch
        """None: rows are written down, and let go once they are placed."""
        self._has_vanished = False
        self._is_blind = False
        self._known: set[object] = set()
        """Keys of rows that were there before, or were brought along."""
        self._brought: set[object] = set()
        self._owed: list[str] = []
        """Rows of the version that was displaced last: ours that is in place has not got them yet."""

    def bring_back(self, carry: Callable[[bytes, bytes], int], current: bytes) -> int:
        """How many rows were carried over a moment ago, and dropped since: the edit carries them once more."""
        try:
            vanished = carry(current, self._rows.due())
        except NotJson:
            self._is_blind = True  # torn at this moment: whoever comes next looks again
            return 0
        self._has_vanished = vanished > 0
        return vanished

    def write_down(self, before: bytes, ours: bytes, theirs: bytes) -> None:
        """
        What a foreign version added: then that version itself need not be kept, and there are never many.

        What lay there `before` is no addition, also if our edit took it out.
        """
        if before and not self._known:
            self._known = set(self._rows_of(before))
        known = self._known | set(self._rows_of(ours))
        new = {key: row for key, row in self._rows_of(theirs).items() if key not in known}
        self._known |= set(new)
        self._brought |= set(new)
        self._owed = [row for row in new.values() if self._watch is None or self._watch(row)]
        if self._owed:
            self._rows.add(self._owed)

    def in_place(self, ours: bytes, theirs: bytes) -> bytes:
        """
        A foreign version, and in it the rows that were brought along before and that it has not got: each before the
        row that followed it in ours. At the end, what one sender sent first would come last (G4).
        """
        if not self._brought:
            return theirs
        array, keys, order = RawArray(to_text(theirs)), list(self._rows_of(theirs)), self._rows_of(ours)
        missing = [key for key in order if key in self._brought and key not in keys]
        if not missing or len(keys) != len(array.items):
            return theirs
        places = {key: place for place, key in enumerate(order)}
        for key in missing:
            after = (at for at, other in enumerate(keys) if places.get(other, -1) > places[key])
            at = next(after, len(keys))
            keys.insert(at, key)
            array.items.insert(at, order[key])
        return to_bytes(array.joined())

    def settle(self, before: bytes, placed: bytes, *, is_stable: bool) -> None:
        """What was brought along lies in the file, as far as there was time, and we did not take it out ourselves."""
        if self._is_blind:
            return
        try:
            if before:
                gone = set(self._rows_of(before)) - set(self._rows_of(placed))
                self._rows.forget({row for key, row in self._rows_of(self._rows.due()).items() if key in gone})
            owed = [] if is_stable else self._owed
            self._rows.placed(had_vanished=self._has_vanished, watch=self._watch is not None, owed=owed)
        except (OSError, NotJson):
            return  # after the commit nothing may look like a failed write; the next writer looks again
