"""When to try a spooled message again, and when to stop (D8)."""

from __future__ import annotations

MOST_TRIES = 10
FIRST_WAIT = 5.0
LONGEST_WAIT = 3600.0


def wait_after(tries: int) -> float:
    """Seconds to wait after so many failed tries: 5, 10, 20, … up to an hour."""
    return min(FIRST_WAIT * float(2 ** min(max(tries - 1, 0), 30)), LONGEST_WAIT)


def is_exhausted(tries: int, most: int = MOST_TRIES) -> bool:
    return tries >= most
