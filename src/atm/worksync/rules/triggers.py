"""
What makes the control plane look at a member again. A trigger says *that* something may be different, never what:
whoever looks reads everything afresh.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atm.events import rules as kinds
from atm.team.rules.liveness import IDLE

if TYPE_CHECKING:
    from atm.events.rules import TeamEvent
    from atm.team.rules.liveness import Beat

MANUAL, CONFIG_CHANGED, TASK_CHANGED, REVIEW_CHANGED = (
    "manual_refresh",
    "config_changed",
    "task_state_changed",
    "review_changed",
)
INBOX_DELIVERED, TURN_SETTLED, TOOL_FINISHED = "inbox_delivered", "turn_settled", "tool_finished"
MEMBER_SPAWNED, STARTUP_SCAN, HEARTBEAT = "member_spawned", "startup_scan", "runtime_heartbeat"
TIME_PASSED = "time_passed"
"""A lease or a busy time has run out."""

STRENGTH = (
    *(MANUAL, CONFIG_CHANGED, TASK_CHANGED, REVIEW_CHANGED, INBOX_DELIVERED, TURN_SETTLED, TOOL_FINISHED),
    *(MEMBER_SPAWNED, STARTUP_SCAN, HEARTBEAT, TIME_PASSED),
)
"""Strongest first. For diagnostics only: the strongest of several is named."""

QUIET_SECONDS = 90.0
LONGEST_WAIT = 5
"""Quiet windows after which a member is looked at although there was no quiet."""

IMPORT_TASKS, IMPORT_WAIT = 5, 3
"""So many new tasks at once are an import: everybody is looked at, after so many quiet windows (section 11.2.1)."""

ALL_MEMBERS, THESE, OF_TASK = "all_active_members", "these_members", "task_related_members"


@dataclass(frozen=True, slots=True)
class Route:
    """Whom an event is about."""

    team: str
    trigger: str
    scope: str
    names: tuple[str, ...] = ()
    task: str = ""
    is_new: bool = field(default=False, compare=False)
    """A task that was not there before."""


def strongest(triggers: set[str]) -> str:
    return min(triggers, key=lambda one: STRENGTH.index(one) if one in STRENGTH else len(STRENGTH), default="")


def trigger_of_beat(last: Beat | None, *, is_by_hook: bool) -> str:
    """Only hooks see turns and tool calls; every other sign of life says that the member is there, and no more."""
    if last is None or not is_by_hook:
        return HEARTBEAT
    return TURN_SETTLED if last.state == IDLE else TOOL_FINISHED


def route(event: TeamEvent) -> Route | None:
    """Pure: reads nothing, calls nobody. Where an event does not say whom it concerns, everybody is looked at."""
    if not event.team:
        return None
    match event.kind:
        case kinds.TASK_CREATED | kinds.TASK_CHANGED | kinds.TASK_GONE:
            return _route_task(event)
        case kinds.MESSAGE_WRITTEN | kinds.MESSAGE_SURFACED:
            return Route(event.team, INBOX_DELIVERED, THESE, (event.subject,)) if event.subject else _all(event)
        case kinds.MEMBER_JOINED | kinds.MEMBER_BACK:
            return Route(event.team, MEMBER_SPAWNED, THESE, (event.subject,)) if event.subject else _all(event)
        case kinds.MEMBER_LEFT | kinds.MEMBER_CHANGED:
            return _all(event)
        case kinds.TEAM_CREATED:
            return Route(event.team, STARTUP_SCAN, ALL_MEMBERS)
    return None


def is_import(routes: Iterable[Route]) -> bool:
    """Is this what is heard when a whole plan comes onto a board?"""
    return len({route.task for route in routes if route.is_new}) >= IMPORT_TASKS


def _all(event: TeamEvent) -> Route:
    return Route(event.team, CONFIG_CHANGED, ALL_MEMBERS)


def _route_task(event: TeamEvent) -> Route:
    before = event.detail.get("before")
    former = before if isinstance(before, dict) else {}
    said = (event.detail.get("owner"), former.get("owner"))
    names = tuple(dict.fromkeys(name for name in said if isinstance(name, str) and name))
    trigger = REVIEW_CHANGED if "review" in former else TASK_CHANGED
    return Route(event.team, trigger, OF_TASK, names, event.subject, event.kind == kinds.TASK_CREATED)
