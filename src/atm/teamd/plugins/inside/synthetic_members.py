"""
Members that a plugin plays: entered in the roster with the backend `plugin:NAME`, and gone with their plugin.

Only the roster's entry goes. Unread mail is never taken away with it: it stays in the inbox, where the plugin finds
it when it is back, and mail that is sent meanwhile waits there too.
"""

from __future__ import annotations

from collections.abc import Callable

from atm.core.errors import AtmError, NoSuchTeam, TeamCompleted
from atm.core.names import same_name
from atm.mail.formats.journal import ROSTER
from atm.mail.rules.messages import Message
from atm.mail.services.retention import archive_rows
from atm.roster.services.members import add_member, note_removal
from atm.roster.services.recovery import recover
from atm.roster.services.teamroom import Teamroom
from atm.team.formats.team_config import decode_team, without_member
from atm.team.rules.team import Member
from atm.team.services.registry import find_team
from atm.teamd.plugins.api import PluginError

Farewell = Callable[[str, str], object]
"""Told (team, name) before a member leaves the roster: what they hold on the board is given back first."""


def backend_of(plugin: str) -> str:
    return f"plugin:{plugin}"


def play(room: Teamroom, team: str, name: str, plugin: str) -> bool:
    """Add a member that a plugin plays; False if it was there already. Never takes over another member's name."""
    found = find_team(room, team)
    _check_own(found.member(name), team, plugin)
    new = Member(name, agent_type=plugin, backend=backend_of(plugin), is_active=True)
    added = add_member(room, found.name, new, is_back=_played_last(room, found.name, name, plugin))
    _check_own(find_team(room, found.name).member(name), team, plugin)  # another writer may have been quicker
    return added


def _played_last(room: Teamroom, team: str, name: str, plugin: str) -> bool:
    """Was the last who had that name this plugin's member? Then what waited for it is its own."""
    left = [one for one in room.ledger.entries(team)[0] if one.kind == ROSTER and same_name(one.agent, name)]
    return bool(left) and left[-1].evidence == _ended(plugin)


def _ended(plugin: str) -> str:
    return f"plugin {plugin} ended"


def _check_own(member: Member | None, team: str, plugin: str) -> None:
    if member is not None and member.backend != backend_of(plugin):
        raise PluginError(
            f"{member.name!r} in team {team!r} is not a member that the plugin {plugin!r} plays",
            "let the plugin use another name",
        )


def retire(
    room: Teamroom, team: str, name: str, plugin: str, *, keep_inbox: bool, farewell: Farewell | None = None
) -> bool:
    """
    Take a member that a plugin played off the roster; False if it was not there, or is another member by now.

    Without `keep_inbox` an inbox that holds nothing unread goes too, what was read to the archive first.
    """
    try:
        found = recover(room, find_team(room, team))
    except (NoSuchTeam, TeamCompleted):
        return False  # there is no roster any more that could be wrong
    member = found.member(name)
    if member is not None and member.backend != backend_of(plugin):
        return False
    if member is not None:
        _take_off(room, found.name, member.name, plugin, farewell)
    if not keep_inbox and room.inboxes.exists(found.name, name):
        _clear_inbox(room, found.name, name)
    return member is not None


def _take_off(room: Teamroom, team: str, name: str, plugin: str, farewell: Farewell | None) -> None:
    if farewell is not None:
        try:
            farewell(team, name)
        except AtmError:
            pass  # a board that cannot be read must not keep a member that nobody plays

    def change(data: bytes) -> bytes:
        """Decided again on what lies there: another writer may have given the name to another member meanwhile."""
        now = decode_team(data, team).member(name)
        return without_member(data, name) if now is not None and now.backend == backend_of(plugin) else data

    room.rosters.change(team, change)
    note_removal(room, team, name, _ended(plugin))


def _clear_inbox(room: Teamroom, team: str, name: str) -> None:
    """Under the inbox's own lock: mail that comes in at this moment is unread, and keeps everything where it is."""

    def change(rows: list[Message]) -> list[Message]:
        if not rows or any(not row.read or not row.understood for row in rows):
            return rows
        archive_rows(room, team, name, rows)
        return []

    room.inboxes.change(team, name, change)
    room.inboxes.remove(team, name)
