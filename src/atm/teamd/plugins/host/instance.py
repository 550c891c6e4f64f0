"""
One plugin in one place: started, started again after pauses that grow, stopped when asked.

The rules of when are in `plugins.rules.health`; the process is `plugin_run`'s business. This keeps the two together,
and sees to it that the members which the plugin played are gone when its process is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from atm.core.names import same_name
from atm.events.rules import MESSAGE_WRITTEN, PLUGIN_STATE, TeamEvent
from atm.files.ports.clock import Chance, Clock
from atm.plugins.rules import health as plugin_health
from atm.plugins.rules.health import DISABLED, RUN, RUNNING, PluginHealth
from atm.plugins.rules.sight import PluginScope
from atm.teamd.plugins.api import Capability
from atm.teamd.plugins.host.member_book import Played
from atm.teamd.plugins.host.member_care import MemberCare
from atm.teamd.plugins.host.run import Ears, PluginRun, RunOutcome, Spawn
from atm.teamd.plugins.sight import refusal, scope_of
from atm.teamd.plugins.spec import Bounds, Spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain


class PluginLog(Protocol):
    """A line in the daemon's log."""

    def __call__(self, level: str, source: str, text: str, **fields: Any) -> None: ...


SECONDS_TO_RETIRE = 6.0
"""A little longer than a writer waits for a lock."""

TAKEN = ("level", "source", "text")
"""Names that a field of a plugin may not have: they get an underscore."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all instances share."""

    spawn: Spawn
    bounds: Bounds
    log: PluginLog
    publish: Callable[[TeamEvent], None]
    clock: Clock
    chance: Chance
    care: MemberCare
    played_elsewhere: Callable[[Spec], set[Played]]
    """Whom other instances of the same plugin play at this moment."""
    sees: Callable[[PluginScope, str], Awaitable[bool]]
    """May a plugin see a team, by its roster as it is now?"""


class PluginInstance:
    """One plugin in one place, for as long as the settings want it."""

    def __init__(self, spec: Spec, around: Surroundings) -> None:
        self.spec = spec
        self.scope = scope_of(spec.plugin, spec.repo, spec.config)
        self._around = around
        self._health = PluginHealth(since=around.clock.monotonic())
        self._stop = asyncio.Event()
        self._stop_by = 0.0
        self._run: PluginRun | None = None
        self._task: asyncio.Task[None] | None = None
        self._dropped = 0
        self._was_killed = False
        self.members: set[Played] = set()

    def start(self) -> None:
        self._task = asyncio.create_task(self._keep())

    async def stop(self, seconds: float, *, for_good: bool) -> bool:
        """Ask it to end and see to it that it does; True if it had to be killed."""
        self._stop_by = self._around.clock.monotonic() + seconds
        self._stop.set()
        if self._task is not None:
            await self._task
        await self._retire_members(keep_inbox=not for_good)
        if self._health.state != DISABLED:
            self._become(plugin_health.stopped(self._health, self._now()))
        return self._was_killed

    def tell(self, event: TeamEvent) -> None:
        """Something happened that it may hear of: an event for a listener, perhaps mail for one of its members."""
        run = self._run
        if run is None or not run.is_ready:
            return
        if run.may(Capability.EVENT_LISTENER):
            run.outbox.offer(event)
        if event.kind == MESSAGE_WRITTEN and any(
            same_name(team, event.team) and same_name(name, event.subject) for team, name in self.members
        ):
            run.hint_mail()

    def miss(self) -> None:
        """Something happened that it might have heard of."""
        if self._run is not None and self._run.is_ready:
            self._run.outbox.miss()

    def state(self) -> dict[str, Plain]:
        """Plain data, for people and programs."""
        health, now, wall = self._health, self._now(), self._around.clock.now()
        run = self._run
        return {
            "name": self.spec.plugin,
            "place": self.spec.place,
            "state": health.state,
            "since": wall - (now - health.since),
            "retry_at": None if health.retry_at is None else wall + (health.retry_at - now),
            "pid": run.pid if run is not None else None,
            "restarts": health.restarts,
            "last_error": health.last_error,
            "rss": run.resident if run is not None else None,
            "dropped": self._dropped + (run.outbox.dropped if run is not None else 0),
            "members": [*sorted(f"{name}@{team}" for team, name in self.members)],
        }

    # Its life.

    async def _keep(self) -> None:
        if self.spec.problem:
            self._become(plugin_health.disabled(self._health, self._now(), self.spec.problem))
            return
        while not self._stop.is_set():
            try:
                await self._run_once()
            except Exception as error:  # noqa: BLE001 - the edge of a loop: our own mistakes must not end it either
                self._conclude(RunOutcome(RUN, f"the host failed: {type(error).__name__}: {error}"))
            if self._health.retry_at is None:
                return
            await self._retire_members(keep_inbox=True)
            await self._pause(self._health.retry_at - self._now())

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stop.wait(), max(0.0, seconds))
        except TimeoutError:
            return

    async def _run_once(self) -> None:
        around = self._around
        self._become(plugin_health.started(self._health, self._now()))
        ears = Ears(log=self._log, ready=self._become_ready, enter=self._enter, strike=self._strike)
        run = PluginRun(self.spec, around.bounds, around.chance.new_id(), around.clock, ears)
        self._run = run
        try:
            outcome = await run.go(around.spawn, self._stop, lambda: max(0.0, self._stop_by - self._now()))
        finally:
            self._dropped += run.outbox.dropped
            self._run = None
        self._was_killed = outcome.was_killed
        self._conclude(outcome)

    def _conclude(self, outcome: RunOutcome) -> None:
        now = self._now()
        if self._stop.is_set():
            self._become(plugin_health.stopped(self._health, now))
        elif outcome.disabled:
            self._log("warn", f"it is of no use here: {outcome.disabled}", {})
            self._become(plugin_health.disabled(self._health, now, outcome.disabled))
        else:
            self._log("error", f"it failed: {outcome.error}", {"phase": outcome.phase})
            policy, chance = self._around.bounds.policy, self._around.chance.fraction()
            self._become(plugin_health.failed(self._health, now, outcome.error, outcome.phase, policy, chance))

    def _become_ready(self) -> None:
        self._become(plugin_health.ready(self._health, self._now()))

    def settle(self) -> None:
        """Forget old failures of a plugin that runs well; called now and then."""
        self._health = plugin_health.settled(self._health, self._now(), self._around.bounds.policy)

    def _become(self, health: PluginHealth) -> None:
        changed = health.state != self._health.state
        self._health = health
        if changed:
            level = "info" if health.state in (RUNNING, plugin_health.STARTING, plugin_health.STOPPED) else "warn"
            self._log(level, f"it is {health.state}", {"state": health.state})
            detail = {"place": self.spec.place, "state": health.state, "error": health.last_error}
            at = self._around.clock.now()
            self._around.publish(TeamEvent(PLUGIN_STATE, "", self.spec.plugin, at, {**detail}))

    # Its members.

    async def _enter(self, team: str, name: str) -> None:
        """Raises PluginError for a team that it may not see: what its own process believes does not count here."""
        if not await self._around.sees(self.scope, team):
            raise refusal(self.scope, team)
        await self._around.care.enter(*self.spec.key, (team, name))
        self.members.add((team, name))

    async def _strike(self, team: str, name: str) -> None:
        self.members.discard((team, name))
        await self._around.care.strike(*self.spec.key, (team, name))

    async def _retire_members(self, *, keep_inbox: bool) -> None:
        elsewhere = self._around.played_elsewhere(self.spec)
        retiring = self._around.care.retire(*self.spec.key, keep_inbox=keep_inbox, still_played=elsewhere)
        try:
            problems = await asyncio.wait_for(retiring, SECONDS_TO_RETIRE)
        except TimeoutError:  # another process holds the roster; whoever is left is in the book
            problems = ["its members could not be taken off their rosters yet"]
        for problem in problems:
            self._log("warn", problem, {})
        self.members.clear()

    def _log(self, level: str, text: str, fields: Mapping[str, object]) -> None:
        where = {"place": self.spec.place} if self.spec.repo else {}
        named = {f"{key}_" if key in TAKEN else key: value for key, value in {**where, **fields}.items()}
        self._around.log(level, f"plugin:{self.spec.plugin}", text, **named)

    def _now(self) -> float:
        return self._around.clock.monotonic()
