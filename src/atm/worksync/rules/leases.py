"""
Leases: for how long a report keeps the control plane quiet. A lease is no progress, and it is never for ever.

Only our own clock counts. What a model says about time is a remark, so no report can keep itself alive.
"""

from __future__ import annotations

STILL_WORKING, BLOCKED, CAUGHT_UP = "still_working", "blocked", "caught_up"
STATES = (STILL_WORKING, BLOCKED, CAUGHT_UP)

LEASE_SECONDS = {STILL_WORKING: 600.0, BLOCKED: 1800.0}
"""`caught_up` has none: it holds as long as the agenda is empty, and that is looked at afresh."""

CLOCK_TOLERANCE = 5.0


def lease_until(state: str, received_at: float) -> float | None:
    seconds = LEASE_SECONDS.get(state)
    return None if seconds is None else received_at + seconds


def is_in_force(state: str, accepted_at: float, now: float) -> bool:
    """
    Recomputed from when it was accepted, whatever was written down as its end.

    One that seems to be from the future is not: our clock was set back, and nobody knows how old it is.
    """
    until = lease_until(state, accepted_at)
    return until is not None and accepted_at <= now + CLOCK_TOLERANCE and now < until
