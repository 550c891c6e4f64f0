"""
One run of one plugin's process, watched: ready in time, never silent for long, never too large, ended when asked.

The clock of every bound stands still while the host itself does: a host that was stopped for a minute does not take
its plugins for blocked.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from atm.daemon.adapters.process_facts import memory
from atm.events.rules import TeamEvent
from atm.files.formats.layout import Layout
from atm.files.ports.clock import Clock
from atm.plugins.rules.health import INIT, RUN
from atm.teamd.plugins import wire as words
from atm.teamd.plugins.api import Capability, PluginError
from atm.teamd.plugins.host.child import PluginChild
from atm.teamd.plugins.host.event_outbox import EventOutbox
from atm.teamd.plugins.spec import Bounds, Spec
from atm.teamd.plugins.wire import known_level, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

MEGABYTE = 1024 * 1024


@dataclass(slots=True)
class RunOutcome:
    """How a run ended."""

    phase: str = INIT
    error: str = ""
    disabled: str = ""
    """Why it finds itself of no use here."""
    was_killed: bool = False
    """It had to be: it did not end when it was asked to."""


@dataclass(frozen=True, slots=True)
class Spawn:
    """How processes of plugins are started."""

    layout: Layout
    environment: Mapping[str, str]
    command: list[str]


@dataclass(slots=True)
class Ears:
    """Whom a run tells what."""

    log: Callable[[str, str, Mapping[str, object]], None]
    ready: Callable[[], None]
    enter: Callable[[str, str], Awaitable[None]]
    strike: Callable[[str, str], Awaitable[None]]


class PluginRun:
    """From the start of the process to its end."""

    def __init__(self, spec: Spec, bounds: Bounds, mark: str, clock: Clock, ears: Ears) -> None:
        self._spec = spec
        self._bounds = bounds
        self._clock = clock
        self._ears = ears
        self._child = PluginChild(mark, self._hear, self._say)
        self._outcome = RunOutcome()
        self._has_said_end = False
        self._quiet = 0.0
        self._age = 0.0
        self._checked_at = clock.monotonic()
        self._asides: set[asyncio.Task[None]] = set()
        self.outbox = EventOutbox(self._send_event, bounds.most_events)
        self.capabilities: frozenset[str] = frozenset()
        self.is_ready = False
        self.resident: int | None = None

    @property
    def pid(self) -> int | None:
        return None if self._child.has_ended else self._child.pid

    def may(self, capability: Capability) -> bool:
        return capability.value in self.capabilities

    def hint_mail(self) -> None:
        self._child.send(words.MAIL, {})

    async def go(self, spawn: Spawn, stop: asyncio.Event, seconds_to_stop: Callable[[], float]) -> RunOutcome:
        """Run it until it ends, oversteps a bound, or `stop` is set."""
        bounds = self._bounds
        try:
            await self._child.start(spawn.command, spawn.environment, self._spec.root)
        except (OSError, ValueError) as error:
            self._outcome.error = f"its process could not be started: {error}"
            return self._outcome
        try:
            trouble = await self._accompany(spawn, stop, seconds_to_stop)
            await self._child.end(0.0 if stop.is_set() else bounds.kill_after)
        finally:  # whatever happens to us, no process is left
            code = await self._child.clear_up()
        return self._concluded(trouble, code)

    async def _accompany(self, spawn: Spawn, stop: asyncio.Event, seconds_to_stop: Callable[[], float]) -> str:
        self._checked_at = self._clock.monotonic()
        self._child.send(words.START, self._spec.order(spawn.layout, self._bounds).fields())
        trouble = await self._watch(stop)
        if stop.is_set() and not self._child.has_ended:
            self._child.send(words.STOP, {})
            self._outcome.was_killed = not await self._child.wait(seconds_to_stop())
        return trouble

    async def _watch(self, stop: asyncio.Event) -> str:
        """Why it has to be ended; empty if it ended by itself or was asked to."""
        stopping = asyncio.ensure_future(stop.wait())
        try:
            while True:
                ended = asyncio.ensure_future(self._child.wait(self._bounds.check_every))
                await asyncio.wait({ended, stopping}, return_when=asyncio.FIRST_COMPLETED)
                ended.cancel()
                if self._child.has_ended or stop.is_set():
                    return ""
                self.resident = memory(self._child.pid or 0)
                trouble = self._trouble()
                if trouble:
                    return trouble
        finally:
            stopping.cancel()

    def _trouble(self) -> str:
        now = self._clock.monotonic()
        passed = min(now - self._checked_at, 2 * self._bounds.check_every)
        self._checked_at = now
        self._age += passed
        self._quiet += passed
        spec, bounds = self._spec, self._bounds
        silent_after = spec.bound("silent_after", bounds.silent_after)
        most = spec.bound("max_memory_mb", bounds.max_memory_mb)
        held = (self.resident or 0) / MEGABYTE
        if held > most:
            return f"it held {held:.0f} MB of memory, more than the {most:g} MB that it may (max_memory_mb)"
        if not self.is_ready and self._age > bounds.init_within:
            return f"it was not ready after {bounds.init_within:g} s"
        if self.is_ready and self._quiet > silent_after:
            return f"it was silent for {silent_after:g} s: something blocks its event loop"
        return ""

    def _concluded(self, trouble: str, code: int | None) -> RunOutcome:
        outcome = self._outcome
        for aside in self._asides:
            aside.cancel()
        if trouble:
            outcome.error, outcome.phase = trouble, RUN if self.is_ready else INIT
        elif not self._has_said_end:
            outcome.phase = RUN if self.is_ready else INIT
            outcome.error = _end_in_words(code)
        elif not outcome.error and not outcome.disabled:
            outcome.error = "it ended without being asked to"
        return outcome

    # What the process says. All of it is untrusted.

    def _hear(self, kind: str, fields: Mapping[str, Plain]) -> None:
        hearing = {
            words.HELLO: self._meet,
            words.READY: self._get_ready,
            words.BEAT: self._feel_beat,
            words.LOG: self._log_line,
            words.TOOK: self._give_credit,
            words.ENTER: self._enter,
            words.STRIKE: self._strike,
            words.END: self._end,
        }.get(kind)
        if hearing is not None:
            hearing(fields)

    def _meet(self, fields: Mapping[str, Plain]) -> None:
        listed = fields.get("capabilities")
        self.capabilities = frozenset(str(one) for one in listed) if isinstance(listed, list) else frozenset()

    def _get_ready(self, _: Mapping[str, Plain]) -> None:
        self._quiet = 0.0
        if not self.is_ready:
            self.is_ready = True
            self._ears.ready()

    def _feel_beat(self, _: Mapping[str, Plain]) -> None:
        self._quiet = 0.0

    def _log_line(self, fields: Mapping[str, Plain]) -> None:
        more = fields.get("fields")
        level = known_level(text_of(fields, "level"))
        self._ears.log(level, text_of(fields, "text"), more if isinstance(more, dict) else {})

    def _give_credit(self, fields: Mapping[str, Plain]) -> None:
        count = fields.get("n")
        if isinstance(count, int):
            self.outbox.took(count)

    def _enter(self, fields: Mapping[str, Plain]) -> None:
        team, name = text_of(fields, "team"), text_of(fields, "name")
        if self.may(Capability.ADVERTISE_MEMBERS):
            self._aside(self._note(fields.get("id"), team, name))

    async def _note(self, id: Plain, team: str, name: str) -> None:
        error = ""
        try:
            await self._ears.enter(team, name)
        except OSError as refused:
            error = f"it could not be written down: {refused}"
        except PluginError as refused:
            error = str(refused)
        self._child.send(words.NOTED, {"id": id, "error": error})

    def _strike(self, fields: Mapping[str, Plain]) -> None:
        self._aside(self._strike_out(text_of(fields, "team"), text_of(fields, "name")))

    async def _strike_out(self, team: str, name: str) -> None:
        try:
            await self._ears.strike(team, name)
        except OSError as refused:
            self._ears.log("warn", f"the book of members could not be written: {refused}", {})

    def _end(self, fields: Mapping[str, Plain]) -> None:
        self._has_said_end = True
        self._outcome.phase = RUN if text_of(fields, "phase") == RUN else INIT
        self._outcome.error = text_of(fields, "error")
        self._outcome.disabled = text_of(fields, "disabled")

    def _say(self, line: str) -> None:
        if line.strip():
            self._ears.log("info", line, {"output": True})

    def _send_event(self, event: TeamEvent) -> None:
        try:
            self._child.send(words.EVENT, {"event": event.fields()})
        except TypeError as error:  # a detail that is no plain data: whoever published it made a mistake
            self._ears.log("error", f"an event {event.kind} could not be told: {error}", {})
            self.outbox.took(1)

    def _aside(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._asides.add(task)
        task.add_done_callback(self._asides.discard)


def _end_in_words(code: int | None) -> str:
    if code is None:
        return "its process cannot be ended: it hangs in the system"
    if code >= 0:
        return f"its process ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"its process was ended by {name}"
