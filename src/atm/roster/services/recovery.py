"""
Finishing what killed roster commands began, before anything else is changed.

An addition is undone unless it was entered, a removal is completed, a restore and a deletion are finished.
"""

from __future__ import annotations

from atm.core.errors import FileBusy
from atm.core.names import same_name
from atm.mail.services.retention import archive_rows
from atm.mail.services.surfacing import recover as give_back
from atm.team.formats.team_config import without_member
from atm.team.rules.team import check_open
from atm.team.services.lifecycle import check_ours, note_member
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.mail.rules.messages import Message
    from atm.roster.services.teamroom import Teamroom
    from atm.team.rules.team import Team

    Farewell = Callable[[str], object]


MOST_ARRIVALS = 20
"""Rounds of archiving while mail still comes in for a member who is being removed."""


RESTORING = "a backup"
"""The name under which a restore is written down; no member that we create can have it."""


def move_out(room: Teamroom, team: str, name: str) -> str | None:
    """First off the roster, so that no new mail is addressed; then the mail to the archive until nothing is left."""
    if find_team(room, team).member(name) is not None:
        room.rosters.change(team, lambda data: without_member(data, name))
    _give_back(room, team, name)
    path = None
    for _ in range(MOST_ARRIVALS):
        path = _archive_all(room, team, name) or path
        if room.inboxes.remove(team, name):
            forget(room, team, name)
            return path
    raise FileBusy(f"mail for {name!r} keeps coming in", "try again")


def set_aside(room: Teamroom, team: str, name: str, *, has_inbox: bool) -> str | None:
    """
    What a former member of that name left goes to the archive before the newcomer is entered: their mail was for
    somebody else (D26). Where it is kept, if there was any.

    An inbox may also come before its owner: other programs write to whom they are about to start. Where nothing shows
    that somebody of that name was ever here, its mail is the newcomer's.
    """
    path = None
    if has_inbox and _was_here(room, team, name):
        _give_back(room, team, name)
        path = _archive_all(room, team, name)
    forget(room, team, name)
    return path


def _was_here(room: Teamroom, team: str, name: str) -> bool:
    """They left a sign of life or a way to be reached, or the ledger tells of mail for them or of their removal."""
    left = room.presence.last(team, name) is not None or room.endpoints.of(team, name) is not None
    return left or any(same_name(entry.agent, name) for entry in room.ledger.entries(team)[0])


def _give_back(room: Teamroom, team: str, name: str) -> None:
    """What nobody saw is archived as unread, and no namesake finds the note."""
    if room.surfacings.is_cut_off(team, name):
        give_back(room, team, name)


def forget(room: Teamroom, team: str, name: str) -> None:
    """Where they were and how they could be reached: a namesake is somebody else (D26)."""
    room.presence.forget(team, name)
    room.endpoints.forget(team, name)


def _archive_all(room: Teamroom, team: str, name: str) -> str | None:
    kept: list[str] = []

    def change(rows: list[Message]) -> list[Message]:
        if rows:
            kept.append(archive_rows(room, team, name, rows))
        return []

    room.inboxes.change(team, name, change)
    return kept[-1] if kept else None


def recover(room: Teamroom, team: Team) -> Team:
    """
    Finish what killed commands began, and refuse what may not be changed.

    An addition is undone unless it was entered, a removal is completed, a restore and a deletion are finished. Every
    change of a roster passes here, so this is also where completed teams and those of Claude Code are refused.
    """
    check_ours(team)
    finish_pending_deletions(room)
    for intent in room.rosters.abandoned(team.name):
        verb, name = intent.get("verb", ""), intent.get("name", "")
        with room.rosters.undertaking(team.name, verb, name, intent.get("detail", "")):
            if not team.completed:  # there, only the note of a restore can have been left, after its last step
                _finish(room, team.name, verb, name, intent.get("detail", ""))
    return check_open(find_team(room, team.name))


def _finish(room: Teamroom, team: str, verb: str, name: str, detail: str) -> None:
    if verb == "restore" and detail:
        from atm.roster.services.restore_pass import restore_again

        restore_again(room, team, detail)
    elif verb == "remove" and name:
        move_out(room, team, name)
    elif verb == "add" and name:
        if find_team(room, team).member(name) is None:
            room.inboxes.remove(team, name)
        else:
            note_member(room, team, name)


def finish_pending_deletions(room: Teamroom) -> None:
    if room.files.cut_off():
        from atm.roster.services.deletions import finish_deletions

        finish_deletions(room)
