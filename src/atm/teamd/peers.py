"""Who is at the other end of a local socket, as far as the system tells."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

_MACOS_LOCAL, _MACOS_PEER_PID = 0, 2


def process_of(writer: asyncio.StreamWriter) -> int | None:
    """The process; None where the system does not tell."""
    line = writer.get_extra_info("socket")
    try:
        if hasattr(socket, "SO_PEERCRED"):
            return int(struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]) or None
        return int(line.getsockopt(_MACOS_LOCAL, _MACOS_PEER_PID)) or None
    except (OSError, AttributeError, struct.error):
        return None
