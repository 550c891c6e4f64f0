"""
How long the HTTP server waits for a client to say something: connections are few, and strangers may open them.

Uvicorn waits for ever for the first request of a connection, for the rest of its headers, and for the rest of a body
that has been refused. Everybody on this machine can open a connection, so that would be enough to keep all others out.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from starlette.types import Message, Receive

REQUEST_SECONDS = 10.0
"""Until a request has come whole but for its body, from the beginning or from the answer to the one before."""

BODY_SECONDS = 30.0
"""For the body of a request."""


class PatientProtocol(H11Protocol):
    """Ends a connection on which nothing is asked."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        self._wait()
        super().on_response_complete()

    def _wait(self) -> None:
        self._stop_waiting()
        self._waiting = self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()  # what it has not read yet is not worth a wait either


def bounded_body(receive: Receive) -> Receive:
    """The same, but a body that does not come to its end in time is a client that has gone."""
    loop = asyncio.get_running_loop()
    end, is_whole = loop.time() + BODY_SECONDS, False

    async def next_part() -> Message:
        nonlocal is_whole
        if is_whole:
            return await receive()  # from now on it says when the client goes, whenever that is
        try:
            message = await asyncio.wait_for(receive(), end - loop.time())
        except TimeoutError:
            return {"type": "http.disconnect"}
        is_whole = not message.get("more_body", False)
        return message

    return next_part
