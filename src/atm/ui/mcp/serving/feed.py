"""What a client follows, and telling it of changes: of a burst of events it hears once, and a slow one holds nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

MOST_FOLLOWED = 200
SEND_SECONDS = 10.0

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Of what is logged, the least first."""

Send = Callable[[str], Awaitable[None]]

LISTS = ""
"""Stands for the lists of tools, resources and prompts: everybody is told when those change."""


class Feed:
    """One client of the handshake era. It follows uris; changes wait here until they can be sent."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._followed: set[str] = set()
        self._waiting: dict[str, None] = {}
        self._sending: asyncio.Task[None] | None = None
        self.is_closed = False
        self.level = ""
        """From which level on it wants to hear what the server logs; empty: nothing."""

    def wants(self, level: str) -> bool:
        return bool(self.level) and LEVELS.index(level) >= LEVELS.index(self.level)

    @property
    def follows_anything(self) -> bool:
        return bool(self._followed) and not self.is_closed

    def follow(self, uri: str) -> bool:
        """False if it follows too much already."""
        if len(self._followed) >= MOST_FOLLOWED and uri not in self._followed:
            return False
        self._followed.add(uri)
        return True

    def leave(self, uri: str) -> None:
        self._followed.discard(uri)

    def offer(self, uris: Iterable[str]) -> None:
        """Something may have changed. What waits already is not told twice."""
        self._waiting |= {uri: None for uri in uris if uri in self._followed or uri == LISTS}
        if self._waiting and self._sending is None and not self.is_closed:
            self._sending = asyncio.ensure_future(self._send_all())

    async def _send_all(self) -> None:
        try:
            while self._waiting:
                uri = next(iter(self._waiting))
                del self._waiting[uri]
                await asyncio.wait_for(self._send(uri), SEND_SECONDS)
        except Exception:  # noqa: BLE001 - it does not read, or has gone: it is told nothing more
            self.close()
        finally:
            self._sending = None

    def close(self) -> None:
        self.is_closed = True
        if self._sending is not None and self._sending is not asyncio.current_task():
            self._sending.cancel()
