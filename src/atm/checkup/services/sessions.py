"""What `atm doctor` finds about sessions: copies of mail that left the machine, states that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from atm.checkup.services.findings import WARNING, Finding
from atm.core.errors import AtmError
from atm.core.names import is_claudes_team
from atm.core.plain import counted
from atm.core.untrusted_text import shell_word, shell_words
from atm.crew.rules.refs import checkpoint_branch
from atm.files.formats.json_record import NotJson
from atm.sessions.services.restoring import compare
from atm.team.formats.lead_fields import decode_lead

if TYPE_CHECKING:
    from atm.sessions.services.sessionroom import SessionRoom


def _where(desk: SessionRoom, team: str) -> str:
    """Where its checkpoints lie, as its state says; around whoever asks, if that cannot be read."""
    data = desk.room.states.read(team)
    try:
        return decode_lead(data).common if data is not None else ""
    except NotJson:
        return desk.git.repository(desk.caller.folder)


def examine_sessions(desk: SessionRoom) -> Iterator[Finding | str]:
    """Reads only."""
    led = 0
    for team in desk.room.rosters.teams():
        common = "" if is_claudes_team(team) else _where(desk, team)
        if not common:
            continue
        try:
            copies, remotes = compare(desk, team, common), desk.git.on_remotes(common, team)
        except AtmError as error:
            yield Finding("checkpoints", WARNING, f"the checkpoints of {team} cannot be read: {error}", error.remedy)
            continue
        led += copies.git is not None
        branch = checkpoint_branch(team)
        for remote in remotes:
            what = f"the remote {remote} has the branch {branch}, which holds the mail of team {team}"
            mend = f"git push {shell_word(remote)} --delete {shell_word(branch)}"
            yield Finding("checkpoints-pushed", WARNING, what, mend, subject=team)
        if copies.home is None and copies.git is not None:
            what = f"the state of team {team} is lost or torn; its checkpoint in git has it"
            yield Finding("lost-state", WARNING, what, f"atm session resume {shell_words(team)}", subject=team)
    yield f"{counted(led, 'team has', 'teams have')} checkpoints in git" if led else "no checkpoints in git"
