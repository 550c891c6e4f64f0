"""
How long a message is tried (D8, D27), and how long it is kept (D10).

Which rows of an inbox may go: unread rows never; rows we do not understand never. Of the read ones we keep the newest
`keep_read` or the last `keep_days`, whichever is more; of read idle notices only the last `keep_idle` of each sender,
because they arrive every few seconds and say nothing new. And never more than `MOST_READ` bytes of read rows: an
inbox that is too large to go through would keep its owner from getting new mail.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SEND_WITHIN = 5.0
"""Seconds for everything that a command does on the way to its answer, whatever others do to the files; then the
spool."""

UPKEEP_WITHIN = 1.5
"""Seconds of that for what is done besides: rows that were dropped, and mail that waits for others."""

LAST_EFFORT = 0.5
"""Seconds that whoever waited for a lock and got it may still need: locks are waited for so much shorter."""

MOST_TRIES = 10
FIRST_WAIT = 5.0
LONGEST_WAIT = 3600.0


def wait_after(tries: int) -> float:
    """Seconds to wait after so many failed tries: 5, 10, 20, … up to an hour."""
    return min(FIRST_WAIT * float(2 ** min(max(tries - 1, 0), 30)), LONGEST_WAIT)


def is_exhausted(tries: int, most: int = MOST_TRIES) -> bool:
    return tries >= most


def time_left(deadline: float, now: float) -> float:
    """How long a lock may be waited for, so that what is done with it is done before the deadline."""
    return max(0.0, deadline - LAST_EFFORT - now)


DAY = 86_400.0

MOST_READ = 8 << 20
"""Bytes of read rows that may stay, however new they are. Some hundred times what an ordinary inbox holds."""

SMALLEST_ROW = 64
"""Bytes."""


class RetentionPolicy:
    """The numbers of `[retention]`."""

    __slots__ = ("compact_above", "keep_days", "keep_idle", "keep_read")

    def __init__(
        self, *, keep_read: int = 500, keep_days: float = 7, keep_idle: int = 10, compact_above: int = 1000
    ) -> None:
        self.keep_read = keep_read
        self.keep_days = keep_days
        self.keep_idle = keep_idle
        self.compact_above = compact_above

    def may_concern(self, size: int) -> bool:
        """Can an inbox of so many bytes hold `compact_above` messages at all? Most cannot."""
        return size >= self.compact_above * SMALLEST_ROW


class RowFacts:
    """What the rule needs of one row. `at` is epoch seconds, or None where the row's time cannot be read."""

    __slots__ = ("at", "idle_sender", "read", "size", "understood")

    def __init__(
        self, *, read: bool, at: float | None, idle_sender: str | None = None, understood: bool = True, size: int = 0
    ) -> None:
        self.read = read
        self.at = at
        self.idle_sender = idle_sender
        self.understood = understood
        self.size = size


def removable(rows: Sequence[RowFacts], policy: RetentionPolicy, now: float) -> list[int]:
    """Positions of the rows that may be archived and removed, in file order."""
    return sorted({*_old_reads(rows, policy, now), *_surplus_idle(rows, policy), *_too_large(rows)})


def _too_large(rows: Sequence[RowFacts]) -> list[int]:
    """The oldest read rows, where all of them together are larger than may stay."""
    reads = [i for i, row in enumerate(rows) if row.understood and row.read]
    size = sum(rows[i].size for i in reads)
    gone = []
    for i in reads:
        if size <= MOST_READ:
            break
        size -= rows[i].size
        gone.append(i)
    return gone


def _old_reads(rows: Sequence[RowFacts], policy: RetentionPolicy, now: float) -> list[int]:
    reads = [i for i, row in enumerate(rows) if row.understood and row.read and row.idle_sender is None]
    past_the_newest = reads[: max(0, len(reads) - policy.keep_read)]
    too_old = now - policy.keep_days * DAY
    return [i for i in past_the_newest if (at := rows[i].at) is not None and at < too_old]


def _surplus_idle(rows: Sequence[RowFacts], policy: RetentionPolicy) -> list[int]:
    kept: dict[str, int] = {}
    surplus = []
    for i in range(len(rows) - 1, -1, -1):
        row = rows[i]
        if row.idle_sender is None or not row.understood:
            continue
        kept[row.idle_sender] = kept.get(row.idle_sender, 0) + 1
        if row.read and kept[row.idle_sender] > policy.keep_idle:
            surplus.append(i)
    return surplus
