"""How long to try a message, when to try a spooled one again, and when to stop (D8, D27)."""

from __future__ import annotations

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
