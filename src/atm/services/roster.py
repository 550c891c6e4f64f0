"""
Teams and members: create, add, remove.

A member is two files, an entry in the roster and an inbox. Each change of both is written down first, so that a
crash in the middle is finished by the next roster command or `atm doctor --fix`, and never stays half done.
"""

from __future__ import annotations

from atm.domain.errors import MemberInUse, NoSuchMember, RequestError, TeamNotOurs
from atm.domain.names import check_new_name, find_name, is_claudes_team, nearest_name
from atm.formats.team_config import decode_team, new_member, new_team, with_member, without_member
from atm.services.mail_upkeep import archive_rows
from atm.services.mailroom import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.team import Team
    from atm.services.mailroom import Mailroom


class NewMember:
    """What is known of somebody who joins."""

    __slots__ = ("active", "agent_type", "backend", "cwd", "model", "name")

    def __init__(
        self,
        name: str,
        *,
        agent_type: str = "general-purpose",
        model: str = "",
        cwd: str = "",
        backend: str = "",
        active: bool | None = None,
    ) -> None:
        self.name = name
        self.agent_type = agent_type
        self.model = model
        self.cwd = cwd
        self.backend = backend
        self.active = active


def create_team(room: Mailroom, team: str, *, description: str = "", lead: str | None = None) -> bool:
    """Make a team; False if there was one already. With a lead, that member is added too."""
    check_new_name(team, "team")
    existing = room.rosters.find(team)
    if existing is not None and existing != team:
        raise RequestError(
            f"there is a team {existing!r} already, which some file systems cannot tell from {team!r}",
            "choose another name",
        )
    if lead is not None:
        check_new_name(lead, "member")
    content = new_team(team, description=description, lead=lead or "team-lead", now=room.clock.now())
    made = room.rosters.create(team, content)
    if lead is not None:
        add_member(room, team, NewMember(lead, agent_type="team-lead"))
    return made


def add_member(room: Mailroom, team: str, new: NewMember) -> bool:
    """Add a member and its inbox; False if both were there. Repeating it mends what is missing."""
    found = recover(room, find_team(room, team))
    known = found.member(new.name)
    name = known.name if known is not None else check_new_name(new.name, "member")
    if known is not None and room.inboxes.exists(found.name, name):
        return False
    room.rosters.note_intent(found.name, {"verb": "add", "name": name})
    room.inboxes.create(found.name, name)
    if known is None:
        _enter(room, found.name, new, name)
    room.rosters.note_intent(found.name, None)
    return True


def _enter(room: Mailroom, team: str, new: NewMember, name: str) -> None:
    entry = new_member(
        name,
        team,
        agent_type=new.agent_type,
        model=new.model,
        cwd=new.cwd,
        backend=new.backend,
        active=new.active,
        now=room.clock.now(),
    )

    def change(data: bytes) -> bytes:
        return data if decode_team(data, team).member(name) is not None else with_member(data, entry)

    room.rosters.change(team, change)


def remove_member(room: Mailroom, team: str, name: str, *, force: bool = False) -> str | None:
    """
    Take a member off the roster, its inbox to the archive first; the path of the archive.

    Also takes away the inbox of somebody who is on no roster. Unread mail is only taken with `force`.
    """
    found = recover(room, find_team(room, team))
    member = found.member(name)
    spelled = member.name if member is not None else find_name(name, room.inboxes.owners(found.name))
    if spelled is None:
        near = nearest_name(name, found.names)
        raise NoSuchMember(
            f"team {found.name!r} has no member {name!r}",
            f"did you mean {near!r}?" if near else "see `atm members`",
        )
    rows = room.inboxes.rows(found.name, spelled)
    unread = sum(not row.read for row in rows)
    if unread and not force:
        raise MemberInUse(
            f"{spelled!r} has {unread} unread messages",
            "read them first, or use --force: they go to the archive",
        )
    archived = archive_rows(room, found.name, spelled, rows) if rows else None
    room.rosters.note_intent(found.name, {"verb": "remove", "name": spelled})
    _leave(room, found.name, spelled)
    room.rosters.note_intent(found.name, None)
    return archived


def _leave(room: Mailroom, team: str, name: str) -> None:
    if find_team(room, team).member(name) is not None:
        room.rosters.change(team, lambda data: without_member(data, name))
    room.inboxes.remove(team, name)


def recover(room: Mailroom, team: Team) -> Team:
    """Finish what a killed command began: an addition is undone unless it was entered, a removal is completed."""
    if is_claudes_team(team.name):
        raise TeamNotOurs(
            f"{team.name!r} is a team of Claude Code, which overwrites its roster",
            "ask the lead of that session to change it",
            team.read_from,
        )
    intent = room.rosters.intent(team.name)
    if intent is None:
        return team
    name, verb = intent.get("name", ""), intent.get("verb")
    if verb == "remove" and name:
        _finish_removal(room, team.name, name)
    elif verb == "add" and name and team.member(name) is None and not room.inboxes.rows(team.name, name):
        room.inboxes.remove(team.name, name)
    room.rosters.note_intent(team.name, None)
    return find_team(room, team.name)


def _finish_removal(room: Mailroom, team: str, name: str) -> None:
    rows = room.inboxes.rows(team, name)
    if rows:
        archive_rows(room, team, name, rows)  # mail may have come in between
    _leave(room, team, name)
