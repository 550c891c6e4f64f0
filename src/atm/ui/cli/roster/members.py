"""`atm members`: who is in a team."""

from __future__ import annotations

from atm.core.untrusted_text import shell_words
from atm.team.services.activity import activity
from atm.ui.cli.arguments import TEAM, Args, Argument, Command
from atm.ui.cli.roster.last_run import last_runs_of, show_last_run
from atm.ui.cli.roster.member_views import (
    member_json,
    progress_lines,
    question_lines,
    questions_of,
    suspended_lines,
    suspended_of,
    team_meant,
)
from atm.ui.views.roster.members import state_words
from atm.ui.views.tables import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

COMMAND = Command(
    "members",
    "who is in a team",
    text=(
        "State is what a member was doing when it was last heard of: its heartbeat says so, or `isActive` in the "
        "roster, which is only a hint. Liveness is whether it is there at all: unknown unless something proves it."
    ),
    arguments=(Argument("team-name", "the team", required=False, complete="team"),),
    options=(TEAM,),
    examples=("atm members", "atm members backend --json"),
)


def execute(args: Args, session: Session) -> int:
    team = team_meant(args, session)
    runs, questions, suspended = last_runs_of(session, team), questions_of(session, team), suspended_of(session, team)
    room = session.room
    if session.as_json:
        session.print_json(
            {
                "action": "members",
                "team": team.name,
                "members": [
                    member_json(session, team, m, questions.get(m.name, ""), suspended.get(m.name, ""))
                    for m in team.members
                ],
                "runs": runs,
            }
        )
        return 0
    show_last_run(session, runs)
    rows = [
        [
            *(m.name, m.agent_type or "-", m.model or "-", m.backend or "-"),
            *state_words(activity(room, team, m), asks=m.name in questions, is_suspended=m.name in suspended),
        ]
        for m in team.members
    ]
    if not rows:
        session.print(f"Team {team.name} has no members: atm teams add-member {shell_words(team.name)} NAME")
        return 0
    session.print("\n".join(table(["Agent", "Type", "Model", "Backend", "State", "Liveness"], rows, drop=(2, 3, 1))))
    for line in [*progress_lines(session, team), *suspended_lines(suspended), *question_lines(team, questions)]:
        session.print(line)
    return 0
