"""The letters for members that a plugin plays: handed out as they come in, each once, and again after it failed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from atm.core.errors import AtmError
from atm.files.formats.times import from_iso
from atm.mail.rules.messages import Message
from atm.teamd.plugins.api import Letter
from atm.teamd.plugins.inside import mail as plugin_mail
from atm.teamd.plugins.inside.room import PluginRoom


class OwnLetter:
    """Mail for a member that the plugin plays. See `api.Letter`."""

    __slots__ = ("_message", "_outgoing", "at", "id", "sender", "team", "text", "to")

    def __init__(self, outgoing: Outgoing, team: str, to: str, message: Message) -> None:
        self._outgoing = outgoing
        self._message = message
        self.id = plugin_mail.letter_id(team, to, message)
        self.team = team
        self.to = to
        self.sender = message.sender
        self.text = message.text
        self.at = from_iso(message.timestamp)

    async def done(self, evidence: str) -> None:
        await self._outgoing.done(self.team, self.to, self._message, evidence)

    async def failed(self, reason: str, again_after: float = 30.0) -> None:
        self._outgoing.failed(self.team, self.to, self._message, reason, again_after)

    def __repr__(self) -> str:
        return f"Letter({self.id!r}, {self.sender!r} -> {self.to}@{self.team}, {self.text[:40]!r})"


class Outgoing:
    """The letters of one plugin: each is handed out once, and again only after it failed."""

    def __init__(self, plugin_room: PluginRoom) -> None:
        self._plugin_room = plugin_room
        self._resting: dict[tuple[str, str, object], float] = {}
        """Letters that were handed out, and the second from which on they may be handed out again."""
        self._unreadable: set[tuple[str, str]] = set()

    async def letters(self) -> AsyncIterator[Letter]:
        plugin_room = self._plugin_room
        while not plugin_room.cancel.is_set():
            plugin_room.hint.clear()
            for team, name in sorted(plugin_room.own):
                for message in await self._fresh(team, name):
                    if plugin_room.cancel.is_set():
                        return
                    self._resting[(team, name, message.key)] = float("inf")
                    yield OwnLetter(self, team, name, message)
            await self._pause()

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self._plugin_room.hint.wait(), self._plugin_room.look_every)
        except TimeoutError:
            return

    async def _fresh(self, team: str, name: str) -> list[Message]:
        """What waits and is not in the plugin's hands already."""
        waiting = await self._waiting(team, name)
        here = {(team, name, message.key) for message in waiting}
        for key in [key for key in self._resting if key[:2] == (team, name) and key not in here]:
            del self._resting[key]
        now = self._plugin_room.room.clock.monotonic()
        return [message for message in waiting if self._resting.get((team, name, message.key), 0.0) <= now]

    async def _waiting(self, team: str, name: str) -> list[Message]:
        """An inbox that cannot be read now, torn or without its team, is looked at again; that is said once."""
        plugin_room = self._plugin_room

        def look() -> list[Message]:
            plugin_room.fence.check(team)
            return plugin_mail.waiting_letters(plugin_room.room, team, name)

        try:
            found = await plugin_room.call(look)
        except AtmError as error:
            if (team, name) not in self._unreadable:
                self._plugin_room.log("warn", f"the inbox of {name}@{team} cannot be read: {error}", {})
            self._unreadable.add((team, name))
            return []
        self._unreadable.discard((team, name))
        return found

    async def done(self, team: str, name: str, message: Message, evidence: str) -> None:
        room = self._plugin_room.room  # also of a team that it may not see any more: it was given the letter
        await self._plugin_room.call(lambda: plugin_mail.take_letter(room, team, name, message, evidence))

    def failed(self, team: str, name: str, message: Message, reason: str, again_after: float) -> None:
        again = self._plugin_room.room.clock.monotonic() + max(0.0, again_after)
        self._resting[(team, name, message.key)] = again
        facts = {"team": team, "to": name, "message_id": message.id, "again_after": again_after}
        self._plugin_room.log("warn", f"a letter to {name}@{team} could not be delivered: {reason}", facts)
