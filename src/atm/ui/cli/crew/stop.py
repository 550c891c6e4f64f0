"""`atm stop`: the emergency stop."""

from __future__ import annotations

from atm.domain.errors import AtmError
from atm.domain.untrusted_text import one_line
from atm.services.crew.ending import stop
from atm.services.team.standing import check_roster
from atm.ui.cli.arguments import TEAM, Args, Command, Option
from atm.ui.cli.crew.ends import NOTHING, ended_json, ended_words
from atm.ui.cli.crew.wishes import open_crew
from atm.ui.cli.waiting import Spinner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

COMMAND = Command(
    "stop",
    "emergency stop: every agent ends now, and that is proven",
    text=(
        "Needs no daemon, and no team that can be read. Every process of an agent is looked for, those of its tools "
        "too. Nothing is started again before a person does. Exit code 1: something is left, and named; 3: none ran."
    ),
    options=(TEAM, Option("--all", help="of every team")),
    examples=("atm stop", "atm stop --all"),
)


def execute(args: Args, session: Session) -> int:
    if trouble := session.do_without_bad_settings():
        session.warn(f"Warning: {trouble}")
    crew = open_crew(session)
    teams = [] if args.flag("all") else [_team(args, session)]
    for team in teams or crew.records.teams():
        check_roster(session.room, team, "stop a team")
    by = session.named(args)
    with Spinner(session, f"ending every process of {', '.join(teams) or 'all teams'}"):
        done = stop(crew, teams, by)
    left = [{"pid": one.pid, "command": one.command[:200]} for one in done.left]
    words = [*map(ended_words, done.ended), *(f"✗ still there: {one.pid} {one_line(one.command)}" for one in done.left)]
    for trouble in done.troubles:
        session.warn(f"Warning: {trouble}")
    session.tell(
        {"action": "stop", "stopped": [ended_json(one) for one in done.ended], "left": left, "troubles": done.troubles},
        "\n".join(words) or "no agent ran",
    )
    return 1 if done.left else 0 if done.ended else NOTHING


def _team(args: Args, session: Session) -> str:
    """Also of a team whose files cannot be read."""
    try:
        return session.team(args)
    except AtmError:
        named = args.text("team")
        known = open_crew(session).records.teams()
        if named and named in known:
            return named
        if not named and len(known) == 1:
            return known[0]
        raise
