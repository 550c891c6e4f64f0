"""Ports that nobody listens on: agents of other users of this machine count from the same number."""

from __future__ import annotations

import errno
import socket

LAST_PORT = 65_535


def is_free(port: int) -> bool:
    """As far as can be seen now. One that may not be asked for counts as free: whoever wants it is told why not."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # what was closed a moment ago can be had
        try:
            one.bind(("127.0.0.1", min(port, LAST_PORT)))
            one.listen()
        except OSError as error:
            return error.errno != errno.EADDRINUSE
    return True
