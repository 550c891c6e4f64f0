"""How a run stands: its outcome, or whether a loop runs, was interrupted, or died."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.runs.memory import RunMemory

RUNNING, PAUSED, DIED = "running", "paused", "died"
"""A loop looks after it; a person interrupted it, or it never began; its loop ended without a report."""


def run_state(memory: RunMemory, *, is_held: bool) -> str:
    """
    `is_held`: does a process hold the lock of the loop now? That lock dies with its process, so a run was killed if it
    has begun, has neither an end nor an interruption in its events, and is not held.
    """
    if memory.outcome:
        return memory.outcome
    if is_held:
        return RUNNING
    return DIED if memory.began_at else PAUSED
