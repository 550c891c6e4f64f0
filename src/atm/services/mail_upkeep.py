"""
Upkeep of mail: deliver what waits in the spool, put back what others dropped, clean up what is old.

Every mail command does a little of it, in a few milliseconds; `atm cleanup` and the daemon do the rest.
"""

from __future__ import annotations

from atm.domain.errors import AtmError, DiskError, NoSuchTeam
from atm.domain.inbox_merge import put_back
from atm.domain.names import is_claudes_team, same_name
from atm.domain.receipts import ARCHIVED, FAILED, RESTORED, expected_in_inbox
from atm.domain.retention import RowFacts, removable
from atm.domain.retries import LONGEST_WAIT, is_exhausted, wait_after
from atm.domain.team import claude_reads_inbox
from atm.formats.inbox import decode_row
from atm.formats.journal import MESSAGE, histories
from atm.formats.protocol_message import idle_sender
from atm.formats.times import from_iso
from atm.services.bookkeeping import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.messages import Message
    from atm.domain.team import Team
    from atm.formats.journal import Entry
    from atm.formats.spool_entry import SpoolEntry
    from atm.ports.stores import Spooled
    from atm.services.mailroom import Mailroom, Recipient

MOST_AT_ONCE = 20
"""Spooled messages that an ordinary command tries on its way; the rest waits for the next one."""

LOOKS, BETWEEN_LOOKS = 20, 0.05
"""How often somebody who needs the spool looks whether another process has finished with it, and how long apart."""

NOTHING_TO_REMOVE_FOR = 3600.0

MOST_LOOKED_AT = 50
"""Inboxes that every mail command can afford to look at: 60 microseconds each."""


class Drained:
    """What a pass over the spool did."""

    __slots__ = ("delivered", "failed", "waiting")

    def __init__(self) -> None:
        self.delivered = 0
        self.failed = 0
        self.waiting = 0


def drain_on_the_way(room: Mailroom) -> None:
    """What every mail command does besides: try what is due. Its failure is nobody's failure."""
    try:
        drain(room)
    except AtmError:
        return


def drop(room: Mailroom, spooled: Spooled) -> None:
    """Throw a spooled message away, as somebody asked."""
    entry = spooled.entry
    record(room, entry.team, entry.agent, [entry.message_id], FAILED, "dropped from the spool on request")
    room.spool.done(spooled)


def drain(room: Mailroom, *, everything: bool = False, patient: bool = False) -> Drained:
    """
    Try what is due, oldest first. `everything` ignores the waiting times and the bound.

    Whoever is `patient` waits for locks, and so gets past one that a dead program left behind.
    """
    done = Drained()
    if room.spool.is_empty():
        return done
    with room.spool.exclusively() as held:
        if held:
            _drain(room, room.spool.pending(), done, insist=everything, patient=patient)
    return done


def drain_target(room: Mailroom, team: str, agent: str) -> bool:
    """Deliver what waits for one recipient, in order. True when nothing waits any more."""
    for _ in range(LOOKS):
        if not room.spool.pending(team, agent):
            return True
        with room.spool.exclusively() as held:
            if held:
                _drain(room, room.spool.pending(team, agent), Drained(), insist=True)
                break
        room.clock.sleep(BETWEEN_LOOKS)  # the daemon, or another command, is at it
    return not room.spool.pending(team, agent)


def _drain(room: Mailroom, waiting: list[Spooled], done: Drained, *, insist: bool, patient: bool = False) -> None:
    """Who insists waits for locks as a send does, and so gets past one that was left behind; others only try."""
    blocked: set[tuple[str, str]] = set()
    tried = 0
    for spooled in waiting:
        target = (spooled.entry.team, spooled.entry.agent)
        due = insist or (_is_due(room, spooled) and tried < MOST_AT_ONCE)
        if target in blocked or not due:
            blocked.add(target)  # what was sent later to the same inbox waits behind it (G4)
            done.waiting += 1
            continue
        tried += 1
        try:
            result = _try(room, spooled, None if insist or patient else 0.0)
        except AtmError:
            result = "waiting"  # the spool or the ledger itself cannot be written; nothing is lost by waiting
        if result == "delivered":
            done.delivered += 1
        elif result == "failed":
            done.failed += 1
        else:
            done.waiting += 1
            blocked.add(target)


def _is_due(room: Mailroom, spooled: Spooled) -> bool:
    """Also if its time lies further away than any wait: then the clock was set back since."""
    wait = spooled.entry.next_attempt - room.clock.now()
    return wait <= 0 or wait > LONGEST_WAIT * 1.25


def _try(room: Mailroom, spooled: Spooled, patience: float | None) -> str:
    entry = spooled.entry
    if room.rosters.is_completed(entry.team):  # nothing of it may change, so not even its ledger says so
        entry.reason = "the team was completed before this could be delivered"
        room.spool.give_up(spooled)
        return "failed"
    row = decode_row(entry.raw)
    if row is None:
        return _give_up(room, spooled, "the spooled row is not a message")
    if spooled.was_tried and (verdict := _after_a_death(room, spooled)) is not None:
        return verdict
    try:
        if entry.answers:
            room.inboxes.mark(entry.answers["team"], entry.answers["agent"], {entry.answers["message_id"]}, True)
        room.spool.begin(spooled)
        room.inboxes.append(entry.team, entry.agent, [row], fresh=False, patience=patience)
    except NoSuchTeam as error:
        return _give_up(room, spooled, str(error))
    except DiskError as error:
        return _postpone(room, spooled, str(error))
    try:
        _enter_delivery(room, entry)
    except AtmError:
        pass  # it has arrived; a ledger that cannot be written must not have it delivered again
    room.spool.done(spooled)
    return "delivered"


def _enter_delivery(room: Mailroom, entry: SpoolEntry) -> None:
    record(room, entry.team, entry.agent, [entry.message_id], "written", "inbox file, from the spool", entry.raw)
    if entry.answers:
        team, agent, id = (entry.answers[key] for key in ("team", "agent", "message_id"))
        record(room, team, agent, [id], "answered", f"reply {entry.message_id}")


def _after_a_death(room: Mailroom, spooled: Spooled) -> str | None:
    """
    A process died while it delivered this. Did it arrive?

    If the ledger says so, it did. In a team of Claude Code a row that is not there may have been consumed, so
    it is never sent again (D24); the operator decides.
    """
    entry = spooled.entry
    past = histories(room.ledger.entries(entry.team)[0]).get((entry.message_id, entry.agent), [])
    if "written" in past:
        room.spool.done(spooled)
        return "delivered"
    if not is_claudes_team(entry.team):
        return None
    try:
        absent = room.inboxes.missing(entry.team, entry.agent, [entry.message_id])
    except AtmError:
        absent = [entry.message_id]
    return _give_up(room, spooled, "it may have been delivered and consumed") if absent else None


def _postpone(room: Mailroom, spooled: Spooled, reason: str) -> str:
    entry, now = spooled.entry, room.clock.now()
    if not _is_due(room, spooled):  # somebody insisted before its time: that is no try of its own
        room.spool.postpone(spooled)
        return "waiting"
    entry.tries += 1
    entry.reason, entry.last_attempt = reason, now
    if is_exhausted(entry.tries, room.most_tries):
        return _give_up(room, spooled, reason)
    jitter = 0.75 + room.chance.fraction() / 2
    entry.next_attempt = now + wait_after(entry.tries) * jitter
    room.spool.postpone(spooled)
    return "waiting"


def _give_up(room: Mailroom, spooled: Spooled, reason: str) -> str:
    spooled.entry.reason = reason
    path = room.spool.give_up(spooled)
    entry = spooled.entry
    record(room, entry.team, entry.agent, [entry.message_id], FAILED, f"{reason}; kept at {path}")
    return "failed"


def put_back_dropped(
    room: Mailroom,
    team: Team,
    *,
    about: str | None = None,
    everything: bool = False,
    unable: list[str] | None = None,
) -> int:
    """
    Put back rows that somebody's stale rewrite dropped after we had reported success (D24).

    By default only what the end of the ledger tells, which is the last minutes, and only for inboxes that somebody
    else wrote to, or that are gone; in a large team, a command that is about one inbox looks at that one alone. How
    many rows came back; `unable` gets those whose inbox could not be looked at now.
    """
    if is_claudes_team(team.name) or team.completed:
        return 0  # there, absence means consumed or unknown; or nothing may change any more
    try:
        names = {*room.inboxes.owners(team.name), *team.names}
        if about is not None and len(names) > MOST_LOOKED_AT:
            names = {about}
        suspects = names if everything else {agent for agent in names if room.inboxes.touched(team.name, agent)}
        if not suspects:
            return 0
        entries = room.ledger.entries(team.name)[0] if everything else room.ledger.recent(team.name)
    except AtmError:
        return 0  # a look that fails must not keep the message from being sent
    expected, count = _expected(entries), 0
    for agent in sorted(suspects):
        sent = expected.get(agent, [])
        try:
            if room.inboxes.missing(team.name, agent, [entry.ids[0] for entry in sent]):
                count += _put_back(room, team.name, agent, sent, entries)
        except AtmError:  # the inbox cannot be read or written now: the next command tries again
            if unable is not None:
                unable.append(agent)
    return count


def missing_rows(room: Mailroom, team: str, entries: list[Entry]) -> int:
    """How many messages should lie in an inbox of ours and do not."""
    if is_claudes_team(team):
        return 0
    count = 0
    for agent, sent in _expected(entries).items():
        try:
            count += len(room.inboxes.missing(team, agent, [entry.ids[0] for entry in sent]))
        except AtmError:
            continue
    return count


def _expected(entries: list[Entry]) -> dict[str, list[Entry]]:
    """For each recipient the messages that should still lie in its inbox."""
    past = histories(entries)
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.kind == MESSAGE and entry.ids and expected_in_inbox(past[(entry.ids[0], entry.agent)]):
            found.setdefault(entry.agent, []).append(entry)
    return found


def _put_back(room: Mailroom, team: str, agent: str, sent: list[Entry], entries: list[Entry]) -> int:
    numbers = {id: entry.seq for entry in entries if entry.kind == MESSAGE and entry.agent == agent for id in entry.ids}
    messages = [message for entry in sent if (message := entry.message) is not None]
    restored: list[str] = []

    def change(rows: list[Message]) -> list[Message]:
        present = {row.key for row in rows}
        dropped = [message for message in messages if message.key not in present]
        restored[:] = [message.id or "" for message in dropped]
        return put_back(rows, dropped, lambda row: numbers.get(row.id or ""))

    room.inboxes.change(team, agent, change)
    if restored:
        record(room, team, agent, restored, RESTORED, "another program's stale rewrite had dropped it")
    return len(restored)


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


def compact(room: Mailroom, team: str, agent: str, *, dry_run: bool = False) -> Cleaned:
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
        room.inboxes.change(team, agent, change)
    return done


def archive_rows(room: Mailroom, team: str, agent: str, rows: list[Message]) -> str:
    """Copy rows to the archive and enter that in the ledger, so that nobody takes their removal for a loss."""
    path = room.archive.keep(team, agent, rows)
    record(room, team, agent, [row.id for row in rows if row.id], ARCHIVED, path)
    return path


def facts_of(row: Message) -> RowFacts:
    understood = row.understood
    return RowFacts(
        read=row.read,
        at=from_iso(row.timestamp) if row.timestamp else None,
        idle_sender=idle_sender(row) if understood else None,
        understood=understood,
    )


def compact_if_due(room: Mailroom, to: Recipient) -> int:
    """After a send: clean up a large inbox, unless a recent pass found nothing to remove. How many rows went."""
    team, agent, now = to.team_name, to.agent, room.clock.now()
    if to.team.completed or (claude_reads_inbox(to.member, to.in_claudes_team) and not room.compact_claudes):
        return 0
    removed = 0
    try:
        if not room.marks.is_due(team, agent, room.inboxes.size(team, agent), now):
            return 0
        if room.inboxes.most_rows(team, agent) > room.policy.compact_above:
            removed = compact(room, team, agent).removed
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
