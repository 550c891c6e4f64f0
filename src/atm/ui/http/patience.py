"""
How long the HTTP server waits for a client to say something, and how many connections each user may open.

Uvicorn waits for ever for the first request of a connection, for the rest of its headers, and for the rest of a body
that has been refused. Everybody on this machine can open a connection, so that would be enough to keep all others out.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from atm.ui.http.peers import STATE, UNKNOWN, OpenConnections, Peer

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Message, Receive

REQUEST_SECONDS = 10.0
"""Until a request has come whole but for its body, from the beginning or from the answer to the one before."""

BODY_SECONDS = 30.0
"""For the body of a request."""


class PatientProtocol(H11Protocol):
    """Ends a connection on which nothing is asked, and one that is too many of its user's."""

    peers: OpenConnections
    find_peer: Callable[[Any], Peer]
    """Both belong to one server: `for_server`."""

    _waiting: asyncio.TimerHandle | None = None
    _peer: Peer | None = None
    """None where the connection was refused."""

    @classmethod
    def for_server(cls, find_peer: Callable[[Any], Peer]) -> type[PatientProtocol]:
        return type("PeerProtocol", (cls,), {"peers": OpenConnections(), "find_peer": staticmethod(find_peer)})

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        peer = self.find_peer(transport)
        if not self.peers.open(peer):
            transport.abort()
            return
        self._peer = peer
        self.app_state = {**self.app_state, STATE: peer.name}
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        if self._peer is not None:
            self.peers.close(self._peer)
            self._peer = None
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


def peer_in(scope: Any) -> str:
    """Which peer sent a request."""
    state = scope.get("state")
    return str(state.get(STATE, UNKNOWN.name)) if isinstance(state, dict) else UNKNOWN.name


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
