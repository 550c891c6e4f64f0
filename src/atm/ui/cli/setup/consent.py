"""A person's yes, asked for on the way, and what a person changes by a command."""

from __future__ import annotations

import os

from atm.core.errors import AtmError
from atm.team.services.standing import check_person, is_person
from atm.ui.cli.setup.trust import ask
from atm.wiring.files import change_settings
from atm.wiring.mail import build_room
from atm.wiring.trust import change_with_consent, examine, give_consent, was_refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.roster.services.teamroom import Teamroom
    from atm.ui.cli.session import Session


def said_yes(session: Session) -> bool:
    """Ask a person at a terminal, unless they have said no to this content before."""
    if not _is_person(session):
        return False
    try:
        found = examine(session.layout, session.settings.repo_file)
        if was_refused(session.layout, found) or not ask(session, found):
            return False
        give_consent(session.layout, found)
    except AtmError as error:
        session.warn(f"Warning: {error}")
        return False
    return True


def change_file(session: Session, path: str, change: Callable[[str], str], *, is_repos: bool) -> None:
    """
    Change a settings file. In a repository's the user's own words need no second yes; an agent's do. What the user's
    own file says holds everywhere, so only a person has it changed.
    """
    if is_repos:
        change_with_consent(session.layout, path, change, by_person=_is_person(session))
        return
    check_person(_room(session), "change your settings")
    change_settings(session.layout, path, change)


def _is_person(session: Session) -> bool:
    return is_person(_room(session))


def _room(session: Session) -> Teamroom:
    """One of its own: the session's needs the settings, and these are what it is about."""
    room = build_room(session.layout)
    room.acting_pid = os.getpid()
    return room
