"""A server on this machine only."""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING

from atm.domain.errors import AtmError

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

HOST = "127.0.0.1"
MOST_CONNECTIONS = 500
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
        http=PatientProtocol,
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
