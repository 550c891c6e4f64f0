"""The team that a command means where none was named: told from where it is run; asked for, where a person sits."""

from __future__ import annotations

import sys

from atm.core.errors import NoSuchTeam
from atm.core.names import is_claudes_team
from atm.team.rules.choosing import IN_WORDS
from atm.team.services.choosing import Choice, choose_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session


def choose(session: Session) -> Choice:
    """Said to a person only where it could have been another one of theirs."""
    try:
        choice = choose_team(session.room, session.whereabouts)
    except NoSuchTeam:
        asked = _asked(session)
        if asked is None:
            raise
        return asked
    if any(not is_claudes_team(name) for name in choice.others) and sys.stderr.isatty() and not session.as_json:
        session.warn(f"team {choice.team}: {IN_WORDS[choice.why]} (--team for another)")
    return choice


def _asked(session: Session) -> Choice | None:
    """None where nobody can be asked, or there is nothing to choose from."""
    from atm.ui.cli.asking import can_ask, one_of

    teams = session.room.rosters.teams()
    ours = [name for name in teams if not is_claudes_team(name)] or teams
    if len(ours) < 2 or not can_ask(session):
        return None
    team = one_of("Which team?", ours)
    return Choice(team, "asked", [name for name in teams if name != team]) if team else None
