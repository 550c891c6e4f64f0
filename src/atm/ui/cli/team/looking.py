"""
Commands that only look: without a team's name, and where it cannot be told which one is meant, they show all of them.

Where it can be told, the others are named below: nobody should believe that there is only the one.
"""

from __future__ import annotations

from atm.core.errors import AtmError, NoSuchTeam
from atm.core.untrusted_text import one_line
from atm.team.services.choosing import choose_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

PARTS = ("team", "team_name", "all_teams", "watch", "agent", "run", "id", "task")
"""Said one of these, only one team is meant, or all of them anyway."""


def look(args: Args, session: Session, execute: Callable[[Args, Session], int]) -> int:
    if any(args.given(part) for part in PARTS) or session.home_team():
        return execute(args, session)
    try:
        session.choice = choose_team(session.room, session.whereabouts)
    except NoSuchTeam:
        teams = session.room.rosters.teams()
        return _each(args, session, execute, teams) if teams else execute(args, session)
    code = execute(args, session)
    if session.choice.others and not session.as_json:
        session.print(f"\n  other teams here, with --team: {one_line(', '.join(session.choice.others[:6]))}")
    return code


def _each(args: Args, session: Session, execute: Callable[[Args, Session], int], teams: list[str]) -> int:
    """One after the other. As JSON it is one object, whatever the command prints for one team."""
    codes: list[int] = []
    parts: list[object] = []
    for number, team in enumerate(teams):
        args.values["team"] = team
        try:
            if session.as_json:
                code, said = session.gather(lambda: execute(args, session))
                parts += said
            else:
                session.print(f"{chr(10) * bool(number)}── {one_line(team)} ──")
                code = execute(args, session)
            codes.append(code)
        except AtmError as error:  # one that cannot be read hides no other
            session.warn(f"Warning: {team}: {error}")
    if session.as_json:
        session.print_json({"action": args.command.name, "teams": parts})
    return min(codes, default=1)
