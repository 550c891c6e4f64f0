"""Tools run in threads: services are synchronous. So many at once and so long, for all clients and for each."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from typing import Any

from atm.core.errors import AtmError
from atm.teamd.loops import Door, in_thread
from atm.ui.mcp.serving.lasting import Lasting

SECONDS = 60.0
LASTING_SECONDS = 50.0
"""After which whoever waits for work that lasts is told that it goes on: before their client gives up."""

MOST_THREADS = 64
"""Of all clients, at work."""

MOST_WAITING = 128
"""Of all clients, waiting for a member's answer most of a minute; they must not keep those out who work."""

MOST_FOR_ONE = 8
"""Of one client."""


class TooSlow(AtmError):
    """It did not come to its end in time, or its turn did not come."""

    code = "too-slow"


class TooManyCalls(AtmError):
    """Everybody is at work already."""

    code = "busy"


class Workers:
    """Places for calls. One that hangs keeps its place, and nothing else."""

    def __init__(
        self,
        most: int = MOST_THREADS,
        seconds: float = SECONDS,
        most_waiting: int = MOST_WAITING,
        door: Door | None = None,
    ) -> None:
        self._free = asyncio.Semaphore(most)
        self._benches = asyncio.Semaphore(most_waiting)
        self._door = door or Door()
        self._seconds = seconds
        self._lasting = Lasting()

    async def run(
        self,
        work: Callable[[], Any],
        turns: asyncio.Semaphore | None = None,
        unheard: Callable[[Any], None] | None = None,
        *,
        waits: bool = False,
    ) -> Any:
        """
        What `work` gives. `turns` are those of one client. Work that `waits` has places of its own.

        Raises TooSlow when the time is over: what was begun goes on to its end in its thread, because half of it
        would be worse, and whoever asked is told so. A result that nobody waits for any more goes to `unheard`, in a
        thread.
        """
        places = [*([turns] if turns is not None else []), self._benches if waits else self._free]
        end = asyncio.get_running_loop().time() + self._seconds
        await self._take([*places, self._door], end)
        running = self._begin(work, places)
        self._door.open_after(running)
        try:
            await asyncio.wait([running], timeout=end - asyncio.get_running_loop().time())
        except asyncio.CancelledError:
            _hand_over(running, unheard)
            raise
        if running.done():
            return running.result()
        _hand_over(running, unheard)
        raise TooSlow(
            f"it takes longer than {self._seconds:g} s and goes on without you",
            "look whether it was done before you ask again",
        )

    async def run_lasting(self, key: Hashable, work: Callable[[], Any], turns: asyncio.Semaphore) -> Any:
        """
        What `work` gives; None if it goes on. Whoever calls again with the same key then waits for the same work.

        It goes on too when whoever asked gives up.
        """
        end = asyncio.get_running_loop().time() + min(LASTING_SECONDS, self._seconds)
        running = self._lasting.find(key)
        if running is None:
            places = [turns, self._free]
            await self._take([*places, self._door], end)
            running = self._lasting.find(key)  # somebody may have begun it while we waited for our turn
            if running is None:
                running = self._begin(work, places)
                self._door.open_after(running)
                self._lasting.keep(key, running)
            else:
                _free([*places, self._door])
        await asyncio.wait([running], timeout=max(0.0, end - asyncio.get_running_loop().time()))
        if not running.done():
            return None
        self._lasting.told(key)
        return running.result()

    def _begin(self, work: Callable[[], Any], places: list[asyncio.Semaphore]) -> asyncio.Future[Any]:
        try:
            running = in_thread(work)
        except RuntimeError:  # the system gives no more threads
            _free([*places, self._door])
            raise TooManyCalls("there is no thread left for this", "ask again in a moment") from None
        running.add_done_callback(lambda done: _leave(done, places))
        return running

    async def _take(self, places: list[asyncio.Semaphore], end: float) -> None:
        taken: list[asyncio.Semaphore] = []
        try:
            async with asyncio.timeout_at(end):
                for place in places:
                    await place.acquire()
                    taken.append(place)
        except BaseException as error:
            _free(taken)
            if isinstance(error, TimeoutError):
                raise TooManyCalls("too many calls are under way", "wait for their answers, then ask again") from None
            raise


def _leave(done: asyncio.Future[Any], places: list[asyncio.Semaphore]) -> None:
    _free(places)
    if not done.cancelled():
        done.exception()  # said to whoever still waits; if nobody does, it is no surprise to asyncio


def _hand_over(running: asyncio.Future[Any], unheard: Callable[[Any], None] | None) -> None:
    def settled(done: asyncio.Future[Any]) -> None:
        if unheard is not None and not done.cancelled() and done.exception() is None:
            result = done.result()
            in_thread(lambda: unheard(result)).add_done_callback(lambda told: told.exception())

    running.add_done_callback(settled)


def _free(places: list[asyncio.Semaphore]) -> None:
    for place in places:
        place.release()
