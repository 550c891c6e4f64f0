"""The team of the repository that a command is run in: chosen, checked, and bound to it."""

from __future__ import annotations

from atm.core.names import is_claudes_team
from atm.core.untrusted_text import one_line
from atm.team.rules.choosing import REPOSITORY
from atm.team.rules.repositories import MOVED, OTHER, REPLACED, base_names
from atm.team.services.belonging import (
    RepositoryTeams,
    binding_of,
    words_about,
    words_about_move,
    wrong_repository,
)
from atm.team.services.choosing import Choice
from atm.ui.cli.session import working_folder
from atm.wiring.files import build_repositories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from atm.runs.services.runroom import Runroom
    from atm.team.services.belonging import ChosenTeam
    from atm.ui.cli.session import Session

MOST_RUNS = 20


def belonging_here(session: Session, folder: str = "") -> RepositoryTeams | None:
    """None where there is no repository."""
    repositories = build_repositories()
    here = repositories.around(folder or working_folder())
    if here is None:
        return None
    return RepositoryTeams(session.room, repositories, here, lambda team: _recorded(session, team))


def _recorded(session: Session, team: str) -> Iterator[str]:
    """Where the last runs and the agents of a team worked."""
    from atm.wiring.crew import build_agent_records
    from atm.wiring.runs import build_runs

    runs, records = build_runs(session.layout), build_agent_records(session.layout)
    for run in runs.names(team)[-MOST_RUNS:]:
        order = runs.order(team, run)
        if order is not None:
            yield order.folder
    for member in records.names(team):
        record = records.read(team, member)
        if record is not None:
            yield record.folder


def is_top(belonging: RepositoryTeams, folder: str) -> bool:
    return folder in (belonging.here.root, "")


def choose_here(session: Session, belonging: RepositoryTeams, folder: str, base: str = "") -> ChosenTeam:
    """The team of this repository, with one line about it where it is not simply the one of the folder's name."""
    bases = [base] if base else base_names(belonging.here, folder)
    chosen = belonging.choose(bases, is_top=is_top(belonging, folder))
    if said := words_about(chosen, bases[0], belonging.here.root or belonging.here.common_dir):
        session.warn(one_line(said))
    others = [name for name in session.room.rosters.teams() if name != chosen.team]
    if others:
        session.choice = Choice(chosen.team, REPOSITORY, others)
    return chosen


def check_named(session: Session, belonging: RepositoryTeams, team: str) -> None:
    """A team that the user named. Raises WrongRepository; says it if the repository moved."""
    stored, verdict = binding_of(session.room, team), belonging.check(team)
    if stored is not None and verdict in (MOVED, REPLACED):
        root = belonging.here.root or belonging.here.common_dir
        session.warn(one_line(words_about_move(team, verdict, stored.folder, root)))


def check_here(session: Session, team: str, *, is_named: bool) -> None:
    """
    For a command that works in the repository here, or that chose the team from here. Nothing is written.

    Outside of repositories every team is meant as it is named.
    """
    if is_claudes_team(team) or binding_of(session.room, team) is None:
        return
    belonging = belonging_here(session)
    if belonging is not None and belonging.verdict(team) == OTHER:
        error = wrong_repository(team, belonging.home_of(team), belonging.here)
        if not is_named:
            error.remedy = f"name it with --team {team}, or begin a team here: atm run, atm up"
            error.args = (error.what, error.remedy, error.path)
        raise error


def bind_here(session: Session, belonging: RepositoryTeams, team: str, desk: Callable[[], Runroom]) -> None:
    """Bind a team to the repository here. After a move, what it recorded of the former place is rewritten."""
    from atm.runs.services.moving import RepositoryMove, follow

    former = binding_of(session.room, team)
    if not belonging.bind(team) or former is None or former.common_dir == belonging.here.common_dir:
        return
    move = RepositoryMove(former.common_dir, belonging.here.common_dir)
    for warning in follow(desk(), team, move, has_worktrees=belonging.is_gone(former)):
        session.warn(f"note: {one_line(warning)}")


def rebind_here(session: Session, belonging: RepositoryTeams, team: str) -> str:
    """Bind a team to the repository here, as a person says. The folder of the former one; empty if there was none."""
    from atm.runs.services.moving import RepositoryMove, follow
    from atm.wiring.runs import build_runroom

    desk = build_runroom(session.layout, session.settings, session.boardroom, session.environment)
    with desk.runs.hold(team):
        former = belonging.rebind(team)
        if former is None:
            return ""
        move = RepositoryMove(former.common_dir, belonging.here.common_dir)
        for warning in follow(desk, team, move, has_worktrees=belonging.is_gone(former)):
            session.warn(f"note: {one_line(warning)}")
    return former.folder
