"""Which team a command means that names none."""

from __future__ import annotations

from atm.core.errors import AtmError, NoSuchTeam
from atm.core.names import is_claudes_team
from atm.team.rules.choosing import ONLY, Candidate, Whereabouts, choose
from atm.team.services.registry import only_one
from atm.team.services.standing import teams_above

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.team.rules.repositories import RepositoryHere
    from atm.team.services.registry import Registry


class Choice:
    """The team that is meant, why, and the others that are here."""

    __slots__ = ("others", "team", "why")

    def __init__(self, team: str, why: str, others: list[str]) -> None:
        self.team = team
        self.why = why
        self.others = others


def choose_team(room: Registry, at: Whereabouts) -> Choice:
    """Raises NoSuchTeam if there is none, or if it cannot be told which one is meant."""
    if only := only_one(room):
        return Choice(only, ONLY, [])
    teams = room.rosters.teams()
    ours = [name for name in teams if not is_claudes_team(name)]
    team, why = choose(_candidates(room, teams, at.repository), at, teams_above(room))
    if team:
        return Choice(team, why, [name for name in teams if name != team])
    if ours:
        raise NoSuchTeam(
            "several teams are here and none was named",
            f"use --team, ATM_TEAM or `atm config set core.default_team NAME`; known: {', '.join(ours[:10])}",
        )
    if teams:
        raise NoSuchTeam(
            "there are no teams here but those of Claude Code's sessions, and none was named",
            f"create one with `atm teams create NAME`, or name a session's: --team {teams[0]}",
        )
    raise NoSuchTeam("there is no team on this machine yet", "create one with `atm teams create NAME`")


def only_team(room: Registry) -> str:
    """For an agent that was told none: the only team that is no session's of Claude Code, or the only one at all."""
    teams = room.rosters.teams()
    ours = [name for name in teams if not is_claudes_team(name)] or teams
    return ours[0] if len(ours) == 1 else ""


def _candidates(room: Registry, teams: list[str], here: RepositoryHere | None) -> list[Candidate]:
    """Those that go on, where there are any: nobody means a team that is complete."""
    found = []
    for name in teams:
        try:
            team = room.rosters.load(name)
        except AtmError:  # whoever names it is told
            continue
        if not team.completed:
            folders = {member.name: member.cwd for member in team.members}
            is_here, is_elsewhere = _bound(room, name, here)
            found.append(Candidate(name, folders, is_bound_here=is_here, is_bound_elsewhere=is_elsewhere))
    return found or [Candidate(name, {}) for name in teams]


def _bound(room: Registry, team: str, here: RepositoryHere | None) -> tuple[bool, bool]:
    """Is a team bound to the repository here, or to another? Neither, where the caller is in none."""
    if here is None:
        return False, False
    from atm.team.rules.repositories import is_plainly_here
    from atm.team.services.belonging import binding_of

    bound = binding_of(room, team)
    is_here = bound is not None and is_plainly_here(bound, here)
    return is_here, bound is not None and not is_here
