"""
Sessions over HTTP, by bearer: a client that opens one for every call, and ends none, gets in no other client's way.

The SDK keeps a session for half an hour after its last request, and so many for all bearers together; those whom it
then turns away would be the others. So each bearer has a few, and a new one ends the one that was used longest ago.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from atm.ui.mcp.http.events import SESSION, SessionMark

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_FOR_ONE = 8
MOST_BEARERS = 1000
HEADER = b"mcp-session-id"


class Sessions:
    """An ASGI application around the SDK's. `bearer_of` says whose request it is."""

    def __init__(self, app: ASGIApp, bearer_of: Callable[[Scope], str]) -> None:
        self._app = app
        self._bearer_of = bearer_of
        self._open: OrderedDict[str, OrderedDict[bytes, SessionMark]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        bearer = self._bearer_of(scope)
        asked = _session(scope["headers"])
        too_many: list[bytes] = []
        # A session that is opened runs in a copy of the context of the request that opens it, and so keeps this mark.
        mark = self._use(bearer, asked) if asked is not None else SessionMark()
        SESSION.set(mark)

        async def heard(message: Message) -> None:
            given = _session(message.get("headers", ())) if message["type"] == "http.response.start" else None
            if given is not None and asked is None:  # before the client hears of it, and uses it
                too_many.extend(self._add(bearer, given, mark))
            await send(message)

        await self._app(scope, receive, heard)
        for old in too_many:
            await self._end(scope, old)

    def _use(self, bearer: str, session: bytes) -> SessionMark:
        """Whose it is; of one that is not known, nobody's."""
        known = self._open.get(bearer, OrderedDict())
        if session not in known:
            return SessionMark()
        known.move_to_end(session)
        return known[session]

    def _add(self, bearer: str, session: bytes, mark: SessionMark) -> list[bytes]:
        """Those that are one too many."""
        known = self._open.setdefault(bearer, OrderedDict())
        self._open.move_to_end(bearer)
        known[session] = mark
        while len(self._open) > MOST_BEARERS:
            self._open.popitem(last=False)
        return [known.popitem(last=False)[0] for _ in range(len(known) - MOST_FOR_ONE)]

    async def _end(self, scope: Scope, session: bytes) -> None:
        """As its client would have done: by DELETE, in the same bearer's name."""
        kept = [(name, value) for name, value in scope["headers"] if name in (b"host", b"accept", b"authorization")]
        ending = {**scope, "method": "DELETE", "headers": [*kept, (HEADER, session)]}
        await self._app(ending, _nothing, _ignore)


def _session(headers: Any) -> bytes | None:
    return next((value for name, value in headers if name.lower() == HEADER), None)


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _ignore(_: Message) -> None:
    return
