"""
Events for plugins that may not hear all of them: who works where is looked up in a thread, in batches, in their order.

The host's loop never waits for a roster. What comes in during a look is decided by the next one, so that each event is
decided by a roster at least as new as itself, and a storm of events costs one look at each team.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from atm.core.errors import AtmError, NoSuchTeam
from atm.events.rules import TEAM_GONE, TeamEvent
from atm.plugins.rules.sight import PluginScope, Workplace
from atm.teamd.plugins.sight import Fence, Workplaces

T = TypeVar("T")
Tell = Callable[[TeamEvent, tuple[Workplace, ...]], None]


class Lookout:
    """Its methods are called in the event loop's own thread; looking happens in one thread, one look at a time."""

    def __init__(
        self,
        workplaces: Workplaces,
        *,
        tell: Tell,
        miss: Callable[[], None],
        most: int,
        complain: Callable[[str], None],
    ) -> None:
        self._workplaces = workplaces
        self._complain = complain
        self._tell = tell
        self._miss = miss
        self._most = most
        self._waiting: deque[TeamEvent] = deque()
        self._some = asyncio.Event()
        self._last: dict[str, tuple[Workplace, ...]] = {}
        """As each team was when it was last looked at: whoever saw it hears that it is gone."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="atm-lookout")
        self._working: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._working = asyncio.create_task(self._work())

    def close(self) -> None:
        if self._working is not None:
            self._working.cancel()
        self._thread.shutdown(wait=False)

    def consider(self, event: TeamEvent) -> None:
        """Tell it once it is known who works in its team. If looking takes for ever, the oldest are dropped."""
        self._waiting.append(event)
        if len(self._waiting) > self._most:
            self._waiting.popleft()
            self._miss()
        self._some.set()

    async def sees(self, scope: PluginScope, team: str) -> bool:
        return await self._in_thread(lambda: Fence(scope, self._workplaces).sees(team))

    async def _work(self) -> None:
        await self._in_thread(self._look_at_all)
        while True:
            await self._some.wait()
            self._some.clear()
            try:
                await self._decide()
            except Exception as error:  # noqa: BLE001 - the edge of a loop: one odd event must not end it
                self._complain(f"an event could not be told: {type(error).__name__}: {error}")

    async def _decide(self) -> None:
        batch = [*self._waiting]
        self._waiting.clear()
        found = await self._in_thread(lambda: self._look({event.team for event in batch if event.team}))
        for event in batch:
            here = found.get(event.team, ())
            last = self._last.pop(event.team, ()) if event.kind == TEAM_GONE and here is None else ()
            self._tell(event, last if here is None else here)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _look_at_all(self) -> None:
        try:
            self._look(self._workplaces.rosters.teams())
        except AtmError:
            return  # then what is there will be seen when something happens in it

    def _look(self, teams: Iterable[str]) -> dict[str, tuple[Workplace, ...] | None]:
        """Who works where; None for a team that is not there any more. What cannot be read is nobody's."""
        found: dict[str, tuple[Workplace, ...] | None] = {}
        for team in teams:
            try:
                found[team] = self._last[team] = self._workplaces.of(team)
            except NoSuchTeam:
                found[team] = None
            except AtmError:
                found[team] = ()
        return found
