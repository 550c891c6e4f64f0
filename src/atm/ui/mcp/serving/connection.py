"""
One connection: lines of JSON-RPC over a socket on one side, the SDK on the other.

Everything that a client may do wrong has a bound, and costs that client alone: a line without an end, lines that are
no messages, more requests than it reads answers to, answers that it never reads.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol

import anyio
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text
from atm.ui.mcp.answers import cleaned
from atm.ui.mcp.hello import LONGEST_LINE

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from atm.ui.mcp.serving.server import AtmServer

    Id = int | str

MOST_UNANSWERED = 64
"""Requests that are under way; further ones are not read before some are answered."""

MOST_GARBAGE = 100
"""Lines in a row that are no messages. Whoever sends more is no client."""

LAST_WORDS_SECONDS = 5.0
UNREAD_SECONDS = 60.0
"""A client that reads nothing for so long, with its buffers full, is gone."""

LISTEN = "subscriptions/listen"


class Deliveries(Protocol):
    """Who wants to know what becomes of requests. An id is as the SDK takes it: to it "5" and 5 are one."""

    def asked(self, request: Id) -> None: ...

    def cancelled(self, request: Id) -> None: ...

    def delivered(self, request: Id) -> None: ...

    def lost(self, request: Id) -> None: ...


class SocketLines:
    """A socket's lines as the SDK's messages."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        deliveries: Deliveries,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._deliveries = deliveries
        self._unanswered: set[Id] = set()
        self._answered = asyncio.Event()
        self._reads_no_more = False

    async def serve(self, server: AtmServer, beside: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Until the client has gone. `beside` is an async function that runs for as long."""
        to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            group.start_soon(self._read, to_server, to_client.clone())
            group.start_soon(self._write, from_server)
            group.start_soon(beside)
            await server.run(from_client, to_client, server.create_initialization_options())
            group.cancel_scope.cancel()

    async def _read(
        self,
        to_server: MemoryObjectSendStream[SessionMessage | Exception],
        to_client: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        async with to_server, to_client:
            with contextlib.suppress(anyio.BrokenResourceError):  # it has hung up, and hears no complaint of ours
                await self._read_lines(to_server, to_client)

    async def _read_lines(
        self,
        to_server: MemoryObjectSendStream[SessionMessage | Exception],
        to_client: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        garbage = 0
        while line := await self._line(to_client):
            if not line.strip():
                continue
            message, complaint = _decoded(line)
            if message is None:
                garbage += 1
                await to_client.send(complaint)
                if garbage > MOST_GARBAGE:
                    return
                continue
            garbage = 0
            await self._wait_for_room()
            if self._is_under_way(message.message):
                await to_client.send(_complaint(None, INVALID_REQUEST, "a request of this id is under way"))
                continue
            self._note(message.message)
            await to_server.send(message)
        await self._wait_for_last_words()

    async def _line(self, to_client: MemoryObjectSendStream[SessionMessage]) -> bytes:
        """The next line; nothing at the end. Half a line at the end is nothing either."""
        try:
            return await self._reader.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            said = f"a line has at most {LONGEST_LINE >> 20} MB"
            await to_client.send(_complaint(None, INVALID_REQUEST, said))
        except (asyncio.IncompleteReadError, OSError):
            pass
        return b""

    def _is_under_way(self, message: object) -> bool:
        """Two requests of one id: of their two answers nobody could say which is which, nor which got through."""
        return isinstance(message, JSONRPCRequest) and coerce_request_id(message.id) in self._unanswered

    def _note(self, message: object) -> None:
        if isinstance(message, JSONRPCRequest):
            id = coerce_request_id(message.id)
            self._deliveries.asked(id)
            if message.method != LISTEN:
                self._unanswered.add(id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            said = (message.params or {}).get("requestId")
            if isinstance(said, int | str):
                id = coerce_request_id(said)
                self._settle(id)  # a cancelled request is never answered, and if it is, nobody looks at that
                self._deliveries.cancelled(id)

    def _settle(self, id: Id) -> None:
        self._unanswered.discard(id)
        self._answered.set()

    async def _wait_for_room(self) -> None:
        while len(self._unanswered) >= MOST_UNANSWERED and not self._reads_no_more:
            self._answered.clear()
            await self._answered.wait()

    async def _wait_for_last_words(self) -> None:
        """The client has said all it has to say; what it asked for last is answered before we go."""
        with anyio.move_on_after(LAST_WORDS_SECONDS):
            while self._unanswered and not self._reads_no_more:
                self._answered.clear()
                await self._answered.wait()

    def _hang_up(self) -> None:
        """It does not read, or has gone. The reading side must not wait for answers that nobody will hear."""
        self._reads_no_more = True
        self._answered.set()
        self._writer.transport.abort()

    async def _write(self, from_server: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with from_server:
            async for item in from_server:
                message = item.message
                data = message.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8", "replace")
                try:
                    self._writer.write(data + b"\n")
                    await asyncio.wait_for(self._writer.drain(), UNREAD_SECONDS)
                except (OSError, TimeoutError):
                    self._hang_up()
                    return
                if isinstance(message, JSONRPCResponse | JSONRPCError):
                    self._tell(message)

    def _tell(self, answer: JSONRPCResponse | JSONRPCError) -> None:
        if answer.id is None:
            return  # a complaint about something that was no request
        id = coerce_request_id(answer.id)
        if isinstance(answer, JSONRPCResponse):
            self._deliveries.delivered(id)
        else:
            self._deliveries.lost(id)
        self._settle(id)


def _decoded(line: bytes) -> tuple[SessionMessage | None, SessionMessage]:
    """The message that a line is; if it is none, what to tell whoever sent it."""
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return _decoded_kindly(line)
    if isinstance(message, JSONRPCNotification) and _has_id(line):
        return None, _complaint(None, INVALID_REQUEST, "the id of a request is a text or a whole number")
    return SessionMessage(message), _complaint()


def _has_id(line: bytes) -> bool:
    """The SDK takes a request whose id is none (null, 1.5, a list) for a notification, and would never answer."""
    try:
        return b'"id"' in line and "id" in decode_object(to_text(line))
    except NotJson:
        return False


def _decoded_kindly(line: bytes) -> tuple[SessionMessage | None, SessionMessage]:
    """JavaScript sends halves of characters where it cut a text; the SDK's decoder refuses the whole message."""
    try:
        fields = decode_object(to_text(line))
    except NotJson:
        return None, _complaint()
    try:
        text = to_bytes(encode(cleaned(fields)))
        return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False)), _complaint()
    except ValueError:
        return None, _complaint(fields.get("id"), INVALID_REQUEST, "this is no request of JSON-RPC 2.0")


def _complaint(id: object = None, code: int = PARSE_ERROR, text: str = "this line is no JSON object") -> SessionMessage:
    known = id if isinstance(id, int | str) and not isinstance(id, bool) else None
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=known, error=ErrorData(code=code, message=text)))
