"""The life of an agent that atm started, as a table of nine states, and how long an idle one waits between looks."""

from __future__ import annotations

from atm.core.work_errors import BadMove

SPAWNING, READY, CLAIMING, WORKING, PLANNING = "spawning", "ready", "claiming", "working", "planning"
IDLE, SHUTTING_DOWN, STOPPED, ERROR = "idle", "shutting_down", "stopped", "error"

_AT_WORK = (CLAIMING, WORKING, PLANNING, IDLE)
_ENDS = (SHUTTING_DOWN, STOPPED, ERROR)

MOVES: dict[str, tuple[str, ...]] = {
    SPAWNING: (READY, *_ENDS),
    READY: (*_AT_WORK, *_ENDS),
    CLAIMING: (WORKING, PLANNING, IDLE, *_ENDS),
    WORKING: (CLAIMING, PLANNING, IDLE, *_ENDS),
    PLANNING: (CLAIMING, WORKING, IDLE, *_ENDS),
    IDLE: (CLAIMING, WORKING, PLANNING, *_ENDS),
    SHUTTING_DOWN: (STOPPED, ERROR, *_AT_WORK),  # back to work if it refused
    STOPPED: (SPAWNING,),
    ERROR: (SPAWNING, STOPPED),
}
STATES = tuple(MOVES)
OVER = (STOPPED, ERROR)
"""Nothing of it runs any more, as far as it said."""

LONGEST_PAUSE = 30.0


def check_move(before: str, after: str) -> None:
    """Staying where it is is no move."""
    if before != after and after not in MOVES.get(before, ()):
        raise BadMove(f"an agent cannot go from {before} to {after}", "see the table of states in docs/crew.md")


def pause_after(looks: int) -> float:
    """Seconds after so many looks that found nothing: 1, 2, 4 … 30. A task that becomes free ends every pause."""
    return min(2.0 ** min(looks, 10), LONGEST_PAUSE)
