"""The server in this very process, for when there is no daemon: the same one, at the other end of a pair of sockets."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from atm.core.untrusted_text import one_line
from atm.files.formats.json_record import to_bytes
from atm.teamd.events.hub import Hub
from atm.teamd.surfaces import DaemonFacts
from atm.ui.mcp.hello import LONGEST_LINE
from atm.ui.mcp.serving.daemon_events import follow_daemon
from atm.ui.mcp.serving.host import McpHost

if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.files.formats.layout import Layout

LAST_SECONDS, LOOK_EVERY = 2.0, 0.005
"""For the threads of calls that nobody waits for any more, when the client has gone; and between two looks."""


def open_line(layout: Layout, environment: Mapping[str, str]) -> socket.socket:
    """Our end of a connection to a server that lives in a thread for as long as this process."""
    gc.enable()  # off for commands that live for milliseconds
    ours, theirs = socket.socketpair()

    def run() -> None:
        with theirs.dup():  # open to the very end: whoever waits for it waits until everything is given back
            asyncio.run(_serve(theirs, layout, environment))

    threading.Thread(target=run, daemon=True, name="atm mcp").start()
    return ours


async def _serve(theirs: socket.socket, layout: Layout, environment: Mapping[str, str]) -> None:
    hub = Hub()
    follow_daemon(layout, hub)
    facts = DaemonFacts(layout=layout, environment=environment, folder="", hub=hub, log=say)
    standing = set(threading.enumerate())
    reader, writer = await asyncio.open_connection(sock=theirs, limit=LONGEST_LINE)
    await McpHost(facts, has_daemon=False).serve(reader, writer)
    end = time.monotonic() + LAST_SECONDS
    while set(threading.enumerate()) - standing and time.monotonic() < end:
        await asyncio.sleep(LOOK_EVERY)  # a call that was cancelled gives back what nobody will see of it


def say(level: str, source: str, text: str, **_: Any) -> None:
    """A log for servers outside of the daemon. Nobody may be reading it, and the work goes on all the same."""
    if sys.stderr is not None:  # its number may be that of a socket by now
        with contextlib.suppress(
            OSError, ValueError
        ):  # a broken pipe, or closed; past the buffer, which would stay full
            os.write(sys.stderr.fileno(), to_bytes(f"{level} {source}: {one_line(text)}\n"))
