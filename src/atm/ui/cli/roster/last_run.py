"""The last run of a team, for commands that show the team: read only where there was a run, and printed first."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.ui.cli.render import Style
from atm.ui.views.style import BOLD, RED, YELLOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.dependencies import Board
    from atm.core.plain import Plain
    from atm.team.rules.team import Team
    from atm.ui.cli.session import Session


def last_runs_of(session: Session, team: Team, board: Board | None = None) -> list[Plain]:
    """As in the snapshot. What cannot be read is a warning, and hides nothing else of the team."""
    if not has_runs(session, team):
        return []
    from atm.wiring.snapshot import build_runs_now

    parts = session.layout, session.settings, session.boardroom, session.environment
    try:
        found = board if board is not None else session.boardroom.tasks.board(team.name)
        return build_runs_now(*parts).of(team, found)
    except (AtmError, OSError) as error:
        session.warn(f"Warning: the last run of {team.name} cannot be read: {error}")
        return []


def has_runs(session: Session, team: Team) -> bool:
    from atm.wiring.runs import build_runs

    return bool(build_runs(session.layout).names(team.name))


def show_last_run(session: Session, runs: list[Plain]) -> None:
    if not runs:
        return
    from atm.runs.rules.standing import DIED
    from atm.ui.views.team.last_run import last_runs, run_lines

    style, seen = Style(session), last_runs(runs)
    lines = run_lines(seen, session.room.clock.now())
    for at, line in enumerate(lines):
        # A command is typed as it stands: it is not broken where the terminal ends.
        colours = (BOLD, RED if seen[0].state == DIED else YELLOW) if at % 2 == 0 else ()
        session.print(style(line, *colours), is_folded=at % 2 == 0)
    if lines:
        session.print("")
