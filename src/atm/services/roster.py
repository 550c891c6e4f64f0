"""
Teams and members: create, add, remove.

A member is two files, an entry in the roster and an inbox. Each change of both is written down first, so that a
crash in the middle is finished by the next roster command or `atm doctor --fix`, and never stays half done.
"""

from __future__ import annotations

from atm.domain.errors import AtmError, FileBusy, MemberInUse, NoSuchMember, RequestError, TeamNotOurs
from atm.domain.names import check_known_name, check_new_name, find_name, is_claudes_team, nearest_name, same_name
from atm.formats.journal import ROSTER, Line
from atm.formats.team_config import decode_team, new_member, new_team, with_member, without_member
from atm.formats.times import to_iso
from atm.services.mail_upkeep import archive_rows
from atm.services.mailroom import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.messages import Message
    from atm.domain.team import Team
    from atm.services.mailroom import Mailroom


MOST_ARRIVALS = 20
"""Rounds of archiving while mail still comes in for somebody who is being removed."""


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
    with room.rosters.undertaking(found.name, "add", name):
        made = room.inboxes.create(found.name, name)
        try:
            if known is None:
                _enter(room, found.name, new, name)
        except AtmError:
            if made:
                room.inboxes.remove(found.name, name)  # both or neither
            raise
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


def remove_member(room: Mailroom, team: str, name: str, *, force: bool = False) -> Removed:
    """
    Take a member off the roster, its inbox to the archive first.

    Also takes away the inbox of somebody who is on no roster. Unread mail is only taken with `force`. Somebody who is
    not there any more is no error, unless the name looks like a slip of the pen.
    """
    found = recover(room, find_team(room, team))
    member = found.member(name)
    spelled = member.name if member is not None else find_name(name, room.inboxes.owners(found.name))
    if spelled is None:
        near = nearest_name(check_known_name(name, "member"), found.names)
        if near is None or _was_removed(room, found.name, name):
            return Removed(False, None)
        raise NoSuchMember(f"team {found.name!r} has no member {name!r}", f"did you mean {near!r}?")
    unread = sum(not row.read for row in room.inboxes.rows(found.name, spelled))
    if unread and not force:
        raise MemberInUse(
            f"{spelled!r} has {unread} unread messages", "read them first, or use --force: they go to the archive"
        )
    with room.rosters.undertaking(found.name, "remove", spelled):
        done = Removed(True, _leave(room, found.name, spelled))
    _note_removal(room, found.name, spelled)
    return done


def _note_removal(room: Mailroom, team: str, name: str) -> None:
    """In the ledger, so that a second removal knows that it is one, and no slip of the pen."""
    line = Line(kind=ROSTER, ids=[], agent=name, state="removed", at=to_iso(room.clock.now()), evidence="roster")
    try:
        room.ledger.append(team, [line])
    except AtmError:
        return


def _was_removed(room: Mailroom, team: str, name: str) -> bool:
    return any(entry.kind == ROSTER and same_name(entry.agent, name) for entry in room.ledger.entries(team)[0])


class Removed:
    """Whether somebody was removed, and where the mail went."""

    __slots__ = ("archive_path", "removed")

    def __init__(self, removed: bool, archive_path: str | None) -> None:
        self.removed = removed
        self.archive_path = archive_path


def _leave(room: Mailroom, team: str, name: str) -> str | None:
    """First off the roster, so that no new mail is addressed; then the mail to the archive until nothing is left."""
    if find_team(room, team).member(name) is not None:
        room.rosters.change(team, lambda data: without_member(data, name))
    path = None
    for _ in range(MOST_ARRIVALS):
        path = _empty(room, team, name) or path
        if room.inboxes.remove(team, name):
            return path
    raise FileBusy(f"mail for {name!r} keeps coming in", "try again")


def _empty(room: Mailroom, team: str, name: str) -> str | None:
    kept: list[str] = []

    def change(rows: list[Message]) -> list[Message]:
        if rows:
            kept.append(archive_rows(room, team, name, rows))
        return []

    room.inboxes.change(team, name, change)
    return kept[-1] if kept else None


def recover(room: Mailroom, team: Team) -> Team:
    """Finish what killed commands began: an addition is undone unless it was entered, a removal is completed."""
    if is_claudes_team(team.name):
        raise TeamNotOurs(
            f"{team.name!r} is a team of Claude Code, which overwrites its roster",
            "ask the lead of that session to change it",
            team.read_from,
        )
    for intent in room.rosters.abandoned(team.name):
        name, verb = intent.get("name", ""), intent.get("verb", "")
        with room.rosters.undertaking(team.name, verb, name):
            if verb == "remove" and name:
                _leave(room, team.name, name)
            elif verb == "add" and name and find_team(room, team.name).member(name) is None:
                room.inboxes.remove(team.name, name)
    return find_team(room, team.name)
