"""How a run stands: its outcome, or whether a loop runs, waits for a person, was interrupted, or died."""

from __future__ import annotations

from atm.core.untrusted_text import shell_words
from atm.runs.rules.actions import STOPPED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.runs.rules.memory import RunMemory

RUNNING, PAUSED, DIED = "running", "paused", "died"
"""A loop looks after it; a person interrupted it, or it never began; its loop ended without a report."""
SUSPENDED = "suspended"
"""Its loop lives, and a signal has stopped it: it does nothing until a person continues it."""
HELD = "held"
"""Nothing of it can continue without a person: its loop waits, or has given up waiting."""
RESUMABLE = (DIED, PAUSED, STOPPED)
"""States that `atm run --resume` alone ends. A held run may need another answer first."""


def run_state(memory: RunMemory, *, is_held: bool, is_suspended: bool = False) -> str:
    """
    `is_held`: does a process hold the lock of the loop now? That lock dies with its process, so a run was killed if it
    has begun, has neither an end nor an interruption in its events, and is not held.
    """
    if memory.outcome:
        return memory.outcome
    if is_held:
        return SUSPENDED if is_suspended else RUNNING
    return DIED if memory.began_at else PAUSED


def standing_of(memory: RunMemory, *, is_held: bool, is_open: bool, is_suspended: bool = False) -> str:
    """
    How the last run of a team stands, for a person who looks at the team. Empty if it is over.

    `is_open`: is a task of it still to be done, or in a conflict that only a person resolves?
    """
    state = run_state(memory, is_held=is_held, is_suspended=is_suspended)
    if state == RUNNING:
        return HELD if memory.waits_since else RUNNING
    if state in (DIED, PAUSED, SUSPENDED):
        return state
    if not is_open:
        return ""
    return STOPPED if state == STOPPED else HELD


def continue_command(*pids: int) -> str:
    """For processes that a signal has suspended. For a job of a shell, `fg` in its terminal does the same."""
    return " ".join(["kill -CONT", *map(str, pids)])


def resume_command(team: str, run: str) -> str:
    return f"atm run --resume {shell_words(run)} --team {shell_words(team)}"
