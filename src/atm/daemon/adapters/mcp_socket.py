"""Where the daemon's MCP server listens: beside its control socket, wherever that has to lie."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.files.formats.layout import Layout

NAME = "mcp.sock"
SURELY_SHORT = 90
"""Bytes of a path at which the daemon's sockets certainly lie in its own folder."""


def find_mcp_socket(layout: Layout) -> str:
    """Its path, whether a daemon listens there or not."""
    path = f"{layout.daemon}/{NAME}"
    if len(os.fsencode(path)) <= SURELY_SHORT:
        return path
    from atm.daemon.adapters.seat import find_running

    running = find_running(layout)
    return f"{os.path.dirname(running.socket)}/{NAME}" if running is not None else path
