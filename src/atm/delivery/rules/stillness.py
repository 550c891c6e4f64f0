"""
Turns that end without a word: some programs call no hook after Esc, or after a dialog that was cancelled.

Pure. An agent that counts as busy is looked at, and each look gives a mark: of what it says of itself, or of the whole
of its screen; empty if it is busy, or if nobody can tell. Twice the same mark, with time between and nothing heard of
the agent, means that its turn is over. One look alone proves nothing: a turn that has just begun looks the same.
"""

from __future__ import annotations

from atm.team.rules.liveness import WAITING, WORKING

BUSY = (WORKING, WAITING)

LONG_ENOUGH = 3.0
"""Seconds. A program's own note is right within 2; a spinner or a counting clock changes a screen within 1."""

IDLE_SESSION = "idle"
"""What is noted of a session in which nothing runs and nothing is asked. Else: busy, waiting."""


class Stillness:
    """Since when an agent has looked as if its turn were over."""

    __slots__ = ("heard_at", "mark", "since")

    def __init__(self, mark: str, heard_at: float, since: float) -> None:
        self.mark = mark
        self.heard_at = heard_at
        """When the last sign of life was left, at the first of these looks."""
        self.since = since
        """By a clock that nobody can set."""

    def is_over(self, now: float) -> bool:
        return now - self.since >= LONG_ENOUGH


def looked_at(former: Stillness | None, mark: str, heard_at: float, now: float) -> Stillness | None:
    """What is known after another look; None if it is busy."""
    if not mark:
        return None
    if former is not None and (former.mark, former.heard_at) == (mark, heard_at):
        return former
    return Stillness(mark, heard_at, now)
