"""
The control socket: one line of JSON in, one line out; `events` goes on for as long as the client listens.

Only the owner of the socket may speak: its mode is 0600, and the system is asked who is at the other end. A query that
takes longer than half a second, or than whoever asks wants to wait, is answered with that.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from atm.daemon.formats.control_line import LONGEST, BadLine, Request, decode_request, encode_error, encode_result
from atm.teamd.events.hub import Hub, Listener
from atm.teamd.peers import process_of
from atm.teamd.surfaces import file_at

if TYPE_CHECKING:
    from atm.core.plain import Plain

QUERY_SECONDS = 0.5
IDLE_SECONDS = 300.0
"""A connection that says nothing for so long is closed."""

MOST_CONNECTIONS = 100

Answer = Callable[[Request], Awaitable["Plain"]]


class Control:
    """Serves the socket."""

    def __init__(self, path: str, answer: Answer, hub: Hub) -> None:
        self._path = path
        self._answer = answer
        self._hub = hub
        self._server: asyncio.Server | None = None
        self._made: tuple[int, int] | None = None
        """Which file our socket is."""
        self._open: dict[asyncio.Task[None], bool] = {}
        """Connections, the oldest first, and whether they have asked for anything."""
        self._is_stopping = False

    async def start(self) -> None:
        """The seat's lock is ours, so a socket that lies there was left behind."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)
        # Its folder is private, so a socket that is open to others for a moment is out of their reach. A umask for that
        # moment would count for all threads: a folder that one of them makes could not be entered any more.
        self._server = await asyncio.start_unix_server(self._serve, self._path, limit=LONGEST)
        os.chmod(self._path, 0o600)
        self._made = file_at(self._path)

    async def keep_reachable(self) -> str:
        """If our socket does not lie any more where clients look for it, make it anew: its path, or nothing."""
        if self._made is not None and file_at(self._path) == self._made:
            return ""
        if self._server is not None:
            self._server.close()  # it listens no more; whoever is connected stays connected
        await self.start()
        return self._path

    async def stop(self) -> None:
        self._is_stopping = True
        if self._server is not None:
            self._server.close()
        for task in list(self._open):
            task.cancel()
        if self._open:
            await asyncio.wait(list(self._open), timeout=1)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = False
        try:
            if not _is_us(writer):
                return
            self._make_room()
            while not self._is_stopping and await self._one(reader, writer):
                pass  # until Python 3.12 `wait_for` swallows a cancellation that comes together with an answer
        except OSError:
            pass  # the other end has gone
        except asyncio.CancelledError:
            writer.transport.abort()  # we go, or need the place, and do not wait for a client that never reads
        finally:
            self._open.pop(task, None)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    def _make_room(self) -> None:
        """Connections that say nothing must not shut others out: the one that has been silent longest goes."""
        if len(self._open) > MOST_CONNECTIONS:
            silent = next((task for task, has_spoken in self._open.items() if not has_spoken), next(iter(self._open)))
            silent.cancel()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; False when there is none to come."""
        try:
            line = await asyncio.wait_for(reader.readline(), IDLE_SECONDS)
        except (ValueError, TimeoutError):  # a line without an end, or nobody who speaks
            return False
        task = asyncio.current_task()
        if not line or task is None:
            return False
        self._open[task] = True
        seconds = QUERY_SECONDS
        try:
            request = decode_request(line)
            request.pid = process_of(writer)
            if request.do == "events":
                await self._stream(request, reader, writer)
                return False
            seconds = request.within or QUERY_SECONDS
            data = encode_result(request.id, await asyncio.wait_for(self._answer(request), seconds))
        except BadLine as error:
            data = encode_error(error.id, error.code, str(error))
        except TimeoutError:
            data = encode_error(request.id, "too-slow", f"no answer within {seconds:g} s")
        except Exception as error:  # noqa: BLE001 - a question must not end the daemon
            data = encode_error(request.id, "internal-error", f"{type(error).__name__}: {error}")
        writer.write(data)
        await writer.drain()
        return True

    async def _stream(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Events until the listener goes."""
        kinds = request.fields.get("kinds")
        wanted = tuple(kind for kind in kinds if isinstance(kind, str)) if isinstance(kinds, list) else ()
        listener = Listener(wanted, request.text("team"))
        self._hub.listen(listener)
        gone = asyncio.ensure_future(reader.read(1))
        try:
            ready = asyncio.ensure_future(self._hub.is_ready.wait())
            either: list[asyncio.Future[Any]] = [ready, gone]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
            writer.write(encode_result(request.id, {"kind": "listening"}))
            while not gone.done():
                await self._pass_on(listener, request.id, writer, gone)
        finally:
            gone.cancel()
            self._hub.leave(listener)

    async def _pass_on(
        self, listener: Listener, id: str, writer: asyncio.StreamWriter, gone: asyncio.Future[bytes]
    ) -> None:
        coming = asyncio.ensure_future(listener.next())
        either: list[asyncio.Future[Any]] = [coming, gone]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not coming.done():
            coming.cancel()
            return
        fields = coming.result().fields()
        if listener.dropped:
            fields["dropped"], listener.dropped = listener.dropped, 0
        writer.write(encode_result(id, fields))
        await writer.drain()


def _is_us(writer: asyncio.StreamWriter) -> bool:
    """Who is at the other end, where the system tells; the mode of the socket keeps others out anyway."""
    line = writer.get_extra_info("socket")
    if line is None or not hasattr(socket, "SO_PEERCRED"):
        return True
    raw = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    user = struct.unpack("3i", raw)[1]
    return user in (os.getuid(), 0)
