"""
A team as it changes, for everybody who looks at it: read once, told to all.

One thread looks while somebody listens. Each change has a number and is kept for a while, so that whoever was cut off
goes on where it stopped; who was away too long, or reads too slowly, gets the whole instead of what it missed.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from atm.core.errors import AtmError
from atm.files.formats.json_record import encode
from atm.teamd.loops import in_thread
from atm.ui.faces.looking import looks
from atm.ui.web.whole import change_between

if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.files.formats.layout import Layout
    from atm.ui.web.whole import Whole

MOST_KEPT = 256
MOST_KEPT_BYTES = 8 << 20
MOST_WAITING = 64
"""Changes that a listener may be behind."""
SHARE = 4
"""A look is followed by a rest of so many times its length: a large team that never rests leaves room for others."""
LEAST_REST = 0.1
FIRST_SECONDS = 30.0


class Frame:
    """One server-sent event."""

    __slots__ = ("kind", "number", "text")

    def __init__(self, kind: str, number: int, text: str) -> None:
        self.kind, self.number, self.text = kind, number, text


class StreamListener:
    """One who listens: a line of bounded length, or the wish for the whole."""

    def __init__(self) -> None:
        self._waiting: deque[Frame] = deque()
        self._news = asyncio.Event()
        self.wants_whole = False

    def offer(self, frame: Frame) -> None:
        if len(self._waiting) >= MOST_WAITING:
            self.miss()
        elif not self.wants_whole:
            self._waiting.append(frame)
        self._news.set()

    def begin(self) -> None:
        self._waiting.clear()
        self.wants_whole = False

    def miss(self) -> None:
        """What waits is worth nothing without what is missing."""
        self._waiting.clear()
        self.wants_whole = True
        self._news.set()

    async def next(self, seconds: float) -> Frame | None:
        """None if nothing came for so long, or the whole is wanted."""
        if not self._waiting and not self.wants_whole:
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), seconds)
            except TimeoutError:
                return None
        return self._waiting.popleft() if self._waiting else None


class TeamStream:
    """One team."""

    def __init__(self, layout: Layout, team: str, look: Callable[[], Whole], run: str) -> None:
        self.team = team
        self._layout = layout
        self._look = look
        self._run = run
        """Of the server: numbers of another one mean nothing here."""
        self._loop = asyncio.get_running_loop()
        self._listeners: set[StreamListener] = set()
        self._kept: deque[Frame] = deque()
        self._kept_bytes = 0
        self._number = 0
        self._whole: Whole | None = None
        self._trouble: AtmError | OSError | None = None
        self._first = asyncio.Event()
        self._thread: threading.Thread | None = None
        self._turn = threading.Lock()
        """What was seen is taken in the order in which it was looked at."""
        self._begins = asyncio.Lock()
        self._next: asyncio.Task[None] | None = None
        """A look for those who asked, which has not begun."""

    # For whoever asks.

    async def whole(self) -> str:
        """
        As JSON, with its version. Raises AtmError or OSError if the team cannot be read.

        It is looked at once more, even if it is watched: whoever has just done something asks what came of it. All who
        ask before a look begins share it.
        """
        if self._next is None:
            self._next = asyncio.create_task(self._look_for_all())
        await asyncio.wait_for(asyncio.shield(self._next), FIRST_SECONDS)
        return (await self.current()).text

    async def _look_for_all(self) -> None:
        async with self._begins:
            self._next = None
            await in_thread(self._look_once)

    async def current(self) -> Frame:
        await asyncio.wait_for(self._first.wait(), FIRST_SECONDS)
        if self._whole is None:
            assert self._trouble is not None
            raise self._trouble
        return Frame("snapshot", self._number, encode({"version": self.version(self._number), **self._whole}))

    def listen(self) -> StreamListener:
        listener = StreamListener()
        self._listeners.add(listener)
        if self._thread is None:
            self._start()
        return listener

    def leave(self, listener: StreamListener) -> None:
        self._listeners.discard(listener)

    def resume(self, listener: StreamListener, version: str) -> None:
        """Give it what came after a version, or the whole: after the first look, and before anything is awaited."""
        listener.begin()
        known = [frame.number for frame in self._kept]
        run, _, number = version.rpartition("-")
        is_known = run == self._run and number.isascii() and number.isdecimal()
        at = int(number) if is_known else -1
        if at == self._number or (known and known[0] - 1 <= at < self._number):
            for frame in self._kept:
                if frame.number > at:
                    listener.offer(frame)
        else:
            listener.miss()

    def version(self, number: int) -> str:
        return f"{self._run}-{number}"

    @property
    def is_idle(self) -> bool:
        return not self._listeners

    # The thread that looks.

    def _start(self) -> None:
        self._first.clear()
        self._thread = threading.Thread(target=self._follow, daemon=True, name=f"atm page {self.team}")
        self._thread.start()

    def _follow(self) -> None:
        try:
            for _ in looks(self._layout, self.team, lambda: bool(self._listeners)):
                began = time.monotonic()
                self._look_once()
                time.sleep(max(LEAST_REST, SHARE * (time.monotonic() - began)))
        except RuntimeError:
            pass  # the loop is closed: the daemon has ended
        finally:
            try:
                self._loop.call_soon_threadsafe(self._rest)
            except RuntimeError:
                pass

    def _look_once(self) -> None:
        with self._turn:
            self._loop.call_soon_threadsafe(self._take, self._tried())

    def _tried(self) -> Whole | AtmError | OSError:
        try:
            return self._look()
        except (AtmError, OSError) as error:
            return error

    def _rest(self) -> None:
        """Nobody listened. Whoever came meanwhile gets another thread, which looks at once."""
        self._thread = None
        if self._listeners:
            self._start()

    def _take(self, found: Whole | AtmError | OSError) -> None:
        if isinstance(found, AtmError | OSError):
            is_news = self._whole is not None or str(found) != str(self._trouble)
            self._trouble, self._whole = found, None
            self._first.set()
            if is_news:
                self._tell(Frame("gone", self._number, encode({"error": str(found)})))
            return
        before, self._whole, self._trouble = self._whole, found, None
        self._first.set()
        if before is None:
            self._number += 1
            self._kept.clear()
            self._kept_bytes = 0
            for listener in self._listeners:
                listener.miss()
            return
        change = change_between(before, found)
        if change is None:
            self._whole = before  # what was told is what changes are made from
            return
        said = {"from": self.version(self._number), "version": self.version(self._number + 1), **change}
        self._number += 1
        self._keep(Frame("change", self._number, encode(said)))

    def _keep(self, frame: Frame) -> None:
        self._kept.append(frame)
        self._kept_bytes += len(frame.text)
        while len(self._kept) > MOST_KEPT or self._kept_bytes > MOST_KEPT_BYTES:
            self._kept_bytes -= len(self._kept.popleft().text)
        self._tell(frame)

    def _tell(self, frame: Frame) -> None:
        for listener in self._listeners:
            listener.offer(frame)
