"""What becomes of the last run of a team that died, when its user types `atm run` again."""

from __future__ import annotations

from atm.core.untrusted_text import one_line, shell_words
from atm.core.work_errors import RunDied
from atm.runs.rules.standing import DIED
from atm.runs.services.starting import last_run
from atm.ui.cli.asking import answer_to, can_ask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.runs.rules.orders import RunOrder
    from atm.runs.services.runroom import Runroom
    from atm.runs.services.starting import LastRun
    from atm.ui.cli.session import Session


def died_before(desk: Runroom, team: str, *, is_ours: bool = False) -> LastRun | None:
    """The last run, if it died and can be resumed. `is_ours`: does the caller hold the lock of the loop?"""
    last = last_run(desk, team, is_ours=is_ours)
    return last if last is not None and last.state == DIED and last.order is not None else None


def check_none_died(desk: Runroom, team: str, known: LastRun | None) -> None:
    """
    Raise RunDied if a run other than `known` has died. Called with the lock of the loop: a run that was under way when
    the user was asked may have been killed before the answer.
    """
    last = died_before(desk, team, is_ours=True)
    if last is not None and (known is None or known.run != last.run):
        raise run_died(last, team)


def resumed_instead(session: Session, last: LastRun, team: str) -> RunOrder | None:
    """The run that the user resumes instead of beginning another. Without a terminal to ask at, RunDied is raised."""
    if not can_ask(session):
        raise run_died(last, team)
    question = (
        f"{one_line(last.in_words)}\n"
        "  yes: resume it; agents at work are taken over\n"
        "  no: end its agents, save their work, and begin this run instead\n"
        "Resume? [Y/n]"
    )
    return last.order if answer_to(question).casefold() in ("", "y", "yes") else None


def run_died(last: LastRun, team: str) -> RunDied:
    resume = f"atm run --resume {shell_words(last.run)} --team {shell_words(team)}"
    return RunDied(
        f"the last run of team {team!r} did not end: {last.in_words}",
        f"resume it: {resume}; or begin another run, which ends what is left of this one: add --fresh",
    )
