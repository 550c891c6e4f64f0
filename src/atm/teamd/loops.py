"""
Loops: something that is done again and again, with a period, a bound, some jitter and a health record.

The work itself is synchronous and runs in a thread of its own. One that takes longer than its bound is reported as
stuck and waited for; it is never started a second time beside itself, and it keeps nobody else waiting. A failure is
counted and makes the pauses longer; it never ends the loop.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

AT_ONCE, SHORT = 1, 0.05
"""So much work begins together, for so many seconds: Python runs one thread at a time, and ten that fight for their
turn take twice as long, each and together."""

LONGEST_BACKOFF = 8
"""Times the period, after failures in a row."""

IDLE, RUNNING, STUCK, STOPPED = "idle", "running", "stuck", "stopped"


class Door(asyncio.Semaphore):
    """Which all work of a process passes as it begins; the next may come when it is done, or takes long."""

    def __init__(self, width: int = AT_ONCE) -> None:
        super().__init__(width)

    async def begin(self, work: Callable[[], Any]) -> asyncio.Future[Any]:
        """When its turn has come, in a thread."""
        await self.acquire()
        try:
            running = in_thread(work)
        except RuntimeError:  # the system gives no more threads
            self.release()
            raise
        self.open_after(running)
        return running

    def open_after(self, running: asyncio.Future[Any]) -> None:
        """Whoever takes long waits for something, and not for Python."""
        is_open = False

        def let_in(*_: object) -> None:
            nonlocal is_open
            if not is_open:
                is_open = True
                self.release()

        running.add_done_callback(let_in)
        asyncio.get_running_loop().call_later(SHORT, let_in)


@dataclass
class LoopHealth:
    """How a loop has fared. Times are seconds of a clock that nobody can set."""

    state: str = IDLE
    runs: int = 0
    failures: int = 0
    failures_in_a_row: int = 0
    done: int = 0
    began: float | None = None
    last_seconds: float | None = None
    last_error: str = ""
    next_at: float | None = None


@dataclass
class Loop:
    """One loop of the daemon. `work` says how many things it did."""

    name: str
    work: Callable[[], int | None]
    period: float
    bound: float = 60.0
    jitter: float = 0.1
    gathering: float = 0.0
    """Seconds between what wakes it and its work: whoever caused that has its answer first, and what comes meanwhile is
    part of the same round."""
    door: Door | None = None
    """Work that others wait for has a part in it too."""
    observe: Callable[[str, float, float, bool], None] = lambda *_: None
    """Told of every round: the loop, when it began and ended (seconds since 1970), and whether it went well."""
    health: LoopHealth = field(default_factory=LoopHealth)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _soon: float | None = None

    def wake(self) -> None:
        """Something happened: do not wait for the period. Called in the daemon's own thread."""
        self._woken.set()

    def again_in(self, seconds: float) -> None:
        """The round that runs could not do everything: begin the next one so soon after it. Called in its thread."""
        self._soon = seconds

    def facts(self) -> dict[str, Any]:
        """As plain data, for whoever asks."""
        health, now = self.health, time.monotonic()
        return {
            "name": self.name,
            "state": health.state,
            "period": self.period,
            "bound": self.bound,
            "runs": health.runs,
            "done": health.done,
            "failures": health.failures,
            "last_seconds": None if health.last_seconds is None else round(health.last_seconds, 4),
            "last_error": health.last_error,
            "ago": None if health.began is None else round(now - health.began, 1),
            "next_in": None if health.next_at is None else round(max(0.0, health.next_at - now), 1),
        }

    async def run(self, stop: asyncio.Event, report: Callable[[str, str], None], chance: Callable[[], float]) -> None:
        """Until told to stop."""
        while not stop.is_set():
            await self._once(stop, report)
            await self._pause(stop, chance())
        if self.health.state != STUCK:
            self.health.state = STOPPED

    async def _once(self, stop: asyncio.Event, report: Callable[[str, str], None]) -> None:
        health, began, failures = self.health, time.monotonic(), self.health.failures
        health.state, health.began, health.next_at = RUNNING, began, None
        done = await self._work(stop, report)
        health.runs += 1
        health.done += done or 0
        health.last_seconds = time.monotonic() - began
        now = time.time()
        self.observe(self.name, now - health.last_seconds, now, health.failures == failures)

    async def _work(self, stop: asyncio.Event, report: Callable[[str, str], None]) -> int | None:
        """One round in a thread. One that is stuck is waited for, but not by a daemon that ends."""
        try:
            running = in_thread(self.work) if self.door is None else await self.door.begin(self.work)
            await asyncio.wait([running], timeout=self.bound)
            if not running.done():
                self.health.state = STUCK
                report("error", f"it takes longer than {self.bound:g} s")
                await either(running, stop)
            done: int | None = running.result() if running.done() else None
        except Exception as error:  # noqa: BLE001 - one bad round must not end the loop
            self._failed(error, report)
            done = None
        else:
            if not running.done():
                return None  # and the state says so
            self.health.failures_in_a_row = 0
        self.health.state = IDLE
        return done

    def _failed(self, error: Exception, report: Callable[[str, str], None]) -> None:
        health = self.health
        health.failures += 1
        health.failures_in_a_row += 1
        health.last_error = f"{type(error).__name__}: {error}"[:500]
        report("error", health.last_error)

    async def _pause(self, stop: asyncio.Event, fraction: float) -> None:
        """Until the period is over, an event or a client wakes us, or the daemon stops."""
        factor = min(2**self.health.failures_in_a_row, LONGEST_BACKOFF)
        pause = self.period * factor * (1 + self.jitter * (2 * fraction - 1))
        soon, self._soon = self._soon, None
        pause = pause if soon is None else min(pause, soon)
        self.health.next_at = time.monotonic() + pause
        waits = {asyncio.ensure_future(self._woken.wait()), asyncio.ensure_future(stop.wait())}
        await asyncio.wait(waits, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
        for waiting in waits:
            waiting.cancel()
        if self.gathering and self._woken.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(self.gathering):
                    await stop.wait()
        self._woken.clear()


async def either(running: asyncio.Future[Any], stop: asyncio.Event) -> None:
    """Until something is done, or everything ends."""
    stopping: asyncio.Future[Any] = asyncio.ensure_future(stop.wait())
    await asyncio.wait([running, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()


def in_thread(work: Callable[[], Any]) -> asyncio.Future[Any]:
    """
    Run something in a thread of its own.

    Not in a pool: a thread that hangs would take a place in it for good, and would keep the process from ending.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def run() -> None:
        try:
            result = work()
        except (StopIteration, asyncio.CancelledError) as error:  # these mean something else to whoever waits
            _settle(loop, future, None, RuntimeError(f"{type(error).__name__}: {error}"))
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            _settle(loop, future, None, error)
        except BaseException as error:  # noqa: BLE001 - an exit in a thread ends the thread, and not the daemon
            _settle(loop, future, None, RuntimeError(f"{type(error).__name__}: {error}"))
        else:
            _settle(loop, future, result, None)

    threading.Thread(target=run, daemon=True, name=f"atm {getattr(work, '__name__', 'work')}").start()
    return future


def _settle(
    loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any], result: Any, error: BaseException | None
) -> None:
    def settle() -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)

    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:
        return  # the daemon has ended meanwhile; nobody waits any more
