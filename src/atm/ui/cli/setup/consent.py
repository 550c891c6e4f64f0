"""A command in a repository whose settings no person has said yes to: what is left out, and the question."""

from __future__ import annotations

import os
import sys

from atm.domain.errors import AtmError
from atm.services.team.standing import check_person, members_above
from atm.ui.cli.setup.trust import ask
from atm.wiring.files import change_settings
from atm.wiring.mail import build_room
from atm.wiring.trust import change_with_consent, examine, give_consent, was_refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.config import Settings
    from atm.services.roster.teamroom import Teamroom
    from atm.ui.cli.session import Session

MOST_NAMED = 5


def note(settings: Settings) -> str:
    """What counts as absent, and the command that changes that."""
    repo, file = settings.repo, settings.repo_file
    if repo.owner is not None:
        return f"note: {file} is not read: it, its folder or its repository belongs to another user ({repo.owner})"
    named = ", ".join([*repo.ignored][:MOST_NAMED]) + (", …" if len(repo.ignored) > MOST_NAMED else "")
    return f"note: {file} is not trusted, so this counts as absent: {named}; look at it with: atm trust --show {file}"


def ask_or_tell(session: Session) -> bool:
    """At a terminal a person is asked, once for each content of the file; else one line says what is left out."""
    if _said_yes(session, session.settings):
        return True
    session.warn(note(session.settings))
    return False


def _said_yes(session: Session, settings: Settings) -> bool:
    """Not if they have said no to this content before."""
    if session.as_json or not settings.repo.ignored or not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    if not _is_person(session):
        return False
    try:
        found = examine(session.layout, settings.repo_file)
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
    """Does no member's process stand above this one?"""
    return not any(members_above(_room(session)))


def _room(session: Session) -> Teamroom:
    """One of its own: the session's needs the settings, and these are what it is about."""
    room = build_room(session.layout)
    room.acting_pid = os.getpid()
    return room
