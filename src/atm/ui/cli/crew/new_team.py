"""A team that `up`, `spawn` or `run` made, and takes back if not one agent could be started."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from atm.core.errors import AtmError
from atm.core.untrusted_text import shell_words
from atm.crew.services.ending import forget, leave_nothing
from atm.roster.services.ending import take_back_team
from atm.ui.cli.roster.enrolling import forget_person

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.services.crewroom import Crewroom
    from atm.ui.cli.crew.wishes import TeamAndPerson
    from atm.ui.cli.session import Session


@contextmanager
def taken_back_on_failure(session: Session, crew: Crewroom, home: TeamAndPerson) -> Iterator[None]:
    """Also on Ctrl-C. A team that was there before is left alone."""
    try:
        yield
    except BaseException:
        take_back(session, crew, home)
        raise


def take_back(session: Session, crew: Crewroom, home: TeamAndPerson) -> None:
    """The team, its agents' records, and the identity that was set for the person who made it."""
    if not home.is_new:
        return
    try:
        leave_nothing(crew, home.team, force=False)
        if not take_back_team(session.room, home.team):
            return
        forget(crew, home.team)
        if home.person is not None:
            forget_person(session, home.person)
    except (AtmError, OSError) as error:
        command = f"atm teams delete {shell_words(home.team)}"
        session.warn(f"Warning: the new team {home.team} is left behind: {error}; delete it: {command}")
        return
    home.is_new, home.person = False, None
