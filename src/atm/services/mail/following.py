"""Telling new rows from old ones while files shrink, are rewritten and come back: by key, never by position."""

from __future__ import annotations

from collections import OrderedDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.mail.messages import Message

MOST_REMEMBERED = 100_000


class Follower:
    """Remembers which rows it has reported."""

    def __init__(self) -> None:
        self._seen: OrderedDict[object, None] = OrderedDict()
        self._begun = False

    def new_rows(self, rows: list[Message]) -> list[Message]:
        """Rows that were not there at any earlier call. The first call only takes note of what there is."""
        new = [row for row in rows if row.key not in self._seen and row.understood]
        for row in rows:
            self._seen[row.key] = None
            self._seen.move_to_end(row.key)
        while len(self._seen) > max(MOST_REMEMBERED, len(rows)):
            self._seen.popitem(last=False)
        begun, self._begun = self._begun, True
        return new if begun else []
