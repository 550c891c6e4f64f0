"""
From changed files to events, at once and without looking at a clock: the system wakes us, we read what changed.

Reading happens in a thread, one batch at a time; what changes meanwhile makes the next batch, each file once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from atm.core.errors import AtmError
from atm.events.adapters.tree_watch import Touched, TreeWatch
from atm.events.services import SETTLING, TeamEvents
from atm.teamd.loops import Door, in_thread

if TYPE_CHECKING:
    from atm.events.rules import TeamEvent

LOOK_EVERY = 1.0
"""Seconds, where the system does not tell."""


class Watcher:
    """Turns what the watch tells into events, and lets the loops know."""

    def __init__(
        self,
        tree: TreeWatch,
        events: TeamEvents,
        publish: Callable[[TeamEvent], None],
        react: Callable[[Touched], None],
        log: Callable[..., None],
        on_ready: Callable[[], None] = lambda: None,
        door: Door | None = None,
    ) -> None:
        self.tree = tree
        self._events = events
        self._publish = publish
        self._on_ready = on_ready
        self._react = react
        self._door = door or Door()
        self._log = log
        self._waiting: dict[Touched, None] = {}
        self._some = asyncio.Event()
        self._problems: set[str] = set()
        self.batches = 0

    async def run(self, stop: asyncio.Event) -> None:
        """Until told to stop."""
        loop = asyncio.get_running_loop()
        fd = self.tree.fileno()
        if fd is not None:
            loop.add_reader(fd, lambda: self._take(self.tree.collect()))
        looking = asyncio.ensure_future(self._look(stop))
        try:
            await in_thread(self._events.prime)
            self._on_ready()
            while not stop.is_set():
                await self._wait(stop)
                await self._read()
        finally:
            looking.cancel()
            if fd is not None:
                loop.remove_reader(fd)

    async def _look(self, stop: asyncio.Event) -> None:
        """Where the system does not tell everything, look once a second; and once a minute for when it begins to."""
        while not stop.is_set():
            await asyncio.sleep(LOOK_EVERY if not self.tree.native else 60 * LOOK_EVERY)
            if not self.tree.native:
                self._take(await in_thread(self.tree.collect))

    def _take(self, touched: Iterable[Touched]) -> None:
        for one in touched:
            self._waiting[one] = None
            self._react(one)
        if self._waiting:
            self._some.set()

    async def _wait(self, stop: asyncio.Event) -> None:
        waits = [asyncio.ensure_future(self._some.wait()), asyncio.ensure_future(stop.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for waiting in waits:
            waiting.cancel()
        self._some.clear()

    async def _read(self) -> None:
        batch = list(self._waiting)
        self._waiting.clear()
        if not batch:
            return
        self.batches += 1
        for event in await (await self._door.begin(lambda: self._events_of(batch))):
            self._publish(event)
        self._say_problems()
        for team in self._events.unsettled:
            asyncio.get_running_loop().call_later(SETTLING, self._take, [Touched("rescan", team)])

    def _say_problems(self) -> None:
        """Each once, for as long as it lasts."""
        now = set(self._events.problems)
        for problem in sorted(now - self._problems):
            self._log("warn", "watch", problem)
        self._problems = now

    def _events_of(self, batch: list[Touched]) -> list[TeamEvent]:
        found: list[TeamEvent] = []
        for touched in batch:
            try:
                found += self._about(touched)
            except AtmError as error:  # a file that cannot be read now will be touched again
                self._log("debug", "watch", str(error))
            except Exception as error:  # noqa: BLE001 - one odd file must not end the watch over all others
                self._log("error", "watch", f"unexpected {type(error).__name__}: {error}", team=touched.team)
        return found

    def _about(self, touched: Touched) -> list[TeamEvent]:
        team, name, events = touched.team, touched.name, self._events
        match touched.kind:
            case "inbox" if name:
                return events.inbox(team, name)
            case "tasks" if team:
                return events.tasks(team)
            case "roster" if team:
                return events.roster(team)
            case "teams":
                return events.teams()
            case "rescan":
                return events.everything(team or None)
        return []
