"""`atm stop`: the emergency stop."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.runs.services.stopping import stop_with_runs
from atm.team.services.standing import check_roster
from atm.ui.cli.arguments import TEAM, Args, Command, Option
from atm.ui.cli.crew.stopped import stopped_code, stopped_json, stopped_words
from atm.ui.cli.crew.wishes import open_crew
from atm.ui.cli.waiting import Spinner
from atm.wiring.runs import build_runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

COMMAND = Command(
    "stop",
    "emergency stop: every agent ends now, and that is proven",
    text=(
        "Needs no daemon, and no team that can be read. Every process of an agent is found by the mark in its "
        "environment, those of its tools too. No other process is ended, whatever a file says: a run under way is "
        "asked to end, and has a minute to write its report. Nothing is started again before a person does. Exit "
        "code 1: something is left, and named; 3: none ran."
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
        done, runs = stop_with_runs(build_runs(session.layout), crew, teams, by, _known_teams(session))
    for trouble in done.troubles:
        session.warn(f"Warning: {trouble}")
    session.tell(stopped_json("stop", done, runs), stopped_words(done, runs))
    return stopped_code(done, runs)


def _known_teams(session: Session) -> list[str]:
    try:
        return session.room.rosters.teams()
    except (AtmError, OSError):
        return []


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
