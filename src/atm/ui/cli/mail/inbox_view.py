"""An inbox as people see it: which teams are meant, and the table of one."""

from __future__ import annotations

import sys

from atm.core.errors import AtmError
from atm.core.plain import counted
from atm.core.untrusted_text import one_line
from atm.mail.services.overview import InboxFacts, InboxProblem, inbox_facts
from atm.team.services.registry import find_team
from atm.ui.cli.arguments import Args
from atm.ui.cli.render import Style, when
from atm.ui.views.style import DIM
from atm.ui.views.tables import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.team.rules.team import Team
    from atm.ui.cli.session import Session


def teams_meant(args: Args, session: Session) -> list[Team]:
    if args.flag("all_teams"):
        found = []
        for name in session.room.rosters.teams():
            try:
                found.append(find_team(session.room, name))
            except AtmError as error:
                session.warn(f"Warning: {error}")
        return found
    return [find_team(session.room, session.team(args))]


def show_team(session: Session, team: Team) -> str:
    style = Style(session)
    rows, notes = [], []
    for facts in inbox_facts(session.room, team):
        if isinstance(facts, InboxProblem):
            rows.append([facts.agent, "?", "?", "unreadable"])
            notes.append(f"  {facts.agent}: {one_line(str(facts.error))}")
            continue
        rows.append(
            [
                facts.agent,
                str(facts.unread),
                str(facts.total),
                when(session, facts.latest) if facts.latest else "-",
            ]
        )
        notes += _notes(facts)
    lines = [
        f"Team: {one_line(team.name)}",
        "",
        *table(["Agent", "Unread", "Total", "Latest"], rows, right=(1, 2)),
    ]
    if notes:
        lines += ["", *(style(one_line(note), DIM) for note in notes)]
    return "\n".join(lines)


def _notes(facts: InboxFacts) -> list[str]:
    notes = []
    if facts.idle:
        notes.append(f"  {facts.agent}: {counted(facts.idle, 'idle notice')}, not counted as unread")
    if facts.malformed:
        notes.append(f"  {facts.agent}: {counted(facts.malformed, 'row is no message', 'rows are not messages')}")
    return notes


def is_live() -> bool:
    return sys.stdout.isatty()
