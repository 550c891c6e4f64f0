"""
The end of a team: archive it, which makes it immutable and keeps it; or delete it, after a backup.

A deletion moves the team's folder out of the way in one step; from that moment the team is gone. What follows (its
task list, a last look whether the backup holds everything, removing both) is finished by the next roster command if
the process is killed.
"""

from __future__ import annotations

from atm.core.errors import NoSuchTeam
from atm.core.names import check_known_name
from atm.core.plain import counted
from atm.core.untrusted_text import shell_words
from atm.core.work_errors import TeamInUse
from atm.files.formats.times import for_name
from atm.mail.services.overview import InboxFacts, inbox_facts
from atm.mail.services.spooling import drain_on_the_way
from atm.roster.ports.team_files import Deletion
from atm.roster.services.backups import back_up, inboxes_in
from atm.roster.services.deletions import finish_deletion, finish_deletions
from atm.roster.services.recovery import recover
from atm.team.rules.lifecycle import COMPLETE
from atm.team.rules.liveness import ONLINE
from atm.team.services import presence
from atm.team.services.lifecycle import check_ours, walk
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set

    from atm.roster.services.teamroom import Teamroom
    from atm.team.rules.team import Team


class Ended:
    """What was done to a team, and where its backup lies."""

    __slots__ = ("backup_path", "done", "team")

    def __init__(self, team: str, done: bool, backup_path: str | None) -> None:
        self.team = team
        self.done = done
        """False if it had been done before."""
        self.backup_path = backup_path


def archive_team(room: Teamroom, team: str, by: str, *, force: bool = False) -> Ended:
    """Complete a team: nothing in it changes any more, and a backup of it is kept for ever."""
    found = check_ours(find_team(room, team))
    if found.completed:
        walk(room, found.name, COMPLETE, by)  # a crash may have left the file behind the mark
        return Ended(found.name, False, _final(room, found.name) or back_up(room, found.name, final=True).path)
    recover(room, found)
    drain_on_the_way(room)
    if not force:
        _check_unused(found, [*_unread(room, found), *_waiting(room, found), *_open_tasks(room, found)], "archive")
    walk(room, found.name, COMPLETE, by)
    return Ended(found.name, True, back_up(room, found.name, final=True).path)


def _final(room: Teamroom, team: str) -> str | None:
    return next((kept.path for kept in reversed(room.backups.kept(team)) if kept.is_final), None)


def delete_team(room: Teamroom, team: str, *, force: bool = False) -> Ended:
    """Delete a team, after a backup. One that was deleted before is no error."""
    finish_deletions(room)
    name = room.rosters.find(check_known_name(team, "team"))
    if name is None:
        return _gone(room, team)
    aside = f".deleted-{name}-{for_name(room.clock.now())}"
    check_ours(find_team(room, name))
    with room.files.deleting(name, aside):
        if room.rosters.find(name) is None:  # another process was quicker
            return _gone(room, name)
        found = find_team(room, name)
        if not force:
            _check_unused(found, why_in_use(room, found), "delete")
        room.backups.make(name, room.clock.now())
        finish_deletion(room, Deletion(name, aside), begin=True)
    return Ended(name, True, room.backups.kept(name)[-1].path)


def take_back_team(room: Teamroom, team: str) -> bool:
    """
    Delete a team that a command made a moment ago and could not use. False if it stays: others use it already.

    Its tasks came from the same command, so they keep nothing.
    """
    found = find_team(room, team)
    if found.completed or [*_unread(room, found), *_waiting(room, found)]:
        return False
    if any(name != found.lead and _is_online(room, found, name) for name in found.names):
        return False  # the lead's heartbeat is of the command itself
    before = {kept.path for kept in room.backups.kept(found.name)}
    done = delete_team(room, found.name, force=True).done
    _discard_empty(room, found.name, before)
    return done


def _discard_empty(room: Teamroom, team: str, before: Set[str]) -> None:
    """Remove the backup of a team that was never used. A backup with mail stays: the mail may have come just now."""
    for kept in room.backups.kept(team):
        if kept.path in before or kept.is_final:
            continue
        inboxes = inboxes_in(room.backups.read(team, kept.path))
        if all(data.strip() in (b"", b"[]") for data in inboxes.values()):
            room.backups.discard(team, kept.path)


def _gone(room: Teamroom, team: str) -> Ended:
    kept = room.backups.kept(team)
    if kept:
        return Ended(team, False, kept[-1].path)
    raise NoSuchTeam(f"there is no team {team!r}, and no backup of one", "see `atm teams`")


def why_in_use(room: Teamroom, team: Team) -> list[str]:
    """Every reason not to delete a team; none for one that is complete, apart from members who are there."""
    online = [name for name in team.names if _is_online(room, team, name)]
    there = [f"{', '.join(online[:5])} {'is' if len(online) == 1 else 'are'} online"] if online else []
    return there if team.completed else [*there, *_unread(room, team), *_waiting(room, team), *_open_tasks(room, team)]


def _is_online(room: Teamroom, team: Team, name: str) -> bool:
    return presence.liveness(room.presence, team, name, room.clock.now()).value == ONLINE


def _unread(room: Teamroom, team: Team) -> list[str]:
    facts = inbox_facts(room, team)
    unread = sum(one.unread for one in facts if isinstance(one, InboxFacts))
    broken = [one.agent for one in facts if not isinstance(one, InboxFacts)]
    return [
        *([f"{counted(unread, 'message is', 'messages are')} unread"] if unread else []),
        *([f"the inboxes of {', '.join(broken[:5])} cannot be read"] if broken else []),
    ]


def _waiting(room: Teamroom, team: Team) -> list[str]:
    waiting = sum(spooled.entry.team == team.name for spooled in room.spool.pending())
    return [f"{counted(waiting, 'message waits', 'messages wait')} in the spool"] if waiting else []


def _open_tasks(room: Teamroom, team: Team) -> list[str]:
    count = room.files.tasks(team.name).open
    return [f"{counted(count, 'task is', 'tasks are')} open"] if count else []


def _check_unused(team: Team, reasons: list[str], verb: str) -> None:
    if reasons:
        command = f"atm teams {verb} --force {shell_words(team.name)}"
        raise TeamInUse(
            f"team {team.name!r} is in use: {'; '.join(reasons)}",
            f"settle that first, or use `{command}`: a backup is made in any case",
            team.read_from,
        )
