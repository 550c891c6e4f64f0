"""`atm inbox`: how much mail everybody has."""

from __future__ import annotations

import sys

from atm.domain.errors import AtmError
from atm.domain.untrusted_text import one_line
from atm.services.mailroom import find_team
from atm.services.overview import InboxFacts, InboxProblem, inbox_facts
from atm.services.putting_back import put_back_dropped
from atm.services.spooling import drain_on_the_way
from atm.ui.cli.arguments import NUMBER, TEAM, Args, Command, Option
from atm.ui.cli.render import DIM, Style, table, when

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.team import Team
    from atm.ui.cli.session import Session

COMMAND = Command(
    "inbox",
    "how much mail everybody has",
    text="Idle notices are not counted as unread. --watch shows a live table on a terminal, else a line a message.",
    options=(
        TEAM,
        Option("--all-teams", "-A", help="every team on this machine"),
        Option("--watch", "-w", help="go on showing what changes, until interrupted"),
        Option("--for", value="SECONDS", kind=NUMBER, help="with --watch: end after so many seconds"),
    ),
    examples=("atm inbox", "atm inbox --all-teams --json", "atm inbox --watch"),
)


def execute(args: Args, session: Session) -> int:
    drain_on_the_way(session.room)
    if args.flag("watch"):
        from atm.ui.cli.inbox_watch import follow

        return follow(args, session)
    teams = teams_meant(args, session)
    for team in teams:
        put_back_dropped(session.room, team)
    if session.as_json:
        session.print_json(_as_json(session, teams))
    else:
        session.print("\n\n".join(show_team(session, team) for team in teams) or "No teams yet: atm teams create NAME")
    return 0


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
        notes.append(f"  {facts.agent}: {facts.idle} idle notices, not counted as unread")
    if facts.malformed:
        notes.append(f"  {facts.agent}: {facts.malformed} rows are not messages")
    return notes


def _as_json(session: Session, teams: list[Team]) -> dict[str, object]:
    return {
        "action": "inbox",
        "teams": [
            {"team": team.name, "inboxes": [_one(facts) for facts in inbox_facts(session.room, team)]} for team in teams
        ],
    }


def _one(facts: InboxFacts | InboxProblem) -> dict[str, object]:
    if isinstance(facts, InboxProblem):
        return {"agent": facts.agent, "error": {"code": facts.error.code, "message": str(facts.error)}}
    return {
        "agent": facts.agent,
        "unread": facts.unread,
        "total": facts.total,
        "latest": facts.latest or None,
        "idle_notifications": facts.idle,
        "malformed_rows": facts.malformed,
        "bytes": facts.size,
    }


def is_live() -> bool:
    return sys.stdout.isatty()
