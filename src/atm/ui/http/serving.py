"""A server on this machine only."""

from __future__ import annotations

import contextlib
import os
import socket
from typing import TYPE_CHECKING

from atm.core.errors import AtmError
from atm.ui.http.peers import MOST_CONNECTIONS, UNKNOWN, Peer, peer_of
from atm.wiring.daemon import can_tell_users, user_at

if TYPE_CHECKING:
    import asyncio

    import uvicorn
    from starlette.types import ASGIApp

HOST = "127.0.0.1"
STOP_SECONDS = 3


def listen(port: int) -> socket.socket:
    """At this port, or 0 for any."""
    line = socket.socket(
        socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP
    )  # asyncio sends at once only over these
    try:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        line.bind((HOST, port))
        line.listen(128)
    except (OSError, OverflowError) as error:
        line.close()
        said = error.strerror if isinstance(error, OSError) else error
        raise AtmError(f"port {port} cannot be used: {said}", "choose another: --port N, or 0 for any") from None
    return line


def web_server(app: ASGIApp) -> uvicorn.Server:
    """Uvicorn's own handlers of signals come late, and raise again what they caught: who starts it stops it."""
    import uvicorn

    from atm.ui.http.patience import PatientProtocol

    config = uvicorn.Config(
        app,
        http=PatientProtocol.for_server(find_peer),
        log_config=None,
        access_log=False,
        ws="none",
        lifespan="on",
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    return server


def find_peer(transport: asyncio.BaseTransport) -> Peer:
    """Which user has opened this connection."""
    there, here = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
    if not there or not here:
        return UNKNOWN
    own = os.getuid() if hasattr(os, "getuid") else -1
    can_tell = can_tell_users()
    return peer_of(user_at(there[:2], here[:2]) if can_tell else None, own, str(there[0]), can_tell=can_tell)
