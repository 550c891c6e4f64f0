"""One client at work: who calls, what it asked to be, its turns at the threads, and what it wants to hear of."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcp.server.subscriptions import (
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

from atm.core.errors import AtmError
from atm.core.names import same_name
from atm.events.rules import MEMBER_CHANGED, MEMBER_JOINED, MEMBER_LEFT, TEAM_CREATED, TEAM_GONE
from atm.teamd.loops import in_thread
from atm.ui.mcp.identity import settle_role
from atm.ui.mcp.serving.feed import LISTS, Feed
from atm.ui.mcp.serving.workers import MOST_FOR_ONE

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

    from atm.events.rules import TeamEvent
    from atm.team.rules.team import Team
    from atm.ui.mcp.caller import Caller

    Id = int | str
    """Of a request. To the SDK "5" and 5 are one: here it is always as `coerce_request_id` gives it."""

MOST_FEEDS = 64
"""Sessions of one client that are told of changes; over HTTP one token may open several."""

MOST_STREAMS = 16
MOST_GIVEN_UP = 256
"""Cancelled requests that are remembered, the newest; only those matter that are just coming to their end."""

ROLES_MAY_CHANGE = frozenset((MEMBER_JOINED, MEMBER_LEFT, MEMBER_CHANGED, TEAM_CREATED, TEAM_GONE))


class Bus:
    """The streams of one client that listen (the later era), in the shape that the SDK asks for."""

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[ServerEvent], None]] = {}

    def __len__(self) -> int:
        return len(self._listeners)

    async def publish(self, event: ServerEvent) -> None:
        self.tell(event)

    def tell(self, event: ServerEvent) -> None:
        for listener in [*self._listeners.values()]:
            listener(event)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        key = object()
        self._listeners[key] = listener
        return lambda: self._listeners.pop(key, None) and None


@dataclass(frozen=True, slots=True)
class Handed:
    """A result that was handed to the SDK, and what to do, in a thread, once it is known what came of it."""

    give_back: Callable[[], None]
    """It did not get through."""
    seen: Callable[[str], None]
    """It did, and the client went on: with which call."""


class Client:
    """A connection, or over HTTP everybody who bears one token."""

    def __init__(self, caller: Caller, asked: str, touched_by: Callable[[TeamEvent, Caller], Sequence[str]]) -> None:
        self.caller = caller
        self._asked = asked
        self._touched_by = touched_by
        self.turns = asyncio.Semaphore(MOST_FOR_ONE)
        self._bus = Bus()
        self.listen = ListenHandler(self._bus, max_subscriptions=MOST_STREAMS)
        self._feeds: OrderedDict[str, Feed] = OrderedDict()
        self._under_way: dict[Id, Handed] = {}
        self._arrived: dict[Id, Handed] = {}
        """Results that were sent, by request, and after which nothing was heard of the client yet."""
        self._given_up: OrderedDict[Id, None] = OrderedDict()
        """Requests that were cancelled before their result was handed over."""
        self.sees_delivery = False
        """Does its transport say when an answer has been sent? Over HTTP the SDK sends it, and says nothing."""
        self.told_role = caller.role
        """For which its lists were made."""

    def settle(self) -> Team | None:
        """Read the roster again: the role may be another one now. Called in threads."""
        return settle_role(self.caller, self._asked)

    def feed(self, ctx: ServerRequestContext[Any, Any]) -> Feed:
        """Where changes go for the session that asks (the handshake era; the later one listens on streams)."""
        key = ctx.request.headers.get("mcp-session-id", "") if ctx.request is not None else ""
        found = self._feeds.get(key)
        if found is None or found.is_closed:
            found = self._feeds[key] = Feed(_sender(ctx))
        self._feeds.move_to_end(key)
        while len(self._feeds) > MOST_FEEDS:
            self._feeds.popitem(last=False)[1].close()
        return found

    async def hear(self, event: TeamEvent) -> None:
        """Something happened in some team: tell the client what that means for it."""
        if event.kind in ROLES_MAY_CHANGE and (not self.caller.team or same_name(event.team, self.caller.team)):
            with contextlib.suppress(AtmError, OSError):  # a roster that cannot be read is said at the next call
                await in_thread(self.settle)
        if self.caller.role != self.told_role:
            self.told_role = self.caller.role
            self._tell([LISTS], [ToolsListChanged(), ResourcesListChanged(), PromptsListChanged()])
        if self._bus or any(feed.follows_anything for feed in self._feeds.values()):
            uris = self._touched_by(event, self.caller)
            self._tell(uris, [ResourceUpdated(uri=uri) for uri in uris])

    def _tell(self, uris: Sequence[str], events: Sequence[ServerEvent]) -> None:
        for feed in [*self._feeds.values()]:
            feed.offer(uris)
        for event in events:
            self._bus.tell(event)

    def asked(self, request: Id) -> None:
        """A new request; its id may have been that of one that was cancelled."""
        self._given_up.pop(request, None)

    def hand_over(self, request: Id, handed: Handed) -> None:
        if request in self._given_up:  # the SDK has heard of that too late to stop the work, and sends nothing
            _give_back_soon(handed)
        elif self.sees_delivery:
            self._under_way[request] = handed

    def delivered(self, request: Id) -> None:
        handed = self._under_way.pop(request, None)
        if handed is not None:
            self._arrived[request] = handed

    def goes_on(self) -> dict[Id, Handed]:
        """It calls again: what was sent to it before has arrived. Each is told once."""
        arrived, self._arrived = self._arrived, {}
        return arrived

    def did_not_go_on(self, arrived: dict[Id, Handed]) -> None:
        """The call by which it seemed to go on never began; the next one tells."""
        self._arrived = {**arrived, **self._arrived}

    def lost(self, request: Id) -> None:
        """The SDK made an error of it."""
        handed = self._under_way.pop(request, None)
        if handed is not None:
            _give_back_soon(handed)

    def cancelled(self, request: Id) -> None:
        """
        Its result may have been sent already. Nobody cancels what he has got: it is still on its way, and will not be
        looked at any more.
        """
        handed = self._under_way.pop(request, None) or self._arrived.pop(request, None)
        if handed is not None:
            _give_back_soon(handed)
            return
        self._given_up[request] = None
        if len(self._given_up) > MOST_GIVEN_UP:
            self._given_up.popitem(last=False)

    async def close(self) -> None:
        """It is gone. What it did not get is given back."""
        self.listen.close()
        for feed in self._feeds.values():
            feed.close()
        self._feeds.clear()
        lost, self._under_way = [*self._under_way.values()], {}
        if lost:
            await in_thread(lambda: _give_back(lost))


def _give_back_soon(handed: Handed) -> None:
    in_thread(handed.give_back).add_done_callback(lambda done: done.exception())  # what went wrong is in the log


def _give_back(lost: list[Handed]) -> None:
    for handed in lost:
        handed.give_back()


def _sender(ctx: ServerRequestContext[Any, Any]) -> Any:
    """A request's session outlives the request: what is sent without naming a request goes to the client at large."""
    session = ctx.session

    async def send(uri: str) -> None:
        if uri:
            await session.send_resource_updated(uri)
            return
        await session.send_tool_list_changed()
        await session.send_resource_list_changed()
        await session.send_prompt_list_changed()

    return send
