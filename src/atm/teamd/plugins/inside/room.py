"""
What the parts of a plugin's context share: who the plugin is, what it may do, and the mailroom it works on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from atm.board.ports.tasks import Tasks
from atm.roster.services.teamroom import Teamroom
from atm.team.rules.team import Team
from atm.team.services.registry import find_team
from atm.teamd.plugins.api import Cancel, Capability, CapabilityMissing
from atm.teamd.plugins.inside import synthetic_members
from atm.teamd.plugins.sight import Fence

T = TypeVar("T")

LOOK_EVERY = 1.0
"""Seconds between two looks into the inboxes of its members; the daemon's hints only make it quicker."""

Log = Callable[[str, str, Mapping[str, object]], None]


class Book(Protocol):
    """Where it is written down whom a plugin plays, before the roster says so: whoever outlives it cleans up."""

    async def enter(self, team: str, name: str) -> None: ...

    async def strike(self, team: str, name: str) -> None: ...


class Runner(Protocol):
    """Runs a service where it disturbs nobody, and gives what it gives."""

    def __call__(self, service: Callable[[], T], /) -> Awaitable[T]: ...


@dataclass(slots=True)
class PluginRoom:
    """All that the parts of one context share."""

    plugin: str
    place: str
    capabilities: Collection[Capability]
    fence: Fence
    """Which teams it may see. The host decides on events; here it is asked before files are touched."""
    room: Teamroom
    tasks: Tasks
    call: Runner
    book: Book
    log: Log
    cancel: Cancel
    farewell: synthetic_members.Farewell | None = None
    look_every: float = LOOK_EVERY
    own: set[tuple[str, str]] = field(default_factory=set)
    """Whom it plays: (team, name)."""
    hint: asyncio.Event = field(default_factory=asyncio.Event)
    """There may be mail for its members, or it shall end."""

    def find(self, team: str) -> Team:
        """A team that it may see, by a name in any case. Raises PluginError for any other."""
        self.fence.check(team)
        return find_team(self.room, team)

    def need(self, capability: Capability, what: str) -> None:
        if capability not in self.capabilities:
            raise CapabilityMissing(
                f"the plugin {self.plugin!r} may not {what}: it does not declare {capability.name}",
                f"add Capability.{capability.name} to the capabilities in its metadata",
            )
