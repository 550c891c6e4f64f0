"""
Is a member there? Never guessed: every answer has a source and an age, and unknown is an answer of its own (G10).

State and liveness are two things. *State* says what a member was doing when it was last heard of (working, idle);
*liveness* says whether the member is still there to do it. `isActive` in a roster is a hint about state.
"""

from __future__ import annotations

ONLINE, OFFLINE, UNKNOWN = "online", "offline", "unknown"
WORKING, IDLE = "working", "idle"
WAITING, ENDED = "waiting", "ended"
"""For a person's permission; and a session that is over."""


SILENT_AFTER = 600.0
"""Seconds without a sign of life after which a member counts as offline; exactly that old is still online (D16)."""

CLOCK_TOLERANCE = 5.0


class Beat:
    """One sign of life, as its writer left it."""

    __slots__ = (
        "at",
        "boot",
        "checkpoint",
        "context",
        "host",
        "message",
        "pid",
        "source",
        "state",
        "state_since",
        "state_source",
        "task",
        "uptime",
    )

    def __init__(
        self,
        *,
        at: float,
        source: str,
        host: str = "",
        pid: int | None = None,
        state: str = "",
        state_since: float | None = None,
        state_source: str = "",
        uptime: float | None = None,
        boot: str = "",
        task: str = "",
        context: int | None = None,
        message: int = 0,
        checkpoint: int = 0,
    ) -> None:
        self.at = at
        self.task = task
        """What it has claimed, as its writer knew."""
        self.message = message
        """The number of its last message in the ledger, and of its team's last checkpoint, when that was looked up."""
        self.checkpoint = checkpoint
        self.context = context
        """Per cent of its context that are used, where its program says so."""
        self.source = source
        self.host = host
        self.pid = pid
        """The process that stands for the member, if it named one."""
        self.state = state
        self.state_since = state_since
        self.state_source = state_source or source
        """Who saw the member get into that state; later signs of life do not change it."""
        self.uptime = uptime
        """The same moment by a clock that nobody can set: seconds since that machine was started."""
        self.boot = boot
        """Which start of the machine that was, where the machine can tell."""


class Liveness:
    """What is known, from where, and how old that is."""

    __slots__ = ("age", "is_process_gone", "source", "value", "warning")

    def __init__(
        self, value: str, source: str, age: float | None = None, warning: str = "", *, is_process_gone: bool = False
    ) -> None:
        self.value = value
        self.is_process_gone = is_process_gone
        """Did its process end without a word? Then nothing says that its work failed."""
        self.source = source
        self.age = age
        self.warning = warning


def judge(beat: Beat | None, now: float, process_runs: bool | None = None, uptime: float | None = None) -> Liveness:
    """
    From the last heartbeat, and whether the process it names still runs (None: no process, or on another machine).

    A process can only refute: one that is gone makes its member offline at once, but a number that is in use again
    proves nothing. A session that said its end makes it offline too, until something else is heard of it. `uptime` is
    given on the machine that the heartbeat comes from: silence counts only if both clocks agree about it, so that a
    wall clock that jumps takes no member's work away.
    """
    if beat is None:
        return Liveness(UNKNOWN, "no heartbeat has been seen")
    age = _age(now - beat.at, None if uptime is None or beat.uptime is None else uptime - beat.uptime)
    if process_runs is False:
        return Liveness(OFFLINE, f"process {beat.pid} is gone", max(0.0, age), is_process_gone=True)
    if beat.state == ENDED and beat.source == beat.state_source:  # and nothing was heard of it since
        return Liveness(OFFLINE, f"session ended, {beat.source}", max(0.0, age))
    if age < -CLOCK_TOLERANCE:
        return Liveness(ONLINE, f"heartbeat ({beat.source})", 0.0, f"its clock is {-age:.0f} s ahead of ours")
    value = ONLINE if age <= SILENT_AFTER else OFFLINE
    return Liveness(value, f"heartbeat ({beat.source})", max(0.0, age))


def _age(by_wall: float, by_uptime: float | None) -> float:
    """By the clock on the wall; by the other one where that is set back, and never more than the other one says."""
    if by_uptime is None or by_uptime < 0:  # the machine was started anew since
        return by_wall
    return by_uptime if by_wall < -CLOCK_TOLERANCE else min(by_wall, by_uptime)
