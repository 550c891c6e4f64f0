"""How `atm mcp` finds a server: the daemon's, or one that it starts, or, if there is none to be had, its own."""

from __future__ import annotations

import _socket
import time

from atm.core.errors import AtmError
from atm.ui.mcp.hello import LONGEST_HELLO, check_welcome, encode_hello
from atm.ui.views.extras import check_mcp
from atm.wiring.daemon import find_mcp_socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket as Line
    from collections.abc import Callable, Mapping

    from atm.files.formats.layout import Layout
    from atm.ui.mcp.hello import IdentityClaim

WELCOME_SECONDS = 30.0
"""The first client of a daemon waits for the import of the SDK."""

START_SECONDS = 10.0
"""For a daemon that hangs when it starts. Clients give us half a minute, and the server in this process needs some."""

ATTEMPTS = 2
RIVAL_SECONDS = 3.0
"""Several agents may start a daemon at once; one of these wins, and the others have to wait for it."""


class Reaching:
    """Each call is one attempt; what it found the last time is forgotten."""

    def __init__(
        self,
        layout: Layout,
        environment: Mapping[str, str],
        claim: IdentityClaim,
        may_autostart: Callable[[], bool],
        warn: Callable[[str], None],
    ) -> None:
        self._layout = layout
        self._environment = environment
        self._hello = encode_hello(claim)
        self._may_autostart = may_autostart
        """Asked only when no daemon runs: settings take their time to read."""
        self.is_own = False
        """Did the last line that was found lead to a server in this process?"""
        self._warn = warn

    def __call__(self, may_start: bool) -> tuple[Line, bytes] | None:
        """A line on which we have been welcomed, and what was said on it since. AtmError if we are turned away."""
        found = self._at_the_daemon()
        if found is not None or not may_start:
            self.is_own = self.is_own and found is None
            return found
        check_mcp()  # a daemon of this installation would have no server either
        if self._may_autostart():
            found = self._at_a_new_daemon()
        self.is_own = found is None
        return found or self._in_this_process()

    def _at_the_daemon(self) -> tuple[Line, bytes] | None:
        path = find_mcp_socket(self._layout)
        line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            line.connect(path)
        except OSError:
            line.close()
            return None
        return self._welcomed(line)

    def _at_a_new_daemon(self) -> tuple[Line, bytes] | None:
        from atm.wiring.daemon import start_daemon

        found, problem, begun = None, "", time.monotonic()
        for _ in range(ATTEMPTS):  # the first may have met one that was just going, and whose seat was still taken
            problem = start_daemon(self._layout, self._environment, wait=True, seconds=START_SECONDS)
            end = time.monotonic() + RIVAL_SECONDS
            while (found := self._at_the_daemon()) is None and time.monotonic() < end:
                time.sleep(0.02)
            if found is not None or time.monotonic() - begun > START_SECONDS:
                break
        if found is None:
            self._warn(f"no MCP server in a daemon ({problem or 'it has none'}); serving in this process")
        return found

    def _in_this_process(self) -> tuple[Line, bytes]:
        from atm.ui.mcp.serving.in_process import open_line

        found = self._welcomed(open_line(self._layout, self._environment))
        if found is None:
            raise AtmError("the MCP server could not be started", "run `atm mcp` with ATM_DEBUG=1")
        return found

    def _welcomed(self, line: Line) -> tuple[Line, bytes] | None:
        """None if whoever is there says nothing sensible in time: it is just going, or just dying."""
        data = b""
        try:
            line.settimeout(WELCOME_SECONDS)
            line.sendall(self._hello)
            while b"\n" not in data and len(data) <= LONGEST_HELLO:
                part = line.recv(65_536)
                if not part:
                    raise OSError
                data += part
            first, _, rest = data.partition(b"\n")
            check_welcome(first)
        except OSError:
            line.close()
            return None
        except AtmError:
            line.close()
            raise
        return line, rest
