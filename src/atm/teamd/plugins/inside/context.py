"""
What a plugin is given: the contract of `api` over a mailroom.

The services are synchronous, so they run in one thread beside the plugin's event loop: one, because they are written
for one user at a time. The same context serves a plugin in its process, over real files, and in a test, over twins.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from types import MappingProxyType

from atm.core.names import same_name
from atm.events.rules import TeamEvent
from atm.setup.rules.context import SystemContext
from atm.team.services.registry import find_team
from atm.teamd.plugins.api import Cancel, Capability, Letter, PluginError, Sent, TeamFacts, Unread
from atm.teamd.plugins.inside import mail as plugin_mail
from atm.teamd.plugins.inside import synthetic_members
from atm.teamd.plugins.inside.folder import Folder
from atm.teamd.plugins.inside.letters import Outgoing
from atm.teamd.plugins.inside.room import PluginRoom


class MailDesk:
    """See `api.Mail`."""

    def __init__(self, plugin_room: PluginRoom) -> None:
        self._plugin_room = plugin_room
        self._outgoing = Outgoing(plugin_room)

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
        plugin_room = self._plugin_room
        plugin_room.need(Capability.INJECT_MESSAGES, "send mail")

        def post() -> Sent:
            plugin_room.fence.check(team)
            return plugin_mail.send_as(
                plugin_room.room,
                plugin_room.plugin,
                plugin_room.place,
                to=to,
                team=team,
                text=text,
                sender=sender,
                summary=summary,
                once=once,
                may_see=plugin_room.fence.sees,
            )

        return await plugin_room.call(post)

    async def unread(self, team: str, agent: str) -> Unread:
        plugin_room = self._plugin_room
        return await plugin_room.call(
            lambda: plugin_mail.unread_of(plugin_room.room, plugin_room.find(team).name, agent)
        )

    async def overview(self, team: str) -> TeamFacts:
        plugin_room = self._plugin_room
        return await plugin_room.call(
            lambda: plugin_mail.overview(plugin_room.room, plugin_room.tasks, plugin_room.find(team))
        )

    def outgoing(self) -> AsyncIterator[Letter]:
        self._plugin_room.need(Capability.INTERCEPT_SEND, "take the mail of members")
        return self._outgoing.letters()


class RosterDesk:
    """See `api.Roster`."""

    def __init__(self, plugin_room: PluginRoom) -> None:
        self._plugin_room = plugin_room

    async def teams(self) -> list[str]:
        return await self._plugin_room.call(self._plugin_room.fence.teams)

    async def members(self, team: str) -> list[str]:
        return await self._plugin_room.call(lambda: self._plugin_room.find(team).names)

    async def add(self, team: str, name: str) -> bool:
        plugin_room = self._plugin_room
        plugin_room.need(Capability.ADVERTISE_MEMBERS, "add members")
        spelled = await plugin_room.call(lambda: plugin_room.find(team).name)
        await plugin_room.book.enter(spelled, name)
        added = await plugin_room.call(
            lambda: synthetic_members.play(plugin_room.room, spelled, name, plugin_room.plugin)
        )
        plugin_room.own.add((spelled, name))
        plugin_room.hint.set()
        return added

    async def remove(self, team: str, name: str) -> bool:
        plugin_room = self._plugin_room
        plugin_room.need(Capability.ADVERTISE_MEMBERS, "remove members")
        spelled = await plugin_room.call(lambda: self._own_team(team, name))
        removed = await plugin_room.call(lambda: self._retire(spelled, name))
        plugin_room.own.discard((spelled, name))
        await plugin_room.book.strike(spelled, name)
        return removed

    def _own_team(self, team: str, name: str) -> str:
        """Whom it plays it may take away, also from a team that it may not see any more."""
        plugin_room = self._plugin_room
        is_own = any(same_name(at, team) and same_name(name, one) for at, one in plugin_room.own)
        return (find_team(plugin_room.room, team) if is_own else plugin_room.find(team)).name

    def _retire(self, team: str, name: str) -> bool:
        plugin_room = self._plugin_room
        member = find_team(plugin_room.room, team).member(name)
        if member is not None and member.backend != synthetic_members.backend_of(plugin_room.plugin):
            raise PluginError(
                f"{name!r} in team {team!r} is not a member that the plugin {plugin_room.plugin!r} plays",
                "a plugin removes its own members only",
            )
        return synthetic_members.retire(
            plugin_room.room, team, name, plugin_room.plugin, keep_inbox=False, farewell=plugin_room.farewell
        )


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
    """See `api.PluginContext`."""

    def __init__(
        self,
        plugin_room: PluginRoom,
        *,
        system: SystemContext,
        config: Mapping[str, object],
        folder: Folder,
        events: EventStream,
    ) -> None:
        self._plugin_room = plugin_room
        self._folder = folder
        self._events = events
        self.system = system
        self.config: Mapping[str, object] = _frozen_table(config)
        self.mail = MailDesk(plugin_room)
        self.roster = RosterDesk(plugin_room)

    @property
    def temp_dir(self) -> str:
        return self._folder.made()

    @property
    def events(self) -> EventStream:
        self._plugin_room.need(Capability.EVENT_LISTENER, "listen to events")
        return self._events

    def log(self, level: str, text: str, /, **fields: object) -> None:
        self._plugin_room.log(level, str(text), fields)

    def now(self) -> float:
        return self._plugin_room.room.clock.now()


def _frozen_table(table: Mapping[str, object]) -> Mapping[str, object]:
    return MappingProxyType({key: _frozen(value) for key, value in table.items()})


def _frozen(value: object) -> object:
    if isinstance(value, dict):
        return _frozen_table(value)
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    return value
