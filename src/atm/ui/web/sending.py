"""Server-sent events to one browser, for as long as it listens and reads."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from starlette.responses import Response

from atm.core.errors import AtmError
from atm.files.formats.json_record import encode
from atm.ui.web.streams import Frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Receive, Scope, Send

    from atm.ui.web.streams import StreamListener, TeamStream

BEAT_SECONDS = 15.0
STALL_SECONDS = 60.0
"""After which a browser that takes nothing has gone: what is sent to it lies in memory."""


class PageEvents(Response):
    """The whole first, or what came since the version that the browser knows; then every change."""

    media_type = "text/event-stream"

    def __init__(
        self,
        stream: TeamStream,
        after: str,
        now: Callable[[], float],
        all_open: set[PageEvents],
    ) -> None:
        super().__init__(None, media_type=self.media_type)
        self._stream = stream
        self._after = after
        self._now = now
        self._open = all_open
        self._end = asyncio.Event()

    def end(self) -> None:
        self._end.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - as ASGI calls it
        listener = self._stream.listen()
        headers = [(b"content-type", b"text/event-stream; charset=utf-8")]
        self._open.add(self)
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await self._until_over(listener, receive, send)
            if self._end.is_set():
                await send({"type": "http.response.body", "body": b""})
        finally:
            self._open.discard(self)
            self._stream.leave(listener)

    async def _until_over(self, listener: StreamListener, receive: Receive, send: Send) -> None:
        """Until the browser has gone, takes nothing any more, or the page is closed."""
        tasks = [
            asyncio.ensure_future(one) for one in (self._send_all(listener, send), _left(receive), self._end.wait())
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _send_all(self, listener: StreamListener, send: Send) -> None:
        async def say(kind: str, text: str, version: str = "") -> None:
            head = f"id: {version}\n" if version else ""
            body = f"{head}event: {kind}\ndata: {text}\n\n".encode("utf-8", "replace")
            await asyncio.wait_for(send({"type": "http.response.body", "body": body, "more_body": True}), STALL_SECONDS)

        try:
            await self._stream.current()
            self._stream.resume(listener, self._after)
        except (AtmError, OSError, TimeoutError):
            listener.miss()  # said below, as soon as it can be read
        while True:
            frame = await (self._whole(listener) if listener.wants_whole else listener.next(BEAT_SECONDS))
            if frame is not None:
                version = "" if frame.kind == "gone" else self._stream.version(frame.number)
                await say(frame.kind, frame.text, version)
            if (frame is not None and frame.kind == "snapshot") or (frame is None and not listener.wants_whole):
                await say("beat", encode({"now": round(self._now(), 1)}))  # a whole may be as old as its last change

    async def _whole(self, listener: StreamListener) -> Frame:
        """Or why there is none. When there is one again, every listener wants it."""
        try:
            frame = await self._stream.current()
        except (AtmError, OSError, TimeoutError) as error:
            frame = Frame("gone", 0, encode({"error": str(error)}))
        listener.begin()  # with nothing awaited since: what comes from now on is new to it
        return frame


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
