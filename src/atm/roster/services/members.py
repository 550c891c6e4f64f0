"""
Teams and members: create, add, join, update, leave, remove.

A member is two files, an entry in the roster and an inbox. Each change of both is written down first, so that a
crash in the middle is finished by the next roster command or `atm doctor --fix`, and never stays half done.
"""

from __future__ import annotations

from atm.core.errors import AtmError, RequestError
from atm.core.names import check_known_name, check_new_name, find_name, nearest_name, same_name
from atm.core.plain import counted
from atm.core.untrusted_text import shell_words
from atm.core.work_errors import MemberInUse
from atm.files.formats.times import to_iso
from atm.mail.formats.journal import ROSTER, Line
from atm.roster.services.recovery import finish_pending_deletions, move_out, recover, set_aside
from atm.team.formats.team_config import decode_team, new_member, new_team, with_fields, with_member
from atm.team.rules.liveness import OFFLINE, ONLINE
from atm.team.rules.team import AGENT, Member
from atm.team.services import presence
from atm.team.services.belonging import binding_of
from atm.team.services.lifecycle import begin, note_member
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.core.plain import Plain
    from atm.roster.services.teamroom import Teamroom
    from atm.team.rules.repositories import RepositoryBinding
    from atm.team.rules.team import Team

    Farewell = Callable[[str], object]


def create_team(
    room: Teamroom,
    team: str,
    *,
    description: str = "",
    lead: str | None = None,
    repository: RepositoryBinding | None = None,
) -> bool:
    """
    Make a team; False if there was one already. With a lead, that member is added too.

    With a repository the team is bound to it, and it is not made where another process has just bound it elsewhere.
    """
    check_new_name(team, "team")
    existing = room.rosters.find(team)
    if existing is not None and existing != team:
        raise RequestError(
            f"there is a team {existing!r} already, which some file systems cannot tell from {team!r}",
            "choose another name",
        )
    if lead is not None:
        check_new_name(lead, "member")
    if existing is None:
        _clear_the_ground(room, team)
        begin(room, team, lead or "", repository)
        bound = binding_of(room, team)
        if repository is not None and bound is not None and bound.place != repository.place:
            return False
    content = new_team(team, description=description, lead=lead or "team-lead", now=room.clock.now())
    made = room.rosters.create(team, content)
    if lead is not None:
        add_member(room, team, Member(lead, agent_type="team-lead"))
    return made


def _clear_the_ground(room: Teamroom, team: str) -> None:
    """A new team inherits nothing that was under way in a former one of the same name."""
    finish_pending_deletions(room)
    for intent in room.rosters.abandoned(team):
        with room.rosters.undertaking(team, intent.get("verb", ""), intent.get("name", "")):
            pass


def add_member(
    room: Teamroom, team: str, new: Member, *, is_back: bool = False, archived: list[str] | None = None
) -> bool:
    """
    Add a member and its inbox; False if both were there. Repeating it mends what is missing.

    `archived` gets the place of mail that lay there for a former member of that name; one that `is_back` keeps it.
    """
    found = recover(room, find_team(room, team))
    known = found.member(new.name)
    name = known.name if known is not None else check_new_name(new.name, "member")
    if known is not None and room.inboxes.exists(found.name, name):
        return False
    with room.rosters.undertaking(found.name, "add", name):
        is_new = find_team(room, found.name).member(name) is None  # another may have added it meanwhile
        made = room.inboxes.create(found.name, name)
        if is_new and not is_back:
            path = set_aside(room, found.name, name, has_inbox=not made)
            if path is not None and archived is not None:
                archived.append(path)
        try:
            if is_new:
                _enter(room, found.name, new, name)
        except AtmError:
            if made and not _may_be_entered(room, found.name, name):
                room.inboxes.remove(found.name, name)  # both or neither
            raise
        note_member(room, found.name, name)
    return True


def _may_be_entered(room: Teamroom, team: str, name: str) -> bool:
    """An error may come after the entry was made, when only its durability was in doubt."""
    try:
        return find_team(room, team).member(name) is not None
    except AtmError:
        return True  # an inbox too many is found and cleared; a member without one gets no mail


def _enter(room: Teamroom, team: str, new: Member, name: str) -> None:
    new.name = name
    entry = new_member(new, team, room.clock.now())

    def change(data: bytes) -> bytes:
        return data if decode_team(data, team).member(name) is not None else with_member(data, entry)

    room.rosters.change(team, change)


def update_member(room: Teamroom, team: str, name: str, fields: dict[str, Plain]) -> list[str]:
    """Set some fields of a member's entry, and no other character; the names of those that changed."""
    found = recover(room, find_team(room, team))
    member = found.member(name)
    if member is None:
        near = nearest_name(check_known_name(name, "member"), found.names)
        add = f"add it with `atm teams add-member {shell_words(found.name, name)}`"
        hint = f"did you mean {near!r}?" if near else add
        raise found.lacks(name, hint)
    spelled, changed = member.name, list[str]()

    def change(data: bytes) -> bytes:
        """Made again if another program writes meanwhile, so what changed is counted on the last version."""
        changed[:] = [key for key, value in fields.items() if with_fields(data, spelled, {key: value}) != data]
        return with_fields(data, spelled, fields)

    room.rosters.change(found.name, change)
    return changed


class Joined:
    """What joining did: a new member, or a member whose heartbeat and working folder are fresh again."""

    __slots__ = ("added", "archived", "changed", "name")

    def __init__(self, name: str, added: bool, changed: list[str], archived: list[str]) -> None:
        self.name = name
        self.added = added
        self.changed = changed
        self.archived = archived
        """Where mail is kept that lay there for a former member of that name."""


def join(room: Teamroom, team: str, me: Member) -> Joined:
    """Join a team oneself, or show up again: a sign of life is left either way."""
    found = recover(room, find_team(room, team))
    known = found.member(me.name)
    archived: list[str] = []
    added = add_member(room, found.name, me, archived=archived)
    name = known.name if known is not None else me.name
    changed = update_member(room, found.name, name, {"cwd": me.cwd}) if known is not None and me.cwd else []
    presence.beat(room.presence, find_team(room, found.name), name, room.clock.now(), "atm teams join")
    return Joined(name, added and known is None, changed, archived)


def leave(room: Teamroom, team: str, name: str, *, force: bool = False, first: Farewell | None = None) -> Removed:
    """Leave a team oneself. Unread mail needs `force`, and so does leaving as the lead."""
    found = recover(room, find_team(room, team))
    member = found.member(name)
    if member is None:
        return Removed(False, None)
    if not force:
        _check_unused(found, member.name, _reasons(found, member.name, _unread(room, found.name, member.name)))
    return _take_off(room, found.name, member.name, first)


def remove_member(
    room: Teamroom, team: str, name: str, *, force: bool = False, first: Farewell | None = None
) -> Removed:
    """
    Take a member off the roster, its inbox to the archive first.

    Also takes away the inbox of a name that is on no roster. Without `force` nobody is removed who may be at work,
    who leads the team or who has unread mail. A member who is not there any more is no error, unless the name looks
    like a slip of the pen.

    `first` is told the name when nothing stands against it any more, and before they are off the roster: whoever is
    killed in between leaves a member behind who holds nothing, and not tasks whose owner is gone.
    """
    found = recover(room, find_team(room, team))
    member = found.member(name)
    spelled = member.name if member is not None else find_name(name, room.inboxes.owners(found.name))
    if spelled is None:
        near = nearest_name(check_known_name(name, "member"), found.names)
        if near is None or _was_removed(room, found.name, name):
            return Removed(False, None)
        raise found.lacks(name, f"did you mean {near!r}?")
    if not force:
        at_work = _at_work(room, found, spelled, member)
        unread = _unread(room, found.name, spelled)
        _check_unused(found, spelled, [*at_work, *_reasons(found, spelled, unread)])
    return _take_off(room, found.name, spelled, first)


def _at_work(room: Teamroom, team: Team, name: str, member: Member | None) -> list[str]:
    """Why it may be at work. Nobody knows that of people and of what plugins play: they leave no heartbeats."""
    known = presence.liveness(room.presence, team, name, room.clock.now())
    if known.value == ONLINE:
        return [f"is online ({known.source}, {known.age or 0:.0f} s ago)"]
    if known.value == OFFLINE or member is None or member.kind != AGENT:
        return []
    return [f"may be at work: nobody knows ({known.source})"]


def _reasons(team: Team, name: str, unread: int) -> list[str]:
    leads = ["leads the team"] if team.is_lead(name) and team.member(name) is not None else []
    return [*leads, f"has {counted(unread, 'unread message')}"] if unread else leads


def _unread(room: Teamroom, team: str, name: str) -> int:
    return sum(not row.read for row in room.inboxes.rows(team, name))


def _check_unused(team: Team, name: str, reasons: list[str]) -> None:
    if not reasons:
        return
    raise MemberInUse(
        f"{name!r} {' and '.join(reasons)}",
        "read the mail, or wait until it is gone; or use --force: its mail goes to the archive",
        team.read_from,
    )


def _take_off(room: Teamroom, team: str, name: str, first: Farewell | None) -> Removed:
    if first is not None:
        first(name)
    with room.rosters.undertaking(team, "remove", name):
        done = Removed(True, move_out(room, team, name))
    note_removal(room, team, name, "roster")
    return done


def note_removal(room: Teamroom, team: str, name: str, evidence: str) -> None:
    """In the ledger, so that a second removal knows that it is one, and no slip of the pen."""
    line = Line(kind=ROSTER, ids=[], agent=name, state="removed", at=to_iso(room.clock.now()), evidence=evidence)
    try:
        room.ledger.append(team, [line])
    except AtmError:
        return


def _was_removed(room: Teamroom, team: str, name: str) -> bool:
    return any(entry.kind == ROSTER and same_name(entry.agent, name) for entry in room.ledger.entries(team)[0])


class Removed:
    """Whether a member was removed, and where the mail went."""

    __slots__ = ("archive_path", "removed")

    def __init__(self, removed: bool, archive_path: str | None) -> None:
        self.removed = removed
        self.archive_path = archive_path
