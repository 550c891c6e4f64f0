"""`atm inbox`: how much mail everybody has."""

from __future__ import annotations

from atm.mail.services.overview import InboxFacts, InboxProblem, inbox_facts
from atm.mail.services.putting_back import put_back_dropped
from atm.mail.services.spooling import drain_on_the_way
from atm.ui.cli.arguments import NUMBER, TEAM, Args, Command, Option
from atm.ui.cli.mail.inbox_view import show_team, teams_meant

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.team.rules.team import Team
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
        from atm.ui.cli.mail.inbox_watch import follow

        return follow(args, session)
    teams = teams_meant(args, session)
    for team in teams:
        put_back_dropped(session.room, team)
    if session.as_json:
        session.print_json(_as_json(session, teams))
    else:
        session.print("\n\n".join(show_team(session, team) for team in teams) or "No teams yet: atm teams create NAME")
    return 0


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
