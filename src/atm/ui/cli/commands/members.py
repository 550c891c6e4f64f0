"""`atm members`: who is in a team."""

from __future__ import annotations

from atm.domain.errors import UsageError
from atm.services.mailroom import find_team
from atm.services.overview import activity
from atm.ui.cli.arguments import TEAM, Args, Argument, Command
from atm.ui.cli.render import ago, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.team import Member, Team
    from atm.ui.cli.session import Session

COMMAND = Command(
    "members",
    "who is in a team",
    text="State comes from the roster file and is only a hint; liveness is unknown unless something proves it.",
    arguments=(Argument("team-name", "the team", required=False, complete="team"),),
    options=(TEAM,),
    examples=("atm members", "atm members backend --json"),
)


def execute(args: Args, session: Session) -> int:
    team = team_meant(args, session)
    now = session.room.clock.now()
    if session.as_json:
        session.print_json(
            {
                "action": "members",
                "team": team.name,
                "members": [member_json(team, m, now) for m in team.members],
            }
        )
        return 0
    rows = [
        [m.name, m.agent_type or "-", m.model or "-", m.backend or "-", state_words(team, m, now)] for m in team.members
    ]
    if not rows:
        session.print(f"Team {team.name} has no members: atm teams add-member {team.name} NAME")
        return 0
    session.print("\n".join(table(["Agent", "Type", "Model", "Backend", "State"], rows)))
    return 0


def team_meant(args: Args, session: Session) -> Team:
    from atm.domain.names import check_known_name, same_name

    named, flagged = args.text("team_name"), args.text("team")
    if named and flagged and not same_name(named, flagged):
        raise UsageError(f"{named!r} and --team {flagged!r} are two teams", "leave one of them out")
    return find_team(session.room, check_known_name(named, "team") if named else session.team(args))


def member_json(team: Team, member: Member, now: float) -> dict[str, object]:
    return {
        "name": member.name,
        "type": member.agent_type or None,
        "model": member.model or None,
        "backend": member.backend or None,
        "cwd": member.cwd or None,
        **activity(team, member, now),
    }


def state_words(team: Team, member: Member, now: float) -> str:
    facts = activity(team, member, now)
    age = facts["state_age_seconds"]
    return f"{facts['state']} (roster file, {ago(age)})" if isinstance(age, float) else str(facts["state"])
