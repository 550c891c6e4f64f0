"""
The person who makes a team is in it, with an inbox: whoever they write to can answer.

Their name becomes the default identity of this machine, in the user's own settings. It is the person's: an agent that
nobody named is still nobody (see `hook.who_calls` and `mcp.identity`).
"""

from __future__ import annotations

import os

from atm.core.errors import AtmError
from atm.core.untrusted_text import shell_words
from atm.files.formats.settings_edit import with_setting, without_setting
from atm.roster.services.members import add_member
from atm.team.rules.team import HUMAN, Member
from atm.team.services.registry import find_team
from atm.team.services.standing import is_person
from atm.ui.cli.session import working_folder
from atm.wiring.files import change_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session

IDENTITY = "core.identity"


class Enrolled:
    """Who was entered in a new team, and the settings file that says so from now on, if it does only now."""

    __slots__ = ("file", "name")

    def __init__(self, name: str, file: str) -> None:
        self.name = name
        self.file = file

    @property
    def in_words(self) -> list[str]:
        words = [f"you are in it as {self.name}; answers come to you: atm read"]
        new = "your name on this machine from now on (atm config set core.identity NAME)"
        return [*words, new] if self.file else words


def enrol_person(session: Session, team: str) -> Enrolled | None:
    """Enter whoever made a team. None for an agent, for whoever the launcher named, and for who cannot be named."""
    said = session.settings.setting(IDENTITY)
    if said.is_of_the_launcher or said.is_of_the_repo or session.is_of_an_agent or not is_person(session.room):
        return None
    from atm.wiring.setup import name_of_person

    is_new = said.origin == "default"
    name = name_of_person() if is_new else str(said.value)
    try:
        found = find_team(session.room, team)
        if not name or (found.member(name) is None and not _entered(session, found.name, name)):
            return None
        return Enrolled(name, _remember(session, name) if is_new else "")
    except AtmError as error:  # the team is there, and whoever made it can enter it by hand
        command = f"atm teams join --as NAME {shell_words(team)}"
        session.warn(f"Warning: you are not in team {team} yet: {error}; enter yourself: {command}")
        return None


def forget_person(session: Session, person: Enrolled) -> None:
    """Take the identity back that `enrol_person` has set, unless it was changed since."""
    if not person.file or str(session.settings.setting(IDENTITY).value) != person.name:
        return
    change_settings(session.layout, person.file, lambda text: without_setting(text, person.file, IDENTITY))
    session.read_settings_again()


def _entered(session: Session, team: str, name: str) -> bool:
    return add_member(session.room, team, Member(name, backend=HUMAN, agent_type=HUMAN, cwd=working_folder()))


def _remember(session: Session, name: str) -> str:
    """As `atm config set` would, in the same file."""
    named = session.environment.get("ATM_CONFIG")
    path = os.path.abspath(named) if named else session.layout.settings
    change_settings(session.layout, path, lambda text: with_setting(text, path, IDENTITY, name))
    session.read_settings_again()
    return path
