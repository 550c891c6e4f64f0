"""The event stream: everybody who listens gets every event, and nobody who is slow holds the others up."""

from __future__ import annotations

import asyncio

from atm.events.rules import TeamEvent

MOST_WAITING = 1000
"""Events that a listener may be behind. What comes after is dropped, and it is told how much."""


class Listener:
    """One who listens."""

    def __init__(self, kinds: tuple[str, ...] = (), team: str = "") -> None:
        self._kinds = kinds
        self._team = team
        self._waiting: asyncio.Queue[TeamEvent] = asyncio.Queue(MOST_WAITING)
        self.dropped = 0

    def offer(self, event: TeamEvent) -> None:
        if self._team and event.team != self._team:
            return
        if self._kinds and not any(event.kind == kind or event.kind.startswith(f"{kind}.") for kind in self._kinds):
            return
        try:
            self._waiting.put_nowait(event)
        except asyncio.QueueFull:
            self.dropped += 1

    async def next(self) -> TeamEvent:
        return await self._waiting.get()


class Hub:
    """Where events come together."""

    def __init__(self) -> None:
        self._listeners: set[Listener] = set()
        self._loop = asyncio.get_running_loop()
        self.published = 0
        self.is_ready = asyncio.Event()
        """Set once what was there before has been looked at: from then on nothing that happens is missed."""

    def listen(self, listener: Listener) -> None:
        self._listeners.add(listener)

    def leave(self, listener: Listener) -> None:
        self._listeners.discard(listener)

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    def publish(self, event: TeamEvent) -> None:
        """In the daemon's own thread."""
        self.published += 1
        for listener in self._listeners:
            listener.offer(event)

    def publish_from_thread(self, event: TeamEvent) -> None:
        try:
            self._loop.call_soon_threadsafe(self.publish, event)
        except RuntimeError:
            return  # the daemon has ended
