"""The room in which the commands of sessions work, and what they have in common."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.core.names import check_known_name
from atm.sessions.services.resuming import named
from atm.team.services.endpoints import endpoint_of
from atm.team.services.registry import find_team
from atm.ui.cli.crew.wishes import open_crew
from atm.ui.cli.session import working_folder
from atm.wiring.sessions import build_sessionroom, find_caller

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.sessions.services.sessionroom import SessionRoom
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session


def open_desk(args: Args, session: Session, team: str = "") -> SessionRoom:
    caller = find_caller(
        session.environment, working_folder(), args.text("session") or "", recorded_session(session, team)
    )
    return build_sessionroom(session.layout, session.settings, open_crew(session), caller, session.environment)


def recorded_session(session: Session, team: str) -> str:
    """The vendor's id of the session that asks, if its hooks have recorded one: it is the lead's own process then."""
    me = session.settings.text("core.identity")
    if not team or not me:
        return ""
    try:
        found = find_team(session.room, team)
        endpoint = endpoint_of(session.room, found, me) if found.member(me) is not None else None
    except AtmError:
        return ""
    return endpoint.session if endpoint is not None else ""


def team_named(args: Args, desk: SessionRoom) -> str:
    """The team that a command names, spelled as it is on disk. Raises as the seed says it."""
    from atm.core.errors import NoSuchTeam

    given = named(desk, check_known_name(args.need("team"), "team"))
    found = desk.room.rosters.find(given)
    if found is None:
        raise NoSuchTeam(f"Team {given} not found. Use --list-teams", "atm session list --all")
    return found
