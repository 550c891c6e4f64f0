"""Backups of a team: making one, and saying what is in it. Putting one back is `services.restoring`."""

from __future__ import annotations

from atm.board.formats.task import task_number
from atm.files.formats.json_record import NotJson
from atm.files.formats.layout import inbox_owner
from atm.roster.formats.backup_manifest import CONFIG, INBOXES, TASKS, TEAM
from atm.team.formats.team_config import decode_team
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.roster.ports.backups import Contents
    from atm.roster.services.teamroom import Teamroom


class BackedUp:
    """A backup in numbers."""

    __slots__ = ("bytes", "inboxes", "members", "path", "tasks", "team")

    def __init__(self, team: str, contents: Contents) -> None:
        self.team = team
        self.path = contents.path
        self.bytes = contents.manifest.bytes
        self.inboxes = len(inboxes_in(contents))
        self.tasks = len(tasks_in(contents))
        self.members = _members(contents)


def back_up(room: Teamroom, team: str, *, final: bool = False) -> BackedUp:
    """Copy a team, ours or Claude Code's: backing up is reading."""
    found = find_team(room, team)
    return BackedUp(found.name, room.backups.make(found.name, room.clock.now(), final=final))


def inboxes_in(contents: Contents) -> dict[str, bytes]:
    """The inboxes of a backup by their owners."""
    return {
        owner: data
        for path, data in contents.files.items()
        if path.startswith(INBOXES) and (owner := inbox_owner(path.removeprefix(INBOXES))) and "/" not in owner
    }


def tasks_in(contents: Contents) -> dict[int, bytes]:
    """The task files of a backup by their numbers."""
    found = {}
    for path, data in contents.files.items():
        number = task_number(path.removeprefix(TASKS)) if path.startswith(TASKS) else None
        if number is not None:
            found[number] = data
    return found


def _members(contents: Contents) -> int:
    try:
        return len(decode_team(contents.files.get(TEAM + CONFIG, b""), "").members)
    except NotJson:
        return 0  # kept as it was found; a restore says that it cannot be read
