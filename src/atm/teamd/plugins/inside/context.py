"""
What a plugin is given: the contract of `plugin_api` over a mailroom.

The services are synchronous, so they run in one thread beside the plugin's event loop: one, because they are written
for one user at a time. The same context serves a plugin in its process, over real files, and in a test, over twins.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from types import MappingProxyType

from atm.domain.events import TeamEvent
from atm.domain.setup.context import SystemContext
from atm.services.team.registry import find_team
from atm.teamd.plugins.api import Cancel, Capability, Letter, PluginError, Sent, TeamFacts, Unread
from atm.teamd.plugins.inside import mail as plugin_mail
from atm.teamd.plugins.inside import synthetic_members
from atm.teamd.plugins.inside.desk import PluginRoom
from atm.teamd.plugins.inside.folder import Folder
from atm.teamd.plugins.inside.letters import Outgoing


class MailDesk:
    """See `plugin_api.Mail`."""

    def __init__(self, desk: PluginRoom) -> None:
        self._desk = desk
        self._outgoing = Outgoing(desk)

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
        desk = self._desk
        desk.need(Capability.INJECT_MESSAGES, "send mail")
        return await desk.call(
            lambda: plugin_mail.send_as(
                desk.room,
                desk.plugin,
                desk.place,
                to=to,
                team=team,
                text=text,
                sender=sender,
                summary=summary,
                once=once,
            )
        )

    async def unread(self, team: str, agent: str) -> Unread:
        room = self._desk.room
        return await self._desk.call(lambda: plugin_mail.unread_of(room, find_team(room, team).name, agent))

    async def overview(self, team: str) -> TeamFacts:
        desk = self._desk
        return await desk.call(lambda: plugin_mail.overview(desk.room, desk.tasks, team))

    def outgoing(self) -> AsyncIterator[Letter]:
        self._desk.need(Capability.INTERCEPT_SEND, "take the mail of members")
        return self._outgoing.letters()


class RosterDesk:
    """See `plugin_api.Roster`."""

    def __init__(self, desk: PluginRoom) -> None:
        self._desk = desk

    async def teams(self) -> list[str]:
        return await self._desk.call(self._desk.room.rosters.teams)

    async def members(self, team: str) -> list[str]:
        room = self._desk.room
        return await self._desk.call(lambda: find_team(room, team).names)

    async def add(self, team: str, name: str) -> bool:
        desk = self._desk
        desk.need(Capability.ADVERTISE_MEMBERS, "add members")
        spelled = await desk.call(lambda: find_team(desk.room, team).name)
        await desk.book.enter(spelled, name)
        added = await desk.call(lambda: synthetic_members.play(desk.room, spelled, name, desk.plugin))
        desk.own.add((spelled, name))
        desk.hint.set()
        return added

    async def remove(self, team: str, name: str) -> bool:
        desk = self._desk
        desk.need(Capability.ADVERTISE_MEMBERS, "remove members")
        spelled = await desk.call(lambda: find_team(desk.room, team).name)
        removed = await desk.call(lambda: self._retire(spelled, name))
        desk.own.discard((spelled, name))
        await desk.book.strike(spelled, name)
        return removed

    def _retire(self, team: str, name: str) -> bool:
        desk = self._desk
        member = find_team(desk.room, team).member(name)
        if member is not None and member.backend != synthetic_members.backend_of(desk.plugin):
            raise PluginError(
                f"{name!r} in team {team!r} is not a member that the plugin {desk.plugin!r} plays",
                "a plugin removes its own members only",
            )
        return synthetic_members.retire(desk.room, team, name, desk.plugin, keep_inbox=False, farewell=desk.farewell)


class EventStream:
    """Events as they come; ends when the plugin shall end. `took` is told how many were consumed."""

    def __init__(self, cancel: Cancel, took: Callable[[int], None] = lambda _: None) -> None:
        self._cancel = cancel
        self._took = took
        self._waiting: deque[TeamEvent] = deque()
        self._news = asyncio.Event()

    def put(self, event: TeamEvent) -> None:
        self._waiting.append(event)
        self._news.set()

    def wake(self) -> None:
        """Whoever waits for the next event looks whether it shall end."""
        self._news.set()

    def __aiter__(self) -> EventStream:
        return self

    async def __anext__(self) -> TeamEvent:
        while not self._waiting:
            if self._cancel.is_set():
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        self._took(1)
        return self._waiting.popleft()


class Context:
    """See `plugin_api.PluginContext`."""

    def __init__(
        self,
        desk: PluginRoom,
        *,
        system: SystemContext,
        config: Mapping[str, object],
        folder: Folder,
        events: EventStream,
    ) -> None:
        self._desk = desk
        self._folder = folder
        self._events = events
        self.system = system
        self.config: Mapping[str, object] = _frozen_table(config)
        self.mail = MailDesk(desk)
        self.roster = RosterDesk(desk)

    @property
    def temp_dir(self) -> str:
        return self._folder.made()

    @property
    def events(self) -> EventStream:
        self._desk.need(Capability.EVENT_LISTENER, "listen to events")
        return self._events

    def log(self, level: str, text: str, /, **fields: object) -> None:
        self._desk.log(level, str(text), fields)

    def now(self) -> float:
        return self._desk.room.clock.now()


def _frozen_table(table: Mapping[str, object]) -> Mapping[str, object]:
    return MappingProxyType({key: _frozen(value) for key, value in table.items()})


def _frozen(value: object) -> object:
    if isinstance(value, dict):
        return _frozen_table(value)
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    return value
