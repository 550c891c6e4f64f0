"""
The MCP server in the daemon: one for all agents of this home, behind a socket of its own.

The SDK takes a second and fifty megabytes, so it is imported when the first client comes. Each connection begins with
a greeting (`hello.py`) that says who calls; then it carries what stdio would carry. Whatever one connection does costs
only that connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING, Any

from atm.core.errors import AtmError
from atm.teamd.events.hub import Listener
from atm.teamd.loops import in_thread
from atm.teamd.peers import process_of
from atm.teamd.surfaces import file_at
from atm.ui.mcp.hello import LONGEST_LINE, BadHello, decode_hello, encode_refusal, encode_welcome
from atm.ui.views.extras import mcp_missing

if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.events.rules import TeamEvent
    from atm.teamd.surfaces import DaemonFacts
    from atm.ui.mcp.hello import IdentityClaim
    from atm.ui.mcp.serving.client import Client
    from atm.ui.mcp.serving.reception import Reception

SOCKET = "mcp.sock"
HELLO_SECONDS = 5.0
STOP_SECONDS = 2.0
MOST_CONNECTIONS = 256
BUFFER = 256 << 10


class McpHost:
    """A surface of the daemon (`atm.teamd.surfaces`)."""

    name = "mcp"

    def __init__(self, facts: DaemonFacts | None = None, *, has_daemon: bool = True) -> None:
        self._has_daemon = has_daemon
        self._server: asyncio.Server | None = None
        self._facts = facts
        self._path = ""
        self._made: tuple[int, int] | None = None
        """Which file our socket is."""
        self._open: set[asyncio.Task[None]] = set()
        self._served = 0
        self._opening: asyncio.Future[Reception] | None = None

    # From start to end.

    async def start(self, facts: DaemonFacts) -> None:
        """The seat is ours, so a socket that lies there was left behind."""
        self._facts, self._path = facts, f"{facts.folder}/{SOCKET}"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)
        # As many may come in one moment, when a whole team is started.
        self._server = await asyncio.start_unix_server(
            self.serve, self._path, limit=LONGEST_LINE, backlog=MOST_CONNECTIONS
        )
        os.chmod(self._path, 0o600)  # no umask: the folder is private, and a umask counts for all threads
        self._made = file_at(self._path)

    async def keep_reachable(self) -> None:
        """Make the socket anew where it was removed. Whoever is connected stays connected."""
        if self._facts is None or self._server is None or file_at(self._path) == self._made:
            return
        self._server.close()
        await self.start(self._facts)
        self._log("warn", f"{self._path} was removed; made again")

    async def stop(self) -> None:
        if self._server is None:
            return
        self._server.close()
        for task in [*self._open]:
            task.cancel()
        if self._open:
            await asyncio.wait([*self._open], timeout=STOP_SECONDS)
        with contextlib.suppress(OSError):
            os.unlink(self._path)

    def facts(self) -> dict[str, Any]:
        return {
            "socket": self._path,
            "connections": len(self._open),
            "served": self._served,
            "loaded": self._opening is not None and self._opening.done(),
        }

    # One connection.

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._attend(reader, writer)
        except asyncio.CancelledError:
            pass  # the daemon stops
        except Exception as error:  # noqa: BLE001 - one bad connection must not end the daemon
            self._log("error", f"a connection failed: {_innermost(error)}")
        finally:
            self._open.discard(task)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError, TimeoutError):
                await asyncio.wait_for(writer.wait_closed(), STOP_SECONDS)

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if len(self._open) > 2 * MOST_CONNECTIONS:
                return  # a flood is not listened to
            claim = await _greeted(reader)  # first: who is still writing when we hang up does not hear why
            if len(self._open) > MOST_CONNECTIONS:
                raise BadHello("too many connections are open", "close some agents")
            reception = await self._reception()
            client = await reception.admit(claim, pid=process_of(writer))
        except AtmError as error:
            writer.write(encode_refusal(error))
            with contextlib.suppress(OSError):
                await asyncio.wait_for(writer.drain(), HELLO_SECONDS)
            return
        self._served += 1
        writer.transport.set_write_buffer_limits(BUFFER)
        writer.write(encode_welcome())
        await reception.serve(client, reader, writer, lambda: self._follow(client))

    async def _reception(self) -> Reception:
        """Where clients are received, opened by the first who comes; those who come meanwhile wait for it."""
        if self._opening is None or (self._opening.done() and self._opening.exception() is not None):
            self._opening = asyncio.ensure_future(self._open_reception())
        return await asyncio.shield(self._opening)

    async def _open_reception(self) -> Reception:
        facts = self._facts
        assert facts is not None
        make: Callable[..., Reception] = await in_thread(load_reception)
        return make(facts.layout, facts.log, has_daemon=self._has_daemon, tasks=facts.tasks, door=facts.door)

    async def _follow(self, client: Client) -> None:
        """What happens in the teams, for one client; one that is slow misses some of it and holds nobody up."""
        assert self._facts is not None
        listener = Listener()
        self._facts.hub.listen(listener)
        try:
            while True:
                event: TeamEvent = await listener.next()
                await client.hear(event)
        finally:
            self._facts.hub.leave(listener)

    def _log(self, level: str, text: str) -> None:
        if self._facts is not None:
            self._facts.log(level, self.name, text)


async def _greeted(reader: asyncio.StreamReader) -> IdentityClaim:
    try:
        line = await asyncio.wait_for(reader.readuntil(b"\n"), HELLO_SECONDS)
    except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
        raise BadHello("no greeting came within 5 s", "connect with `atm mcp`") from None
    return decode_hello(line)


def load_reception() -> Callable[..., Reception]:
    """Import the SDK and everything over it. Raises McpMissing if it is not installed."""
    try:
        import mcp.server  # noqa: F401 - is it there?
    except ImportError as error:
        raise mcp_missing(f" ({error})") from None
    from atm.ui.mcp.serving.reception import Reception

    return Reception


def _innermost(error: BaseException) -> str:
    """Task groups wrap what went wrong in groups; the first of them is said."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:500]
