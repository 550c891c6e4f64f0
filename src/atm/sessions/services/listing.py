"""Teams and whether their lead is there; and the past of one of them."""

from __future__ import annotations

from dataclasses import dataclass

from atm.core.errors import AtmError
from atm.core.names import is_claudes_team
from atm.team.rules import lifecycle
from atm.team.rules.liveness import ONLINE
from atm.team.services.leading import lead_of, seconds_unseen, sits_at_terminal
from atm.team.services.lifecycle import standing, team_id
from atm.team.services.presence import liveness
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.sessions.services.sessionroom import SessionRoom


@dataclass(slots=True, kw_only=True)
class TeamLine:
    """One team of the list."""

    team: str
    id: str
    status: str
    lead: str
    session: str
    last_seen: float | None
    members: int
    online: int
    is_dormant: bool
    trouble: str = ""


def list_teams(desk: SessionRoom, *, all: bool = False) -> list[TeamLine]:
    """Dormant ones: not complete, and their lead unseen for longer than a time-out, or never seen."""
    found = []
    for name in desk.room.rosters.teams():
        try:
            line = _line(desk, name)
        except AtmError as error:
            line = _unreadable(name, str(error))
        if all or line.is_dormant:
            found.append(line)
    return found


def _line(desk: SessionRoom, name: str) -> TeamLine:
    team, lead = find_team(desk.room, name), lead_of(desk.room, name)
    age, now = seconds_unseen(desk.room, team, lead), desk.clock.now()
    status = standing(desk.room, name).status
    is_led = sits_at_terminal(desk.room, lead) or (age is not None and age <= desk.policy.lead_away)
    online = [one for one in team.members if liveness(desk.room.presence, team, one.name, now).value == ONLINE]
    return TeamLine(
        team=name,
        id=team_id(desk.room, team),
        status=status,
        lead=team.lead,
        session=lead.session,
        last_seen=None if age is None else now - age,
        members=len(team.members),
        online=len(online),
        is_dormant=status != lifecycle.COMPLETE and not is_led and not is_claudes_team(name),
    )


def _unreadable(name: str, trouble: str) -> TeamLine:
    return TeamLine(
        team=name,
        id="",
        status=lifecycle.UNKNOWN,
        lead="",
        session="",
        last_seen=None,
        members=0,
        online=0,
        is_dormant=True,
        trouble=trouble,
    )
