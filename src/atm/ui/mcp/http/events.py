"""
Answers over HTTP that can be fetched again: the first event of a stream primes its client, which comes back with the
last id that it has seen if the line breaks, and is told what it missed.

The SDK has one store for all sessions, and calls a stream by the id of its request, which is 1 in every session. So
each session has its part of the store: `SESSION` says whose request runs now. Ids of events cannot be guessed.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from contextvars import ContextVar
from typing import TYPE_CHECKING

from mcp.server.streamable_http import EventMessage, EventStore

if TYPE_CHECKING:
    from mcp.server.streamable_http import EventCallback
    from mcp_types import JSONRPCMessage

MOST_BYTES = 16 << 20
"""Of all that is kept, for all sessions; the oldest goes first."""

RETRY_MILLISECONDS = 1000
"""After which a client whose line broke should come back."""


class SessionMark:
    """A session, as its requests and its tasks know it: begun before its id is known."""

    __slots__ = ()


SESSION: ContextVar[SessionMark | None] = ContextVar("SESSION", default=None)


class KeptEvents(EventStore):
    """The last events of all streams."""

    def __init__(self) -> None:
        self._events: OrderedDict[str, tuple[SessionMark | None, str, JSONRPCMessage | None, int]] = OrderedDict()
        self._bytes = 0

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        id = secrets.token_hex(16)
        size = len(message.model_dump_json()) if message is not None else 0
        self._events[id] = SESSION.get(), stream_id, message, size
        self._bytes += size + len(id)
        while self._bytes > MOST_BYTES:
            old, (_, _, _, gone) = self._events.popitem(last=False)
            self._bytes -= gone + len(old)
        return id

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        """What the same stream of the same session said after that. None for an id that is not of this session."""
        known = self._events.get(last_event_id)
        if known is None or known[0] is not SESSION.get():
            return None
        ids = list(self._events)
        for id in ids[ids.index(last_event_id) + 1 :]:
            session, stream, message, _ = self._events.get(id, (None, "", None, 0))
            if session is known[0] and stream == known[1] and message is not None:
                await send_callback(EventMessage(message, id))
        return known[1]
