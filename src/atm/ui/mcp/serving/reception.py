"""Where clients are received: everything that needs the SDK. Imported when the first one comes."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from atm.teamd.loops import in_thread
from atm.ui.mcp.identity import FROM_LAUNCHER, admit
from atm.ui.mcp.offer import full_offer
from atm.ui.mcp.serving.client import Client
from atm.ui.mcp.serving.connection import SocketLines
from atm.ui.mcp.serving.roles import asked_role
from atm.ui.mcp.serving.server import build_server
from atm.ui.mcp.serving.workers import TooSlow, Workers

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from atm.board.ports.tasks import Tasks
    from atm.files.formats.layout import Layout
    from atm.teamd.loops import Door
    from atm.ui.mcp.hello import IdentityClaim
    from atm.ui.mcp.offer import Offer
    from atm.ui.mcp.serving.server import AtmServer, Context, Log


ADMIT_SECONDS = 20.0


class Reception:
    """Admits clients and serves them; they share the threads."""

    def __init__(
        self,
        layout: Layout,
        log: Log,
        *,
        has_daemon: bool,
        offer: Offer | None = None,
        tasks: Tasks | None = None,
        door: Door | None = None,
    ) -> None:
        self._layout = layout
        self._tasks = tasks
        self._log = log
        self._has_daemon = has_daemon
        self.offer = offer or full_offer()
        self.workers = Workers(door=door)
        hear_logger("mcp", log)

    async def admit(self, claim: IdentityClaim, source: str = FROM_LAUNCHER, pid: int | None = None) -> Client:
        """Who comes; raises AtmError for those who may not."""
        has_daemon = self._has_daemon
        admitting = in_thread(lambda: admit(self._layout, claim, has_daemon=has_daemon, source=source, pid=pid))
        try:
            caller = await asyncio.wait_for(admitting, ADMIT_SECONDS)
        except TimeoutError:  # settings on a disk that does not answer
            raise TooSlow("it takes too long to find out who you are", "connect again") from None
        caller.tasks = self._tasks
        return Client(caller, asked_role(caller.settings, claim.role), self.offer.touched_by)

    def server(self, client_of: Callable[[Context], Client]) -> AtmServer:
        return build_server(self.offer, client_of, self.workers, self._log)

    async def serve(
        self,
        client: Client,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        beside: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        """One connection, to its end."""
        client.sees_delivery = True
        try:
            lines = SocketLines(reader, writer, client)
            await lines.serve(self.server(lambda _: client), beside)
        finally:
            await asyncio.shield(client.close())


class _ToOurLog(logging.Handler):
    """What the SDK has to say goes to our log: nobody reads the daemon's standard error."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._say = log

    def emit(self, record: logging.LogRecord) -> None:
        level = "error" if record.levelno >= logging.ERROR else "warn"
        failed = record.exc_info[1] if record.exc_info else None
        reason = f": {type(failed).__name__}: {failed}" if failed is not None else ""
        self._say(level, "mcp", f"{record.getMessage()}{reason}"[:2000])


def hear_logger(name: str, log: Log) -> None:
    """From now on warnings of that library, and of all its parts, go to `log` and nowhere else."""
    logger = logging.getLogger(name)
    logger.handlers = [_ToOurLog(log)]
    logger.propagate = False
