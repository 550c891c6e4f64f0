"""
The contract between the daemon and a plugin: everything that a plugin may import of atm, and nothing else is public.

A plugin is an object with the four methods of `Plugin`, found through an entry point of the group `atm.plugins`. The
daemon runs each enabled one in a process of its own and starts it again when it fails: a plugin that blocks, leaks,
exits or raises hurts nobody but itself. What it declares among its capabilities it may use; everything else raises
`CapabilityMissing`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol, runtime_checkable

from atm.core.errors import AtmError, NoSuchMember, NoSuchTeam, TeamCompleted
from atm.core.names import is_claudes_team
from atm.core.plain import counted
from atm.core.untrusted_text import one_line
from atm.events.rules import (
    APPROVAL_ASKED,
    APPROVAL_DECIDED,
    KINDS,
    MEMBER_BACK,
    MEMBER_CHANGED,
    MEMBER_JOINED,
    MEMBER_LEFT,
    MEMBER_SILENT,
    MESSAGE_ESCALATED,
    MESSAGE_FAILED,
    MESSAGE_GONE,
    MESSAGE_READ,
    MESSAGE_SURFACED,
    MESSAGE_WRITTEN,
    PLUGIN_STATE,
    SETTINGS_RELOADED,
    TASK_CHANGED,
    TASK_CREATED,
    TASK_GONE,
    TEAM_COMPLETED,
    TEAM_CREATED,
    TEAM_GONE,
    TeamEvent,
)
from atm.setup.rules.context import SystemContext
from atm.team.rules.liveness import OFFLINE

__all__ = [
    "APPROVAL_ASKED",
    "APPROVAL_DECIDED",
    "DROPPED",
    "GROUP",
    "KINDS",
    "MEMBER_BACK",
    "MEMBER_CHANGED",
    "MEMBER_JOINED",
    "MEMBER_LEFT",
    "MEMBER_SILENT",
    "MESSAGE_ESCALATED",
    "MESSAGE_FAILED",
    "MESSAGE_GONE",
    "MESSAGE_READ",
    "MESSAGE_SURFACED",
    "MESSAGE_WRITTEN",
    "OFFLINE",
    "PLUGIN_STATE",
    "SETTINGS_RELOADED",
    "TASK_CHANGED",
    "TASK_CREATED",
    "TASK_GONE",
    "TEAM_COMPLETED",
    "TEAM_CREATED",
    "TEAM_GONE",
    "AtmError",
    "Cancel",
    "Capability",
    "CapabilityMissing",
    "Letter",
    "Mail",
    "MemberFacts",
    "NoSuchMember",
    "NoSuchTeam",
    "Plugin",
    "PluginContext",
    "PluginError",
    "PluginMetadata",
    "Roster",
    "Sent",
    "SystemContext",
    "TeamCompleted",
    "TeamEvent",
    "TeamFacts",
    "Unread",
    "Unsuitable",
    "counted",
    "is_claudes_team",
    "one_line",
]

GROUP = "atm.plugins"
"""The group of entry points in which plugins are found."""

DROPPED = "events.dropped"
"""Kind of the event that stands for events which a slow listener missed; `detail["count"]` says how many."""


class PluginError(AtmError):
    """Something about a plugin is not as it should be."""

    code = "plugin"


class CapabilityMissing(PluginError):
    """A plugin used what it did not declare among its capabilities."""

    code = "plugin-capability-missing"


class Unsuitable(PluginError):
    """Raise it when the plugin can be of no use here: it is disabled then, and not started again and again."""

    code = "plugin-unsuitable"


class Capability(Enum):
    """What a plugin may do beyond looking."""

    ADVERTISE_MEMBERS = "advertise-members"
    """Add synthetic members to teams, and take them away again."""
    INTERCEPT_SEND = "intercept-send"
    """Take the mail that is addressed to its own members."""
    INJECT_MESSAGES = "inject-messages"
    """Send mail."""
    EVENT_LISTENER = "event-listener"
    """Be told what happens in teams."""


@dataclass(frozen=True, slots=True)
class PluginMetadata:
    """Who a plugin is and what it may do."""

    name: str
    version: str
    description: str
    capabilities: Collection[Capability] = ()


class Cancel:
    """Asks a plugin to end its `run`. Once set, it stays set."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        self._event.set()

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait until the plugin shall end, at most so long. True if it shall: `while not await cancel.wait(60): …`."""
        try:
            await asyncio.wait_for(self._event.wait(), seconds)
        except TimeoutError:
            pass
        return self._event.is_set()


@dataclass(frozen=True, slots=True)
class Sent:
    """Where a message went. `outcome` is success, conflict_resolved or queued; either way it will not be lost."""

    message_id: str
    team: str
    to: str
    outcome: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unread:
    """How much mail a member has not read yet, and since when the oldest of it waits (seconds since 1970)."""

    agent: str
    count: int
    oldest_at: float | None = None
    problem: str = ""
    """Why that cannot be said, if it cannot."""


@dataclass(frozen=True, slots=True)
class MemberFacts:
    """One member at a glance."""

    name: str
    kind: str
    """agent, human or synthetic."""
    unread: Unread
    liveness: str
    """online, offline or unknown."""
    silent_for: float | None
    """Seconds since the last sign of life; None if there never was one."""


@dataclass(frozen=True, slots=True)
class TeamFacts:
    """One team at a glance."""

    team: str
    lead: str
    completed: bool
    members: tuple[MemberFacts, ...]
    tasks: Mapping[str, int] = field(default_factory=dict)
    """How many tasks are in which state; only states that occur."""
    spool_waiting: int = 0
    """Messages to this team that could not be written yet."""
    spool_failed: int = 0
    """Messages to this team that were given up."""
    problems: tuple[str, ...] = ()


class Letter(Protocol):
    """
    Mail for one of the plugin's own members. It counts as delivered when the plugin says so.

    Until then it stays unread in the inbox, and comes again after a restart.
    """

    id: str
    team: str
    to: str
    sender: str
    text: str
    at: float | None

    async def done(self, evidence: str) -> None:
        """It has arrived; the evidence stands in the ledger. Say it once the far side has confirmed, not before."""

    async def failed(self, reason: str, again_after: float = 30.0) -> None:
        """It could not be delivered. It stays unread, and comes again after so many seconds."""


class Mail(Protocol):
    """Mail, as a plugin may use it."""

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
        """
        Send a message (INJECT_MESSAGES), signed by the plugin, one of its members, or a sender outside the team.

        Never in the name of a member who is not its own. Two messages with the same `once` from the same plugin to
        the same recipient are one message: the second does not arrive.
        """

    async def unread(self, team: str, agent: str) -> Unread: ...

    async def overview(self, team: str) -> TeamFacts: ...

    def outgoing(self) -> AsyncIterator[Letter]:
        """Mail for the plugin's own members as it comes in, until the plugin shall end (INTERCEPT_SEND)."""


class Roster(Protocol):
    """Teams and members, as a plugin may use them."""

    async def teams(self) -> list[str]: ...

    async def members(self, team: str) -> list[str]: ...

    async def add(self, team: str, name: str) -> bool:
        """Add a member that this plugin plays; False if it was there. It vanishes when the plugin ends."""

    async def remove(self, team: str, name: str) -> bool:
        """Take one of its own members away; False if it was not there. Unread mail stays in its inbox."""


class PluginContext(Protocol):
    """All that a plugin is given."""

    @property
    def system(self) -> SystemContext:
        """The machine, the workspace and its repository, if it has one."""

    @property
    def mail(self) -> Mail: ...

    @property
    def roster(self) -> Roster: ...

    @property
    def config(self) -> Mapping[str, object]:
        """The section `[plugins.NAME]` of the settings. It cannot be changed."""

    @property
    def temp_dir(self) -> str:
        """A folder for what the plugin keeps. It exists once it has been asked for."""

    @property
    def events(self) -> AsyncIterator[TeamEvent]:
        """What happens in teams, until the plugin shall end (EVENT_LISTENER). A hint: read again before you act."""

    def log(self, level: str, text: str, /, **fields: object) -> None:
        """A line in the daemon's log. Levels: debug, info, warn, error."""

    def now(self) -> float:
        """Seconds since 1970."""


@runtime_checkable
class Plugin(Protocol):
    """What a plugin has to be."""

    def metadata(self) -> PluginMetadata: ...

    async def init(self, ctx: PluginContext) -> None:
        """Read the settings, open connections. Within 30 seconds."""

    async def run(self, ctx: PluginContext, cancel: Cancel) -> None:
        """Work until `cancel` is set. Returning earlier, or raising, counts as a failure."""

    async def shutdown(self) -> None:
        """Flush and close. Within a few seconds: what takes longer is killed."""
