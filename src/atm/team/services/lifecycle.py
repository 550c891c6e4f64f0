"""Where a team stands in its life, and moving it on. The table of moves is `team.rules.lifecycle`."""

from __future__ import annotations

from atm.core.errors import AtmError, TeamNotOurs
from atm.core.names import is_claudes_team
from atm.files.formats.json_record import NotJson
from atm.files.formats.times import to_iso
from atm.team.formats.team_state import (
    completed_mark,
    decode_mark,
    decode_state,
    decode_team_id,
    first_state,
    moved,
    new_state,
)
from atm.team.rules.lifecycle import ACTIVE, COMPLETE, INIT, PENDING, UNKNOWN, Move, TeamStanding, check_move, way_to
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from atm.team.rules.repositories import RepositoryBinding
    from atm.team.rules.team import Team
    from atm.team.services.registry import Registry

    Said = TypeVar("Said")

NO_FILE = "no state.json: made by an older atm or another program"


class Moved:
    """What a move did: from where to where; the same if there was nothing to do."""

    __slots__ = ("after", "before")

    def __init__(self, before: str, after: str) -> None:
        self.before = before
        self.after = after

    @property
    def changed(self) -> bool:
        return self.before != self.after


def check_ours(team: Team) -> Team:
    """Claude Code overwrites and deletes what belongs to its session teams; we only read it there."""
    if is_claudes_team(team.name):
        raise TeamNotOurs(
            f"{team.name!r} is a team of Claude Code, which overwrites its roster",
            "ask the lead of that session to change it",
            team.read_from,
        )
    return team


def in_state(room: Registry, team: str, read: Callable[[bytes], Said], nothing: Said) -> Said:
    """What `read` finds in a team's state; `nothing` where there is none, or none that can be read."""
    data = room.states.read(team)
    try:
        return read(data) if data is not None else nothing
    except NotJson:
        return nothing


def standing(room: Registry, team: str) -> TeamStanding:
    """Where a team stands. The mark of completion outweighs the file beside it: it is written first."""
    if is_claudes_team(team):
        return TeamStanding(UNKNOWN, "Claude Code's teams keep no such state")
    mark = room.states.mark(team)
    found = _from_file(room, team)
    if mark is not None:
        at, by = decode_mark(mark)
        return TeamStanding(COMPLETE, "COMPLETED", since=at or found.since, by=by or found.by, history=found.history)
    return found


def _from_file(room: Registry, team: str) -> TeamStanding:
    data = room.states.read(team)
    if data is None:
        return TeamStanding(ACTIVE, NO_FILE)
    try:
        return decode_state(data)
    except NotJson as error:
        return TeamStanding(UNKNOWN, f"state.json cannot be read: {error}")


def begin(room: Registry, team: str, by: str, repository: RepositoryBinding | None = None) -> None:
    """The first state of a team, before its roster exists. Of two processes the first one makes it."""
    at, id = to_iso(room.clock.now()), room.chance.new_id()
    room.states.begin(team, first_state(team, INIT, at, by, id, repository=repository))


def team_id(room: Registry, team: Team) -> str:
    """What tells this life of a team from another of the same name; never changed while it lives (D26)."""
    try:
        data = room.states.read(team.name) if not is_claudes_team(team.name) else None
        made = decode_team_id(data) if data is not None else ""
    except (AtmError, NotJson):
        made = ""
    return made or f"created-{team.created_at or 0:.3f}"


def life_of(room: Registry, team: Team, member: str) -> str:
    """One life of one member in one life of a team. What was given to a former one is not the next one's."""
    known = team.member(member)
    joined = known.joined_at if known is not None else None
    return f"{team_id(room, team)}/{joined or 0:.3f}"


def advance(room: Registry, team: str, to: str, by: str) -> Moved:
    """Move a team on. Raises BadMove, naming what is allowed; being there already is no error."""
    found = check_ours(find_team(room, team))

    def plan(now: str) -> list[str]:
        if now == to:
            return []
        check_move(found.name, now, to)
        return [to]

    return _move(room, found.name, by, plan)


def walk(room: Registry, team: str, to: str, by: str) -> Moved:
    """Move a team on through every state on the way, as far as the table leads there."""

    def plan(now: str) -> list[str]:
        way = way_to(now, to)
        if not way and now != to:
            check_move(team, now, to)
        return way

    return _move(room, team, by, plan)


def note_activity(room: Registry, team: str) -> None:
    """A member works: a team that was only made, or only staffed, is active now. Nobody fails because of it."""
    _nudge(room, team, (INIT, PENDING), ACTIVE, "activity")


def note_member(room: Registry, team: str, name: str) -> None:
    """The first member is there: the team waits for work."""
    _nudge(room, team, (INIT,), PENDING, name)


def _nudge(room: Registry, team: str, only_from: tuple[str, ...], to: str, by: str) -> None:
    if is_claudes_team(team):
        return
    try:
        data = room.states.read(team)
        if data is not None and decode_state(data).status in only_from:
            _move(room, team, by, lambda now: way_to(now, to) if now in only_from else [])
    except (AtmError, NotJson):
        return  # where it stands is told wrongly for a while; the work itself must not suffer


def _move(room: Registry, team: str, by: str, plan: Callable[[str], list[str]]) -> Moved:
    """Decide and write under the lock of the state file. A completed team gets its mark before its file says so."""
    done = Moved(COMPLETE, COMPLETE)
    at = to_iso(room.clock.now())

    def change(data: bytes | None) -> bytes | None:
        former = data if data is not None else new_state(team, ACTIVE, "", "")
        said = decode_state(former).status
        is_marked = room.states.mark(team) is not None
        done.before = done.after = COMPLETE if is_marked else said
        steps = plan(done.before) or (way_to(said, COMPLETE) if is_marked else [])  # the file lags behind its mark
        if not steps:
            return None
        done.after = steps[-1]
        if done.after == COMPLETE:
            room.states.complete(team, completed_mark(at, by))
        return moved(former, [Move(b, a, at, by) for b, a in zip([said, *steps], steps, strict=False)])

    room.states.change(team, change)
    return done
