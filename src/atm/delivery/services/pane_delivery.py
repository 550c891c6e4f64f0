"""
Puts one line before an agent that runs in a terminal pane, and says what became of it. The last resort: garbling, a
dialog, a shell or a human who types are never far away, so everything is looked at before and after each step.

The line is pasted, never typed; Enter is a step of its own, taken only when the line is seen in the composer and the
agent is still in front; and it counts as submitted only when it is seen to have left the composer. Whoever is killed
between two steps leaves a screen that tells the next attempt how far it came: that one does not paste again.
"""

from __future__ import annotations

from atm.core.identifiers import derived_id
from atm.vendors.panes import (
    DIALOG,
    DRAFT,
    FOREIGN,
    FRONTS,
    GONE,
    READY,
    UNKNOWN,
    composer_holds,
    composer_holds_a_chip,
    composer_holds_only,
    fault_of,
    front_of,
    program_name,
    shows,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.delivery.ports.terminals import Pane, PaneAddress, Terminals
    from atm.files.ports.clock import Clock

PROVEN = "proven"
"""The line was submitted."""
UNPROVEN = "unproven"
"""It was pasted, or may have been; that it was submitted was not seen. It may still be, so do not paste another one."""
REFUSED = "refused"
"""Nothing was pasted."""

LOOK_EVERY = 0.05
LOOK_FOR = 3.0
BEFORE_ENTER = 0.1
"""An Enter that comes with the paste is taken for a part of it: agents tell them apart by time."""
ENTERS = 2

_SEEN_THROUGH = (READY, DRAFT, UNKNOWN)
"""The agent is in front, with its composer, if any, in sight."""
_ALIVE = (*_SEEN_THROUGH, DIALOG)


class Expected:
    """What stood in the pane when the agent registered; what was not known then is None or empty."""

    __slots__ = ("command", "pid")

    def __init__(self, pid: int | None = None, command: str = "") -> None:
        self.pid = pid
        self.command = command


class Pasted:
    """What became of a line, and how that is known."""

    __slots__ = ("evidence", "outcome")

    def __init__(self, outcome: str, evidence: str) -> None:
        self.outcome = outcome
        self.evidence = evidence

    def __repr__(self) -> str:
        return f"Pasted({self.outcome}: {self.evidence})"


def paste_line(terminals: Terminals, clock: Clock, at: PaneAddress, expected: Expected, line: str, tag: str) -> Pasted:
    """
    Paste a line into the agent's composer, submit it, and watch it go.

    `tag` is a mark in the line that occurs nowhere else; it is how the line is recognised on a screen. Keep the line
    short (agents hide pastes of some 500 characters and more): longer texts belong into a file that it points to.
    The caller lets one at a time at a pane: two lines that meet in a composer are left there, unsubmitted.
    """
    visit = _Visit(terminals, clock, at, expected, line, tag)
    fault = fault_of(line, tag) or visit.stranger()
    if fault:
        return Pasted(REFUSED, fault)
    earlier = visit.earlier_attempt()
    if earlier is not None:
        return earlier
    front = visit.front()
    if front != READY:
        return Pasted(REFUSED, f"{_where(at)}: {FRONTS[front]}")
    before = _mark_of(terminals.screen(at))
    if not terminals.paste(at, line):
        return Pasted(REFUSED, f"{_where(at)}: the multiplexer refused the paste")
    if not visit.wait(visit.line_has_arrived):
        why = f"pasted, but not seen in the composer within {LOOK_FOR:.0f} s"
        return Pasted(UNPROVEN, f"{_where(at)}: {why}{before}")
    return visit.submit()


def refusal(terminals: Terminals, clock: Clock, at: PaneAddress, expected: Expected, tag: str) -> str:
    """Why nothing can be pasted now; empty if it can, or if the line is there from an earlier attempt."""
    if shows(terminals.history(at) or "", tag) or composer_holds(terminals.screen(at) or "", tag):
        return ""
    front = _Visit(terminals, clock, at, expected, "", tag).front()
    return "" if front == READY else f"{_where(at)}: {FRONTS[front]}"


def has_not_moved(terminals: Terminals, at: PaneAddress, earlier: str) -> str:
    """
    Why no second line may be pasted after one that was not seen, as the evidence of that says; empty if one may.

    While the screen is still the same the program hangs, and the line lies in its terminal: a second one would join it
    in the composer, and neither be submitted.
    """
    is_same = bool(earlier) and earlier.endswith(_mark_of(terminals.screen(at)))
    return f"{_where(at)}: it has not moved since the line was pasted" if is_same else ""


def was_submitted(terminals: Terminals, clock: Clock, at: PaneAddress, expected: Expected, tag: str) -> str | None:
    """Evidence that a line with this tag was submitted by a process that could not say so any more, if there is any."""
    if composer_holds(terminals.screen(at) or "", tag) or not shows(terminals.history(at) or "", tag):
        return None
    if _Visit(terminals, clock, at, expected, "", tag).front() not in _ALIVE:
        return None  # the line is all that is left of an agent
    return f"{_where(at)}: found submitted after the process that pasted it had ended"


class _Visit:
    """One attempt at one pane."""

    def __init__(
        self, terminals: Terminals, clock: Clock, at: PaneAddress, expected: Expected, line: str, tag: str
    ) -> None:
        self._terminals = terminals
        self._clock = clock
        self._at = at
        self._expected = expected
        self._line = line
        self._tag = tag

    def stranger(self) -> str:
        """Why this is not the pane that the agent registered; empty if it is."""
        pane = self._terminals.pane(self._at)
        return f"{_where(self._at)}: {FRONTS[GONE]}" if pane is None else self._other(pane)

    def front(self) -> str:
        """What is in front now, another program included."""
        written = self._terminals.written(self._at)
        screen = self._terminals.screen(self._at)
        pane = self._terminals.pane(self._at)  # last: whoever leaves now, leaves a shell that we still see
        if pane is None or screen is None:
            return GONE
        return FOREIGN if self._other(pane) else front_of(pane, screen, written)

    def earlier_attempt(self) -> Pasted | None:
        """The line may be there already, from a process that was killed half-way; it is never pasted twice."""
        screen = self._terminals.screen(self._at) or ""
        if composer_holds(screen, self._tag):
            return self.submit("pasted before; ")
        if not shows(self._terminals.history(self._at) or "", self._tag):
            return None
        front = self.front()
        if front in _ALIVE:
            return Pasted(PROVEN, f"{_where(self._at)}: had been submitted before; it is in the pane's history")
        return Pasted(REFUSED, f"{_where(self._at)}: {FRONTS[front]}")

    def line_has_arrived(self) -> bool:
        return self._holds(self._terminals.screen(self._at) or "")

    def submit(self, before: str = "") -> Pasted:
        """Press Enter, at most twice in all, each time only if the line is in the composer and nothing is over it."""
        for attempt in range(1, ENTERS + 1):
            self._clock.sleep(BEFORE_ENTER)
            seen = self._terminals.screen(self._at) or ""
            front = self.front()
            if front not in (READY, DRAFT) or not self._holds(seen):
                return self._cannot_submit(before, front, attempt)
            if not composer_holds_only(seen, self._line):
                return self._left_alone(before, "something else is written in the composer too")
            if not self._terminals.press_enter(self._at):
                return self._left_alone(before, "the multiplexer refused Enter")
            if self.wait(self._has_left):
                return self._gone(before)
        return self._left_alone(before, f"it is still in the composer after {ENTERS} times Enter")

    def wait(self, condition: Callable[[], bool]) -> bool:
        """Look until it is so, at most `LOOK_FOR` seconds."""
        end = self._clock.monotonic() + LOOK_FOR
        while not condition():
            if self._clock.monotonic() >= end:
                return False
            self._clock.sleep(LOOK_EVERY)
        return True

    def _gone(self, before: str) -> Pasted:
        is_seen = shows(self._terminals.screen(self._at) or "", self._tag)
        how = "is seen outside of it" if is_seen else "the screen moved on"
        return Pasted(PROVEN, f"{_where(self._at)}: {before}left the composer after Enter; {how}")

    def _cannot_submit(self, before: str, front: str, attempt: int) -> Pasted:
        is_late = attempt > 1 and front in _SEEN_THROUGH
        if is_late and shows(self._terminals.history(self._at) or "", self._tag):
            return Pasted(PROVEN, f"{_where(self._at)}: {before}left the composer, long after Enter")
        return self._left_alone(before, "it is no longer in the composer" if front in (READY, DRAFT) else FRONTS[front])

    def _left_alone(self, before: str, why: str) -> Pasted:
        return Pasted(UNPROVEN, f"{_where(self._at)}: {before or 'pasted, but '}not seen to be submitted: {why}")

    def _has_left(self) -> bool:
        """
        Gone from the composer, and either seen outside of it, or the screen moved on.

        A dialog that opens hides the composer with everything in it, and an agent that dies leaves its last picture
        above a shell's prompt: they prove nothing.
        """
        now = self._terminals.screen(self._at)
        if now is None or self._holds(now):
            return False
        return self.front() in (_ALIVE if shows(now, self._tag) else _SEEN_THROUGH)

    def _holds(self, screen: str) -> bool:
        return composer_holds(screen, self._tag) or composer_holds_a_chip(screen)

    def _other(self, pane: Pane) -> str:
        if self._expected.pid is not None and pane.pid != self._expected.pid:
            return f"{_where(self._at)} belongs to another process now ({pane.pid}, not {self._expected.pid})"
        wanted = program_name(self._expected.command)
        if wanted and program_name(pane.command) != wanted:
            return f"{_where(self._at)} has {pane.command!r} in front now, not {self._expected.command!r}"
        return ""


def _mark_of(screen: str | None) -> str:
    """What recognises a screen that has not changed since."""
    return f" (screen {derived_id(screen or '')[:8]})"


def _where(at: PaneAddress) -> str:
    return f"pane {at.pane}"
