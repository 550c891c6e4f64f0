"""
The host of plugins: one instance for each plugin that the settings of a place enable.

It runs in the daemon's event loop. Nothing that a plugin does can block, end or fill this process: each lives in a
process of its own, and what it says is bounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from atm.events.rules import TeamEvent
from atm.files.adapters.machine import RealChance, RealClock
from atm.files.formats.layout import Layout
from atm.files.ports.clock import Chance, Clock
from atm.plugins.rules.sight import Workplace, may_hear
from atm.teamd.places import Place
from atm.teamd.plugins.discovery import Found, command, discover
from atm.teamd.plugins.host.instance import PluginInstance, PluginLog, Surroundings
from atm.teamd.plugins.host.lookout import Lookout
from atm.teamd.plugins.host.member_book import Played
from atm.teamd.plugins.host.member_care import MemberCare
from atm.teamd.plugins.host.run import Spawn
from atm.teamd.plugins.sight import Workplaces
from atm.teamd.plugins.spec import Bounds, Spec, wanted
from atm.wiring.mail import build_room

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

SETTLE_EVERY = 30.0


class PluginHost:
    """
    All plugins of this machine. Its methods are called in the event loop's own thread.

    `log` gets (level, source, text, **fields), the source being `plugin:NAME`; `publish` the events of plugins.
    """

    def __init__(
        self,
        places: Iterable[Place],
        *,
        layout: Layout,
        environment: Mapping[str, str],
        log: PluginLog,
        publish: Callable[[TeamEvent], None],
        bounds: Bounds | None = None,
        clock: Clock | None = None,
        chance: Chance | None = None,
        find: Callable[[], list[Found]] = discover,
    ) -> None:
        self.places = list(places)
        self._find = find
        self._log = log
        self._care = MemberCare(layout)
        bounds, clock = bounds or Bounds(), clock or RealClock()
        self._lookout = Lookout(
            Workplaces(build_room(layout).rosters, clock.monotonic),
            tell=self._tell_repositories,
            miss=self._miss_one,
            most=bounds.most_events,
            complain=lambda text: log("error", "plugins", text),
        )
        self._around = Surroundings(
            spawn=Spawn(layout, environment, command()),
            bounds=bounds,
            log=log,
            publish=publish,
            clock=clock,
            chance=chance or RealChance(),
            care=self._care,
            played_elsewhere=self._played_elsewhere,
            sees=self._lookout.sees,
        )
        self._instances: dict[tuple[str, str], PluginInstance] = {}
        self._changing = asyncio.Lock()
        self._settling: asyncio.Task[None] | None = None
        self._is_open = True

    async def start(self) -> None:
        """Clean up after a daemon that was killed, then start what is enabled."""
        async with self._changing:
            for problem in await self._care.sweep():
                self._log("warn", "plugins", problem)
            for spec in (await self._wanted()).values():
                self._begin(spec)
            self._settling = asyncio.create_task(self._settle())
            self._lookout.start()

    async def stop(self, seconds: float) -> list[str]:
        """Ask all to shut down and kill what does not within so many seconds; the names of those killed."""
        async with self._changing:
            if not self._is_open:
                return []
            self._is_open = False
            if self._settling is not None:
                self._settling.cancel()
            instances = list(self._instances.values())
            killed = await asyncio.gather(*(one.stop(seconds, for_good=False) for one in instances))
            self._care.close()
            self._lookout.close()
        return sorted({one.spec.plugin for one, was_killed in zip(instances, killed, strict=True) if was_killed})

    async def reload(self, places: Iterable[Place]) -> None:
        """Start, stop and restart exactly what the new settings, or newly installed plugins, change."""
        async with self._changing:
            if not self._is_open:
                return
            self.places = list(places)
            specs = await self._wanted()
            former = {key: one.spec for key, one in self._instances.items()}
            gone = [key for key in former if key not in specs]
            changed = [key for key, spec in specs.items() if key in former and former[key] != spec]
            within = self._around.bounds.stop_within * 2 + 1
            await asyncio.gather(
                *(self._instances[key].stop(within, for_good=True) for key in gone),
                *(self._instances[key].stop(within, for_good=False) for key in changed),
            )
            for key in gone:
                del self._instances[key]
            for key, spec in specs.items():
                if key in changed or key not in former:
                    self._begin(spec)

    def publish(self, event: TeamEvent) -> None:
        """Tell those who listen and may. Never waits: a slow listener misses events, and is told how many."""
        for instance in self._instances.values():
            if instance.scope.repo is None and may_hear(instance.scope, event.team, None, ()):
                instance.tell(event)
        if any(instance.scope.repo is not None for instance in self._instances.values()):
            self._lookout.consider(event)

    def _tell_repositories(self, event: TeamEvent, workplaces: tuple[Workplace, ...]) -> None:
        """Plugins of repositories hear of the teams that work there: decided here, not in their own processes."""
        for instance in self._instances.values():
            scope, about = instance.scope, event.detail.get("place")
            if scope.repo is not None and may_hear(scope, event.team, about, workplaces):
                instance.tell(event)

    def _miss_one(self) -> None:
        for instance in self._instances.values():
            if instance.scope.repo is not None:
                instance.miss()

    def states(self) -> list[dict[str, Plain]]:
        """How every plugin fares, as plain data."""
        return [self._instances[key].state() for key in sorted(self._instances)]

    async def _wanted(self) -> dict[tuple[str, str], Spec]:
        """Looking for entry points reads many small files: only where somebody wants a plugin."""
        found = await asyncio.to_thread(self._find) if any(place.enabled() for place in self.places) else []
        return wanted(self.places, found)

    def _begin(self, spec: Spec) -> None:
        instance = PluginInstance(spec, self._around)
        self._instances[spec.key] = instance
        instance.start()

    def _played_elsewhere(self, spec: Spec) -> set[Played]:
        others = [one for key, one in self._instances.items() if key != spec.key and key[0] == spec.plugin]
        return {played for one in others for played in one.members}

    async def _settle(self) -> None:
        while True:
            await asyncio.sleep(SETTLE_EVERY)
            for instance in self._instances.values():
                instance.settle()
