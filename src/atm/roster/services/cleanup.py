"""
Tidying up a team: members who are gone, mail of nobody, and what killed commands left.

First a plan that the user can look at, each line with its reason; then, if the user says so, each line by itself: one
that fails stops no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from atm.core.errors import AtmError, NoSuchMember, NoSuchTeam
from atm.core.names import check_known_name, same_name
from atm.core.plain import counted
from atm.roster.ports.team_files import Deletion
from atm.roster.services.deletions import finish_deletions
from atm.roster.services.members import remove_member
from atm.roster.services.recovery import forget, recover
from atm.team.rules.liveness import OFFLINE, ONLINE
from atm.team.rules.team import HUMAN, SYNTHETIC, check_open
from atm.team.services import presence
from atm.team.services.lifecycle import check_ours
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.roster.services.members import Farewell
    from atm.roster.services.teamroom import Teamroom
    from atm.team.rules.team import Member, Team

    Removal = Callable[[str], object]

REMOVE, KEEP, FINISH = "remove", "keep", "finish"


class Item:
    """One line of the plan: what, why, and what becomes of it."""

    __slots__ = ("action", "archive_path", "detail", "done", "error", "name", "reason", "work")

    def __init__(
        self, name: str, reason: str, action: str, detail: str = "", work: Callable[[], object] | None = None
    ) -> None:
        self.name = name
        self.reason = reason
        self.action = action
        self.detail = detail
        self.work = work
        self.done = False
        self.archive_path: str | None = None
        self.error: AtmError | None = None


def plan_cleanup(
    room: Teamroom, team: str, name: str | None = None, *, force: bool = False, first: Farewell | None = None
) -> list[Item]:
    """
    What would be done, and why; everything else is named with the reason why it stays.

    `first` is told the name of each member before they are removed, as `remove_member` does.
    """
    spelled = room.rosters.find(check_known_name(team, "team"))
    if spelled is None:
        left = [*_leftovers(room, team)]
        if not left and not room.backups.kept(team):
            raise NoSuchTeam(f"there is no team {team!r}, and nothing is left of one", "see `atm teams`")
        return left
    found = check_open(check_ours(find_team(room, spelled)))
    removal = partial(remove_member, room, found.name, force=force, first=first)
    items = [*_members(room, found, name, force, removal), *_orphans(room, found, name, force, removal)]
    if name is not None:
        if not items:
            raise NoSuchMember(f"team {found.name!r} has no member {name!r}, and no inbox of that name", "")
        return items
    return [*_unfinished(room, found), *items, *_heartbeats(room, found), *_leftovers(room, found.name)]


def clean_up(items: list[Item]) -> list[Item]:
    """Do what the plan says, each line by itself."""
    for item in items:
        if item.work is None:
            continue
        try:
            done = item.work()
            item.done = True
            item.archive_path = getattr(done, "archive_path", None)
        except AtmError as error:
            item.error = error
    return items


def _members(room: Teamroom, team: Team, name: str | None, force: bool, removal: Removal) -> Iterator[Item]:
    for member in team.members:
        if name is None or same_name(member.name, name):
            yield _member(room, team, member, partial(removal, member.name), named=name is not None, force=force)


def _member(
    room: Teamroom, team: Team, member: Member, work: Callable[[], object], *, named: bool, force: bool
) -> Item:
    """`--force` alone takes no more than unread mail along; whoever may be at work has to be named as well."""
    known = presence.liveness(room.presence, team, member.name, room.clock.now())
    if team.is_lead(member.name):
        return Item(member.name, "team-lead-protected", KEEP, "the lead stays")
    if member.kind in (HUMAN, SYNTHETIC):
        detail = "people and what plugins play leave no heartbeats"
        return Item(member.name, member.kind, *((REMOVE, "", work) if named and force else (KEEP, detail)))
    if known.value == OFFLINE:
        unread = _unread(room, team.name, member.name)
        if unread and not force:
            return Item(member.name, "member-offline", KEEP, f"{unread}; use --force")
        return Item(member.name, "member-offline", REMOVE, unread or known.source, work)
    reason = "member-online" if known.value == ONLINE else "member-unknown"
    return Item(member.name, reason, *((REMOVE, known.source, work) if named and force else (KEEP, known.source)))


def _orphans(room: Teamroom, team: Team, name: str | None, force: bool, removal: Removal) -> Iterator[Item]:
    for owner in room.inboxes.owners(team.name):
        if team.member(owner) is not None or (name is not None and not same_name(owner, name)):
            continue
        unread = _unread(room, team.name, owner)
        if unread and not force:
            yield Item(owner, "orphan-mailbox", KEEP, f"{unread}; use --force")
        else:
            why = unread or "nobody on the roster has that name"
            yield Item(owner, "orphan-mailbox", REMOVE, why, partial(removal, owner))


def _unread(room: Teamroom, team: str, name: str) -> str:
    """Words about unread mail, or none. What cannot be read may well hold some."""
    try:
        count = sum(not row.read for row in room.inboxes.rows(team, name))
    except AtmError:
        return "its inbox cannot be read"
    return counted(count, "unread message") if count else ""


def _heartbeats(room: Teamroom, team: Team) -> Iterator[Item]:
    heard_of = room.presence.heard_of(team.name)
    for name in heard_of:
        known = presence.liveness(room.presence, team, name, room.clock.now())
        if team.member(name) is None and known.value == OFFLINE:
            work = partial(forget, room, team.name, name)
            yield Item(name, "stale-heartbeat", REMOVE, "of somebody who is on no roster", work)
    for name in room.endpoints.known(team.name):
        if team.member(name) is None and name not in heard_of:
            work = partial(room.endpoints.forget, team.name, name)
            yield Item(name, "stale-endpoint", REMOVE, "of somebody who is on no roster", work)


def _unfinished(room: Teamroom, team: Team) -> Iterator[Item]:
    for intent in room.rosters.abandoned(team.name):
        name, verb = intent.get("name", ""), intent.get("verb", "")
        yield Item(name, "unfinished-change", FINISH, f"{verb} was cut off", partial(recover, room, team))


def _leftovers(room: Teamroom, team: str) -> Iterator[Item]:
    unfinished = {deletion.aside for deletion in room.files.cut_off()}
    for name in room.files.leftovers(team):
        if name in unfinished:
            yield Item(name, "leftover-of-delete", FINISH, "a deletion was cut off", partial(finish_deletions, room))
        else:
            work = partial(room.files.clear, Deletion(team, name))
            yield Item(name, "leftover-of-delete", REMOVE, "it was deleted", work)
    for name in room.backups.partial(team):
        work = partial(room.backups.sweep, team)
        yield Item(name, "stale-partial-backup", REMOVE, "a backup that was cut off", work)
