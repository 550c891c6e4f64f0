"""The ports of the work-sync control plane in one hand, and what it asks of the rest of a team."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atm.board.rules.reviews import current_reviewer
from atm.board.rules.tasks import REVIEW
from atm.board.services.leaving import has_departed
from atm.core.errors import AtmError, NoSuchTeam
from atm.core.names import is_claudes_team, same_name
from atm.files.formats.times import from_iso, to_iso
from atm.mail.rules.quotas import NOTICES
from atm.team.rules.lifecycle import COMPLETE, STOPPED, UNKNOWN
from atm.team.rules.liveness import IDLE, ONLINE, WAITING, WORKING
from atm.team.services.endpoints import endpoint_of
from atm.team.services.lifecycle import NO_FILE, life_of, standing
from atm.team.services.presence import is_by_hook, last_beat, liveness
from atm.team.services.registry import find_team
from atm.worksync.rules.agenda import Agenda, build_agendas
from atm.worksync.rules.decisions import (
    AWAITS_PERMISSION,
    DELIVERY_PENDING,
    LAUNCHING,
    RECENT_ACTIVITY,
    TOOL_ACTIVE,
    Busy,
)
from atm.worksync.rules.readiness import Thresholds
from atm.worksync.rules.triggers import QUIET_SECONDS

if TYPE_CHECKING:
    from atm.board.rules.dependencies import Board
    from atm.board.rules.reviews import Reviewer
    from atm.core.plain import Plain
    from atm.files.ports.records import AuditJournal, Records, TeamSecrets
    from atm.roster.services.full_boardroom import FullBoardroom
    from atm.roster.services.teamroom import Teamroom
    from atm.team.rules.liveness import Beat
    from atm.team.rules.team import Team

TOOL_STALE = 600.0
"""Seconds after which a tool call that never ended is no sign of work any more."""

PERMISSION_STALE = 3600.0
LAUNCH_GRACE = 90.0
CLOCK_TOLERANCE = 60.0


@dataclass(frozen=True, slots=True)
class SyncPolicy:
    """Times and thresholds. Constants with names, no switches (seed 002, section 22)."""

    quiet_seconds: float = QUIET_SECONDS
    thresholds: Thresholds = field(default_factory=Thresholds)


@dataclass(frozen=True, slots=True)
class SyncRoom:
    """Everything that the control plane is made with."""

    boardroom: FullBoardroom
    records: Records
    journal: AuditJournal
    secrets: TeamSecrets
    policy: SyncPolicy = field(default_factory=SyncPolicy)
    me: str = "atm"
    """Who claims items of the outbox: this process."""

    @property
    def room(self) -> Teamroom:
        return self.boardroom.room

    def now(self) -> float:
        return self.room.clock.now()

    def note(self, team: str, event: str, member: str = "", **facts: Plain) -> None:
        """One line of the audit journal."""
        said = {key: value for key, value in facts.items() if value not in (None, "", [])}
        self.journal.note(team, {"at": to_iso(self.now()), "event": event, "member": member, **said})


# Does the team run at all?


@dataclass(frozen=True, slots=True)
class TeamRunning:
    """Whether anything may be accepted from a team, or sent to it; and how that is known."""

    runs: bool
    state: str
    why: str


def find_running(syncroom: SyncRoom, team: str) -> tuple[Team | None, TeamRunning]:
    """A team, and whether it runs. One that is not there does not."""
    try:
        found = find_team(syncroom.room, team)
    except NoSuchTeam as error:
        return None, TeamRunning(False, "deleted", str(error))
    return found, running(syncroom, found)


def running(syncroom: SyncRoom, team: Team) -> TeamRunning:
    """What nobody knows to run does not: nothing is accepted or sent on a guess (G8)."""
    if team.completed:
        return TeamRunning(False, COMPLETE, "the team is complete")
    found = standing(syncroom.room, team.name)
    if found.status in (STOPPED, COMPLETE):
        return TeamRunning(False, found.status, f"{found.source} says {found.status}")
    if found.status != UNKNOWN and found.source != NO_FILE:
        return TeamRunning(True, found.status, found.source)
    if is_claudes_team(team.name) or found.source == NO_FILE:
        # A roster alone proves nothing: Claude Code's teams keep no state, and others may have been left behind.
        awake = next((name for name in team.names if _is_online(syncroom, team, name)), "")
        if awake:
            return TeamRunning(True, "active", f"heartbeat of {awake}")
    return TeamRunning(False, UNKNOWN, found.source)


def _is_online(syncroom: SyncRoom, team: Team, name: str) -> bool:
    return liveness(syncroom.room.presence, team, name, syncroom.now()).value == ONLINE


# What is there to do?


def read_agendas(
    syncroom: SyncRoom, team: Team, members: Iterable[str], board: Board | None = None
) -> dict[str, Agenda]:
    """Of these members, from the board as it is now. The one way to an agenda: every surface and decision uses it."""
    tasks, wanted = syncroom.boardroom.tasks, list(members)
    if board is None and not tasks.exists(team.name):
        return {name: Agenda(team.name, name) for name in wanted}
    board = board if board is not None else tasks.board(team.name)
    reviewers = _reviewers(syncroom, team, board, {name.casefold() for name in wanted})
    is_asked = bool(reviewers) or any(same_name(name, team.lead) for name in wanted)
    gone = _departed(syncroom, team, board, reviewers) if is_asked else ()
    return build_agendas(board, team.name, wanted, team.lead, reviewers, gone)


def _departed(syncroom: SyncRoom, team: Team, board: Board, reviewers: Mapping[str, Reviewer]) -> list[str]:
    """Owners and reviewers whom nobody in the team bears the name of, and who are no script that is at work (0020)."""
    open_cards = [card for card in board.cards.values() if not card.is_finished and not card.problem]
    names = [*(card.owner for card in open_cards), *(one.name or "" for one in reviewers.values())]
    strangers = {name.casefold(): name for name in names if name and team.member(name) is None}
    return [name for name in strangers.values() if has_departed(syncroom.boardroom, team, name)]


def _reviewers(syncroom: SyncRoom, team: Team, board: Board, wanted: set[str]) -> dict[str, Reviewer]:
    """Whose turn it is in each review that is going on and could concern one of `wanted`: only those files are read."""
    found: dict[str, Reviewer] = {}
    for card in board.cards.values():
        if card.review != REVIEW or card.is_finished or card.problem:
            continue
        # The card's own reviewer counts, whatever the history says; the lead and the owner hear of contradictions.
        if card.reviewer and not {n.casefold() for n in (card.reviewer, card.owner, team.lead)} & wanted:
            continue
        try:
            found[card.id] = current_reviewer(syncroom.boardroom.tasks.read(team.name, card.id))
        except AtmError:
            continue  # it vanished, or cannot be read: then nobody is known to review it
    return found


def comment_of(syncroom: SyncRoom, agenda: Agenda, comment: str) -> dict[str, str]:
    """Which task of the agenda a comment stands in."""
    if not comment:
        return {}
    for item in agenda.items:
        try:
            task = syncroom.boardroom.tasks.read(agenda.team, item.task_id)
        except AtmError:
            continue
        if any(one.get("id") == comment for one in task.comments):
            return {comment: item.task_id}
    return {}


# Is a member in the middle of something?


def busy_state(syncroom: SyncRoom, team: Team, member: str, have_new_mail: Collection[str] | None = None) -> Busy:
    """
    The strongest signal. Where it is not known, a member is left in peace for a while, not for ever.

    `have_new_mail` is what `with_new_mail` gave, where many are asked for.
    """
    now = syncroom.now()
    fresh = with_new_mail(syncroom, team.name) if have_new_mail is None else have_new_mail
    last = last_beat(syncroom.room.presence, team, member, now)
    signals: list[Callable[[], Busy]] = [
        lambda: _in_a_turn(last, now),
        lambda: _being_delivered(syncroom, team.name, member, now),
        lambda: _launching(syncroom, team, member, now),
        lambda: _just_delivered(syncroom, team.name, member, now) if member.casefold() in fresh else Busy(),
        lambda: _just_active(last, now, syncroom.policy.quiet_seconds),
    ]
    return next((found for ask in signals if (found := ask()).reason), Busy())


def _in_a_turn(last: Beat | None, now: float) -> Busy:
    if last is None or last.at - now > CLOCK_TOLERANCE:
        return Busy()  # nobody knows how old it is: our clock was set back, or theirs is ahead
    at = min(last.at, now)
    if last.state == WORKING and is_by_hook(last.state_source) and now - at < TOOL_STALE:
        return Busy(TOOL_ACTIVE, at + TOOL_STALE)
    if last.state == WAITING and now - at < PERMISSION_STALE:
        return Busy(AWAITS_PERMISSION, at + PERMISSION_STALE)
    return Busy()


def _being_delivered(syncroom: SyncRoom, team: str, member: str, now: float) -> Busy:
    """Mail is on its way: for a quiet window. What waits for longer is the delivery's business, and no reason."""
    room, quiet = syncroom.room, syncroom.policy.quiet_seconds
    try:
        waiting = [] if room.spool.is_empty() else room.spool.pending(team, member)
    except AtmError:
        waiting = []
    times = [one.entry.created_at for one in waiting]
    try:
        shown = room.surfacings.cut_off_since(team, member)
    except AtmError:
        shown = None
    since = max(
        (at for at in (*times, *([] if shown is None else [shown])) if at <= now + CLOCK_TOLERANCE), default=None
    )
    return Busy(DELIVERY_PENDING, since + quiet) if since is not None and now - since < quiet else Busy()


def _launching(syncroom: SyncRoom, team: Team, member: str, now: float) -> Busy:
    endpoint = endpoint_of(syncroom.room, team, member)
    grace = min(LAUNCH_GRACE, syncroom.policy.quiet_seconds)
    if endpoint is None or not 0 <= now - endpoint.at < grace:
        return Busy()
    return Busy(LAUNCHING, endpoint.at + grace)


def with_new_mail(syncroom: SyncRoom, team: str) -> set[str]:
    """Who has had mail within the quiet window. The end of the ledger is a small look; only their inboxes are read."""
    since = syncroom.now() - syncroom.policy.quiet_seconds
    try:
        recent = syncroom.room.ledger.recent(team)
    except AtmError:
        return set()
    return {one.agent.casefold() for one in recent if (from_iso(one.at) or 0.0) > since}


def _just_delivered(syncroom: SyncRoom, team: str, member: str, now: float) -> Busy:
    """
    Mail came and is not read yet: it is given a quiet window to be read. What lies there for longer is no reason, so a
    flood of mail to an agent that reads none silences nothing; notices of atm itself, such as nudges, are none.
    """
    quiet = syncroom.policy.quiet_seconds
    try:
        rows = syncroom.room.inboxes.unread(team, member)
    except AtmError:
        return Busy()
    since = min(
        (at for row in rows if row.sender not in NOTICES and (at := from_iso(row.timestamp)) is not None), default=None
    )
    is_recent = since is not None and now + CLOCK_TOLERANCE - since >= 0 and now - since < quiet
    return Busy(RECENT_ACTIVITY, since + quiet, "mail has just come for it") if since and is_recent else Busy()


def _just_active(last: Beat | None, now: float, quiet: float) -> Busy:
    if last is None or last.at - now > CLOCK_TOLERANCE:
        return Busy()
    at = min(last.at, now)
    since = min(last.state_since, now) if last.state == IDLE and last.state_since is not None else at
    return Busy(RECENT_ACTIVITY, since + quiet) if now - since < quiet else Busy()


def issue(syncroom: SyncRoom, team: Team, member: str, fingerprint: str) -> str:
    """A report token for this member in this life and for this agenda."""
    from atm.worksync.formats.report_token import issue_token

    life = life_of(syncroom.room, team, member)
    return issue_token(syncroom.secrets.secret(team.name), team.name, member, life, fingerprint, syncroom.now())


def verify(syncroom: SyncRoom, team: Team, member: str, fingerprint: str, token: str, at: float) -> str:
    """ok, missing, expired or invalid; invalid too if the secret cannot be read."""
    from atm.worksync.formats.report_token import verify_token
    from atm.worksync.rules.identity import TOKEN_INVALID, TOKEN_MISSING

    if not token:
        return TOKEN_MISSING
    try:
        secret, life = syncroom.secrets.secret(team.name), life_of(syncroom.room, team, member)
        return verify_token(secret, token, team.name, member, life, fingerprint, at)
    except AtmError:
        return TOKEN_INVALID


def members_named(team: Team, names: Mapping[str, str]) -> dict[str, str]:
    """Those that the roster has, in its spelling; the others are gone."""
    spelled = {name.casefold(): name for name in team.names}
    return {spelled[name.casefold()]: why for name, why in names.items() if name.casefold() in spelled}
