"""
The test kit for plugins: run one in a test's own event loop, on twins in memory, in a time that only passes when told.

    async def test():
        async with PluginHarness(MyPlugin(), config={"greeting": "hi"}) as kit:
            kit.emit(TeamEvent("task.created", "crew", "1", kit.now()))
            await kit.until(lambda: kit.sent)
            assert kit.sent[0].to == "ann"

The plugin gets the very context that it gets in the daemon; only what lies below is in memory, so its capabilities
and all rules of mail and rosters hold.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from atm.events.rules import TeamEvent
from atm.mail.services import posting
from atm.mail.services import sending as mail
from atm.roster.services.members import add_member, create_team
from atm.setup.rules.context import RepoContext, SystemContext
from atm.team.rules.team import Member
from atm.teamd.plugins.api import Cancel, Capability, Plugin, PluginError, Sent
from atm.teamd.plugins.discovery import checked_metadata
from atm.teamd.plugins.inside.context import Context, EventStream, MailDesk
from atm.teamd.plugins.inside.folder import Folder
from atm.teamd.plugins.inside.room import PluginRoom
from atm.teamd.plugins.sight import Fence, Workplaces, scope_of
from atm.testing import FakeClock, MemoryTasks, memory_room
from atm.vendors.claude.version import schema_for

T = TypeVar("T")

__all__ = ["LogLine", "PluginHarness", "SentMail"]


@dataclass(frozen=True, slots=True)
class SentMail:
    """A message that the plugin sent."""

    to: str
    team: str
    text: str
    sender: str | None = None
    summary: str | None = None
    once: str | None = None


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line that the plugin logged."""

    level: str
    text: str
    fields: Mapping[str, object] = field(default_factory=dict)


class TimedCancel(Cancel):
    """Waits in the harness's time, which passes only when the test says so."""

    __slots__ = ("_clock", "_moved", "waiting")

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock
        self._moved = asyncio.Event()
        self.waiting = 0
        """How many wait here now."""

    def set(self) -> None:
        super().set()
        self.move()

    def move(self) -> None:
        """Time has passed: whoever waits looks at the clock."""
        self._moved.set()
        self._moved = asyncio.Event()

    async def wait(self, seconds: float | None = None) -> bool:
        end = float("inf") if seconds is None else self._clock.monotonic() + seconds
        self.waiting += 1
        try:
            while not self.is_set() and self._clock.monotonic() < end:
                await self._moved.wait()
        finally:
            self.waiting -= 1
        return self.is_set()


class RecordingMail(MailDesk):
    """Mail that remembers what was sent."""

    def __init__(self, plugin_room: PluginRoom) -> None:
        super().__init__(plugin_room)
        self.sent: list[SentMail] = []

    async def send(
        self,
        to: str,
        team: str,
        text: str,
        sender: str | None = None,
        summary: str | None = None,
        *,
        once: str | None = None,
    ) -> Sent:
        done = await super().send(to, team, text, sender, summary, once=once)
        self.sent.append(SentMail(to, team, text, sender, summary, once))
        return done


class NoBook:
    """In a test nobody outlives the plugin."""

    async def enter(self, team: str, name: str) -> None: ...

    async def strike(self, team: str, name: str) -> None: ...


class PluginHarness:
    """
    One plugin in a test. There is a team, `crew` with ann and bob unless the test wants another.

    With `repo` it is a plugin of that repository's place, and the team works there: of other teams it sees those with a
    member whose `cwd` lies there too.
    """

    def __init__(
        self,
        plugin: Plugin,
        *,
        config: Mapping[str, object] | None = None,
        capabilities: Collection[Capability] | None = None,
        team: str = "crew",
        members: Sequence[str] = ("ann", "bob"),
        repo: RepoContext | None = None,
        temp_dir: str | None = None,
    ) -> None:
        self.plugin = plugin
        self.team = team
        self.room = memory_room()
        assert isinstance(self.room.clock, FakeClock)
        self.clock = self.room.clock
        self.tasks = MemoryTasks(self.clock)
        self.logs: list[LogLine] = []
        create_team(self.room, team)
        for name in members:
            add_member(self.room, team, Member(name, cwd=repo.path if repo else ""))
        made = checked_metadata(plugin.metadata(), plugin.metadata().name)
        self._borrowed = tempfile.mkdtemp(prefix="atm-plugin-") if temp_dir is None else None
        self.cancel = TimedCancel(self.clock)
        scope = scope_of(made.name, repo.path if repo else None, config or {})
        self._fence = Fence(scope, Workplaces(self.room.rosters, self.clock.monotonic))
        self._plugin_room = PluginRoom(
            plugin=made.name,
            place=repo.path if repo else "",
            capabilities=frozenset(made.capabilities if capabilities is None else capabilities),
            fence=self._fence,
            room=self.room,
            tasks=self.tasks,
            call=_at_once,
            book=NoBook(),
            log=lambda level, text, fields: self.logs.append(LogLine(level, text, dict(fields))),
            cancel=self.cancel,
            look_every=0.01,
        )
        self._events = EventStream(self.cancel)
        self._mail = RecordingMail(self._plugin_room)
        folder = Folder(temp_dir or self._borrowed or "", None)
        self.context = Context(
            self._plugin_room, system=_system(team, repo), config=config or {}, folder=folder, events=self._events
        )
        self.context.mail = self._mail
        self._running: asyncio.Task[None] | None = None

    # Its life.

    async def __aenter__(self) -> PluginHarness:
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            await self.stop()
        except Exception:  # whatever `run` or `shutdown` failed with: what went wrong in the test itself is told first
            if kind is None:
                raise

    async def start(self) -> None:
        """`init`, whose failure is raised here; then `run` in the background."""
        await self.plugin.init(self.context)
        self._running = asyncio.ensure_future(self.plugin.run(self.context, self.cancel))
        await self.settle()

    async def stop(self, seconds: float = 30.0) -> None:
        """Ask it to end, wait for it, shut it down. What `run` failed with is raised here, and so is not ending."""
        self.cancel.set()
        self._events.wake()
        self._plugin_room.hint.set()
        try:
            if self._running is not None:
                await self._ended(self._running, seconds)
        finally:
            await self.plugin.shutdown()
            if self._borrowed:
                shutil.rmtree(self._borrowed, ignore_errors=True)

    async def _ended(self, running: asyncio.Task[None], seconds: float) -> None:
        await asyncio.wait({running}, timeout=seconds)
        if not running.done():
            running.cancel()
            raise PluginError(f"run() did not end within {seconds:g} s", "let it end when `cancel` is set")
        running.result()

    # What happens around it.

    def emit(self, event: TeamEvent) -> None:
        """Something happened in a team. As in the daemon, a plugin does not hear of teams that it may not see."""
        if self._fence.hears(event):
            self._events.put(event)

    def write(self, to: str, text: str, *, sender: str = "ann", team: str | None = None) -> str:
        """A teammate writes to a member; the message's id."""
        done = mail.send(self.room, team or self.team, to, posting.Draft(sender=sender, text=text))
        self._plugin_room.hint.set()
        return done.message_id

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, and let the plugin act on it."""
        self.clock.pass_time(seconds)
        self.cancel.move()
        self._plugin_room.hint.set()
        await self.settle()

    async def settle(self) -> None:
        """Let the plugin do what it can do without waiting."""
        for _ in range(100):
            await asyncio.sleep(0)

    async def pausing(self, seconds: float = 30.0) -> None:
        """
        Wait, in real time, until the plugin waits in `cancel.wait`. A pause counts from its beginning, so time that
        passes while a thread of the plugin is still at work does not shorten the pause that comes after it.
        """
        await self.until(lambda: self.cancel.waiting, seconds)

    async def until(self, condition: Callable[[], object], seconds: float = 30.0) -> None:
        """Wait, in real time, for something that the plugin does; fails when it does not, or when `run` has failed."""
        end = asyncio.get_running_loop().time() + seconds
        while not condition():
            if self._running is not None and self._running.done():
                self._running.result()
                raise PluginError("run() ended by itself", "let it work until `cancel` is set")
            if asyncio.get_running_loop().time() > end:
                raise PluginError("the condition did not come true in time", "see `kit.logs`")
            await asyncio.sleep(0.005)

    # What it did.

    @property
    def sent(self) -> list[SentMail]:
        """Mail that it sent, in order."""
        return self._mail.sent

    @property
    def members(self) -> list[str]:
        """Whom it plays, as `name@team`."""
        return sorted(f"{name}@{team}" for team, name in self._plugin_room.own)

    def unread(self, agent: str, team: str | None = None) -> list[str]:
        """The texts that a member has not read yet."""
        return [row.text for row in self.room.inboxes.unread(team or self.team, agent)]

    def evidence(self, message_id: str) -> str | None:
        """What the plugin said when it had delivered a letter; None while it has not."""
        entries = self.room.ledger.entries(self.team)[0]
        told = [entry.evidence for entry in entries if entry.state == "surfaced" and message_id in entry.ids]
        return told[-1] if told else None

    def now(self) -> float:
        return self.clock.now()


async def _at_once(service: Callable[[], T]) -> T:
    return service()


def _system(team: str, repo: RepoContext | None) -> SystemContext:
    return SystemContext(
        hostname="test-host",
        platform="Linux",
        claude_root="/memory/.claude",
        root=repo.path if repo else "/memory",
        schema_version=schema_for(""),
        repo=repo,
        default_team=team,
    )
