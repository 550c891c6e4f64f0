"""Old mail: archive and remove the rows that retention allows to go."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.core.names import is_claudes_team, same_name
from atm.files.formats.times import from_iso
from atm.mail.formats.inbox import only
from atm.mail.formats.protocol_message import idle_sender
from atm.mail.rules.lifetimes import MOST_READ, RowFacts, removable, time_left
from atm.mail.rules.receipts import ARCHIVED
from atm.mail.services.bookkeeping import record
from atm.team.rules.team import claude_reads_inbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.rules.messages import Message
    from atm.mail.services.mailroom import Mailroom, Recipient

NOTHING_TO_REMOVE_FOR = 3600.0


class Cleaned:
    """What clean-up did, or would do, to one inbox."""

    __slots__ = ("agent", "archive_path", "error", "kept", "removed", "skipped", "team")

    def __init__(self, team: str, agent: str) -> None:
        self.team = team
        self.agent = agent
        self.removed = 0
        self.kept = 0
        self.archive_path: str | None = None
        self.skipped = ""
        self.error: AtmError | None = None


def compact(room: Mailroom, team: str, agent: str, *, dry_run: bool = False, patience: float | None = None) -> Cleaned:
    """
    Archive and remove rows that retention allows to go.

    Decided and written under one lock. The order makes a crash harmless: first the archive, then the ledger
    (so that nobody takes the removal for a loss), then the inbox.
    """
    done = Cleaned(team, agent)

    def change(rows: list[Message]) -> list[Message]:
        gone = set(removable([facts_of(row) for row in rows], room.policy, room.clock.now()))
        done.removed, done.kept = len(gone), len(rows) - len(gone)
        if not gone:
            return rows
        done.archive_path = archive_rows(room, team, agent, [row for i, row in enumerate(rows) if i in gone])
        return [row for i, row in enumerate(rows) if i not in gone]

    if dry_run:
        rows = room.inboxes.rows(team, agent)
        done.removed = len(removable([facts_of(row) for row in rows], room.policy, room.clock.now()))
        done.kept = len(rows) - done.removed
    else:
        room.inboxes.change(team, agent, change, patience)
    return done


def archive_rows(room: Mailroom, team: str, agent: str, rows: list[Message]) -> str:
    """Copy rows to the archive and enter that in the ledger, so that nobody takes their removal for a loss."""
    path = room.archive.keep(team, agent, only([row.raw for row in rows]))
    record(room, team, agent, [row.id for row in rows if row.id], ARCHIVED, path)
    return path


def facts_of(row: Message) -> RowFacts:
    understood = row.understood
    return RowFacts(
        read=row.read,
        at=from_iso(row.timestamp) if row.timestamp else None,
        idle_sender=idle_sender(row) if understood else None,
        understood=understood,
        size=len(row.raw),
    )


def compact_if_due(room: Mailroom, to: Recipient, deadline: float | None = None) -> int:
    """After a send: clean up a large inbox, unless a recent pass found nothing to remove. How many rows went."""
    team, agent, now = to.team_name, to.agent, room.clock.now()
    if to.team.completed or (claude_reads_inbox(to.member, to.in_claudes_team) and not room.compact_claudes):
        return 0
    removed = 0
    try:
        size = room.inboxes.size(team, agent)
        if not room.policy.may_concern(size) or not room.marks.is_due(team, agent, size, now):
            return 0
        if size > 2 * MOST_READ or room.inboxes.most_rows(team, agent) > room.policy.compact_above:
            patience = None if deadline is None else time_left(deadline, room.clock.monotonic())
            removed = compact(room, team, agent, patience=patience).removed
        room.marks.put_off(team, agent, room.inboxes.size(team, agent), now + NOTHING_TO_REMOVE_FOR)
    except AtmError:
        pass  # the message itself is safe; a full disk or a busy lock only puts the clean-up off
    return removed


def cleanup(room: Mailroom, teams: list[str], *, agent: str | None = None, dry_run: bool = False) -> list[Cleaned]:
    """Apply retention to whole teams. Inboxes that Claude Code prunes itself are left to it unless configured."""
    done = []
    for team in teams:
        try:
            roster = room.rosters.load(team)
        except AtmError as error:
            unknown = Cleaned(team, "?")
            unknown.error = error
            done.append(unknown)
            continue
        for owner in room.inboxes.owners(team):
            if agent is not None and not same_name(owner, agent):
                continue
            result = Cleaned(team, owner)
            if roster.completed:
                result.skipped = "the team is complete: nothing in it changes"
            elif claude_reads_inbox(roster.member(owner), is_claudes_team(team)) and not room.compact_claudes:
                result.skipped = "Claude Code prunes it; set retention.claude_inboxes to include it"
            else:
                try:
                    result = compact(room, team, owner, dry_run=dry_run)
                except AtmError as error:
                    result.error = error
            done.append(result)
    return done
