"""`atm top`: the screen that people leave open."""

from __future__ import annotations

import os
import sys

from atm.core.errors import NoSuchTeam, UsageError
from atm.ui.cli.arguments import TEAM, Args, Command, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session
    from atm.ui.tui.reading import TeamReader

COMMAND = Command(
    "top",
    "the screen: who needs you, what goes wrong, what everybody is at; answer, write, approve",
    text="Press ? for its keys. Every key runs a command of atm, and the screen says which.",
    options=(
        TEAM,
        Option("--plain", help="lines instead of a drawing, for screen readers and terminals that cannot draw"),
        Option("--ascii", help="no signs beyond ASCII"),
        Option("--tmux", help="the windows of the team's agents side by side, in tmux"),
    ),
    examples=("atm top", "atm top --team backend", "atm top --plain", "atm top --tmux"),
)


def execute(args: Args, session: Session) -> int:
    if session.as_json:
        raise UsageError("the screen is for people", "for programs: `atm snapshot --json --watch`")
    if args.flag("tmux"):
        from atm.ui.cli.snapshot.side_by_side import arrange

        return arrange(args, session)
    team = _team(args, session)
    if args.flag("plain") or session.environment.get("TERM", "dumb") == "dumb":
        from atm.ui.tui.plain import speak

        reader = build_reader(session)
        return speak(session, reader, team or next(iter(reader.snapshots.teams()), ""))
    if not (sys.stdout.isatty() and sys.stdin.isatty()):
        raise UsageError("the screen needs a terminal", "in a pipe: `atm top --plain`, `atm status` or `atm snapshot`")
    return _show(args, session, team)


def _team(args: Args, session: Session) -> str:
    """The team that is meant; empty if there are several, or none: then the screen lets one choose."""
    if args.text("team") or session.home_team():
        return session.team(args)
    from atm.team.services.choosing import choose_team

    try:
        return choose_team(session.room, session.whereabouts).team
    except NoSuchTeam:
        return ""


def build_reader(session: Session) -> TeamReader:
    from atm.ui.tui.reading import TeamReader
    from atm.wiring.crew import build_crewroom
    from atm.wiring.snapshot import build_snapshots

    parts = session.layout, session.settings, session.boardroom, session.environment
    return TeamReader(session, build_snapshots(*parts), build_crewroom(*parts))


def _show(args: Args, session: Session, team: str) -> int:
    try:
        from atm.ui.tui.app import Top
    except ImportError as error:
        if error.name is None or error.name.split(".")[0] not in ("textual", "rich"):
            raise
        from atm.ui.views.extras import extra_command

        raise UsageError(
            "the screen needs Textual", f"install it: {extra_command('tui')}; or `atm top --plain`"
        ) from error
    from atm.ui.faces.view_names import OVERVIEW, TEAMS
    from atm.ui.tui.model import Model

    for stale in ("COLUMNS", "LINES"):  # whoever exported them meant another size; the terminal knows its own
        os.environ.pop(stale, None)
    model = Model(team=team, view=OVERVIEW if team else TEAMS, now=session.room.clock.now())
    model.ascii = args.flag("ascii") or session.environment.get("TERM") == "linux"
    return Top(lambda: build_reader(session), session.room.clock, session.environment, model).run() or 0
