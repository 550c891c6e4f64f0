"""A member as people and programs see it."""

from __future__ import annotations

from atm.domain.errors import UsageError
from atm.services.snapshot.members import member_facts
from atm.services.team.registry import find_team
from atm.ui.cli.arguments import Args

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.team.team import Member, Team
    from atm.services.roster.teamroom import Teamroom
    from atm.ui.cli.session import Session


def team_meant(args: Args, session: Session) -> Team:
    from atm.domain.names import check_known_name, same_name

    named, flagged = args.text("team_name"), args.text("team")
    if named and flagged and not same_name(named, flagged):
        raise UsageError(f"{named!r} and --team {flagged!r} are two teams", "leave one of them out")
    return find_team(session.room, check_known_name(named, "team") if named else session.team(args))


def member_json(room: Teamroom, team: Team, member: Member) -> dict[str, object]:
    return {**member_facts(room, team, member).fields()}
