"""
Bringing two versions of an inbox together without losing or doubling a row.

Rows are compared by key (their id, or sender, time and text), never by position: Claude Code removes rows
that it has delivered, so positions shift under us.
"""

from __future__ import annotations

from bisect import bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atm.mail.rules.messages import Message


class Written:
    """A write that is durable. `merged` counts rows of foreign writers that were brought together with ours."""

    __slots__ = ("added", "merged")

    def __init__(self, merged: int = 0, added: int = 1) -> None:
        self.merged = merged
        self.added = added


def additions(before: Sequence[Message], after: Sequence[Message]) -> list[Message]:
    """Rows that `after` has and `before` has not, each once, in the order of `after`."""
    seen = {row.key for row in before}
    new = []
    for row in after:
        if row.key not in seen:
            seen.add(row.key)
            new.append(row)
    return new


def with_rows(rows: Sequence[Message], wanted: Sequence[Message]) -> list[Message]:
    """
    The rows, and after them those of `wanted` that are not there yet; but before what their sender wrote later.

    A rival drops a row of ours and then, writing from an older copy, brings it back: by then a later one may lie there,
    and what one sender sent first would be read last (G4).
    """
    new = additions(rows, wanted)
    newest_so_far: dict[str, list[Message]] = {row.sender: [] for row in new}
    """Of each sender, in order of time as in the file: to search all rows for each new one would take too long."""
    for row in rows if new else ():
        theirs = newest_so_far.get(row.sender)
        if theirs is not None and (not theirs or row.timestamp > theirs[-1].timestamp):
            theirs.append(row)
    result = list(rows)
    for row in new:
        theirs = newest_so_far[row.sender]
        at = bisect_right(theirs, row.timestamp, key=_time_of) if row.timestamp else len(theirs)
        result.insert(result.index(theirs[at]) if at < len(theirs) else len(result), row)
        if row.timestamp:
            theirs.insert(at, row)
    return result


def _time_of(row: Message) -> str:
    return row.timestamp


def put_back(
    rows: Sequence[Message], dropped: Sequence[Message], seq_of: Callable[[Message], int | None]
) -> list[Message]:
    """
    Insert dropped rows where the ledger says they belong.

    A row goes before the first row that was written after it, so that one sender's messages are still read
    in the order in which they were sent (G4). Rows the ledger does not know keep their places; one of the same sender
    that is newer was written after it: its line in the ledger comes after its row in the inbox.
    """
    result = list(rows)
    present = {row.key for row in rows}
    for row in dropped:
        if row.key in present:
            continue
        present.add(row.key)
        result.insert(_place_for(row, result, seq_of), row)
    return result


def _place_for(row: Message, rows: Sequence[Message], seq_of: Callable[[Message], int | None]) -> int:
    mine = seq_of(row)
    if mine is None:
        return len(rows)
    for place, other in enumerate(rows):
        theirs = seq_of(other)
        is_later = _is_newer(other, row) if theirs is None else theirs > mine
        if is_later:
            return place
    return len(rows)


def _is_newer(other: Message, row: Message) -> bool:
    return other.sender == row.sender and other.timestamp > row.timestamp
