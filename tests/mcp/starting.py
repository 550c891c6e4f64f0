"""A daemon that has taken its seat, listens, and welcomes nobody: it is still about to import what it needs."""

from __future__ import annotations

import os
import socket
from typing import Self

from atm.daemon.adapters.mcp_socket import find_mcp_socket
from atm.daemon.adapters.seat import Seat, take_seat
from atm.files.formats.layout import Layout

SECONDS = 60


class Starting:
    """It goes without a word at the end of the block; whoever waits may look for another one."""

    def __init__(self, layout: Layout) -> None:
        seat = take_seat(layout)
        assert isinstance(seat, Seat)
        self._seat = seat
        if os.path.dirname(seat.socket) != layout.daemon:  # a home so deep that sockets lie elsewhere
            seat.announce("", "")
        self._path = find_mcp_socket(layout)
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.settimeout(SECONDS)
        self._listening.bind(self._path)
        self._listening.listen()
        self._lines: list[socket.socket] = []

    def is_waited_for(self) -> bool:
        """Has somebody come, and is still waiting for a word?"""
        line, _ = self._listening.accept()
        self._lines.append(line)
        line.settimeout(SECONDS)
        assert line.recv(65_536).endswith(b"\n"), "it says who it is, and then nothing"
        line.setblocking(False)
        try:
            return line.recv(1) != b""
        except BlockingIOError:
            return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for line in (*self._lines, self._listening):
            line.close()
        os.unlink(self._path)
        self._seat.leave()
