"""Bringing a team up: several agents, each by itself, so that one that cannot be started keeps nobody back."""

from __future__ import annotations

from functools import partial

from atm.core.errors import AtmError
from atm.crew.rules.agents import AgentRecord
from atm.crew.services.ending import agent_named
from atm.crew.services.reaping import reconcile
from atm.crew.services.spawning import AgentWish, await_ready, launch
from atm.team.rules import lifecycle
from atm.team.services.lifecycle import note_activity, standing, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atm.crew.services.crewroom import Crewroom


class Upped:
    """One agent that was wanted: its record, or why there is none."""

    __slots__ = ("error", "record", "wish")

    def __init__(self, wish: AgentWish, record: AgentRecord | None, error: AtmError | None) -> None:
        self.wish = wish
        self.record = record
        self.error = error


def up(
    crew: Crewroom,
    team: str,
    by: str,
    wishes: Sequence[AgentWish],
) -> list[Upped]:
    """Start them, and then wait for all of them. What a crash left behind is cleared away first."""
    reconcile(crew, team)
    if standing(crew.room, team).status == lifecycle.STOPPED:
        walk(crew.room, team, lifecycle.ACTIVE, by)
    begun = [_tried(wish, partial(launch, crew, wish)) for wish in wishes]
    done = [_tried(one.wish, partial(await_ready, crew, one.record)) if one.record else one for one in begun]
    if any(one.record is not None for one in done):
        note_activity(crew.room, team)
    return done


def _tried(wish: AgentWish, start: Callable[[], AgentRecord]) -> Upped:
    try:
        return Upped(wish, start(), None)
    except AtmError as error:
        return Upped(wish, None, error)


def again(crew: Crewroom, team: str, names: Sequence[str] = ()) -> list[AgentWish]:
    """Those that were started before and do not run, as they were."""
    found = [agent_named(crew, team, name) for name in names or crew.records.names(team)]
    return [_wish(record) for record in found if names or record.is_over]


def _wish(record: AgentRecord) -> AgentWish:
    return AgentWish(
        team=record.team,
        member=record.member,
        runtime=record.runtime,
        folder=record.folder,
        backend=record.backend,
        model=record.model,
        prompt=record.prompt,
        command=record.command if record.runtime == "command" else [],
        environment=record.environment,
        requires_plan=record.requires_plan,
        tools=record.tools,
    )
