"""
Events on their way to one listener: only so many unanswered, only so many waiting, the oldest dropped first.

What was dropped is told as one event before the next ones, so that a listener knows that it must look for itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from atm.events.rules import TeamEvent
from atm.teamd.plugins.api import DROPPED
from atm.teamd.plugins.wire import WINDOW


class EventOutbox:
    """The queue of one run of one plugin."""

    def __init__(self, send: Callable[[TeamEvent], None], most: int) -> None:
        self._send = send
        self._most = most
        self._waiting: deque[TeamEvent] = deque()
        self._credits = WINDOW
        self._untold = 0
        self.dropped = 0

    def offer(self, event: TeamEvent) -> None:
        self._waiting.append(event)
        if len(self._waiting) > self._most:
            self._waiting.popleft()
            self.miss()
        self._flush()

    def miss(self) -> None:
        """One was dropped; that is told before the next one."""
        self._untold += 1
        self.dropped += 1

    def took(self, count: int) -> None:
        """The listener has taken so many; what it claims beyond what it got counts for nothing."""
        self._credits = min(WINDOW, self._credits + max(0, count))
        self._flush()

    def _flush(self) -> None:
        while self._waiting and self._credits:
            self._credits -= 1
            if self._untold:
                at = self._waiting[0].at
                self._send(TeamEvent(DROPPED, "", "", at, {"count": self._untold}))
                self._untold = 0
            else:
                self._send(self._waiting.popleft())
