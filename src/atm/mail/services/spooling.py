"""
Spooled mail: deliver what waits, oldest first, and give up in the end.

Every mail command tries a little of it on its way; `atm spool retry` and the daemon do the rest.
"""

from __future__ import annotations

from atm.core.errors import AtmError, DiskError, InboxFull, NoSuchTeam
from atm.core.names import is_claudes_team, same_name
from atm.mail.formats.inbox import decode_row
from atm.mail.formats.journal import histories
from atm.mail.rules.lifetimes import (
    LONGEST_WAIT,
    SEND_WITHIN,
    UPKEEP_WITHIN,
    is_exhausted,
    time_left,
    wait_after,
)
from atm.mail.rules.quotas import INBOX_FULL, LEAD_AWAY, STILL_WAITS, Allowance, Backlog
from atm.mail.rules.receipts import FAILED
from atm.mail.services.bookkeeping import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.formats.spool_entry import Spooled, SpoolEntry
    from atm.mail.rules.messages import Message
    from atm.mail.services.mailroom import Mailroom
    from atm.team.rules.team import Team


MOST_AT_ONCE = 20
"""Spooled messages that an ordinary command tries on its way; the rest waits for the next one."""


A_MOMENT = 0.05
"""Seconds that a command on its way waits for an inbox: another one that reads there holds its lock that long, and mail
should not be put off for it."""


LOOKS, BETWEEN_LOOKS = 20, 0.05
"""How often a command that needs the spool looks whether another process has finished with it, and how long apart."""


class Drained:
    """What a pass over the spool did."""

    __slots__ = ("delivered", "failed", "waiting")

    def __init__(self) -> None:
        self.delivered = 0
        self.failed = 0
        self.waiting = 0


def drain_on_the_way(room: Mailroom, deadline: float | None = None) -> None:
    """What every mail command does besides: try what is due. Its failure fails no command."""
    try:
        drain(room, deadline=room.clock.monotonic() + UPKEEP_WITHIN if deadline is None else deadline)
    except AtmError:
        return


def drop(room: Mailroom, spooled: Spooled) -> None:
    """Throw a spooled message away, as the user asked."""
    entry = spooled.entry
    record(room, entry.team, entry.agent, [entry.message_id], FAILED, "dropped from the spool on request")
    room.spool.done(spooled)


def drain(room: Mailroom, *, everything: bool = False, patient: bool = False, deadline: float | None = None) -> Drained:
    """
    Try what is due, oldest first. `everything` ignores the waiting times and the bound.

    Whoever is `patient` waits for locks, and so gets past one that a dead program left behind. After the deadline
    (monotonic) nothing more is begun.
    """
    done = Drained()
    if room.spool.is_empty():
        return done
    with room.spool.exclusively() as held:
        if held:
            _drain(room, room.spool.pending(), done, insist=everything, patient=patient, deadline=deadline)
    return done


def drain_target(room: Mailroom, team: str, agent: str, deadline: float | None = None) -> list[Spooled]:
    """Deliver what waits for one recipient, in order, until the deadline (monotonic). What still waits then."""
    until = room.clock.monotonic() + SEND_WITHIN if deadline is None else deadline
    for _ in range(LOOKS):
        if not room.spool.pending(team, agent):
            return []
        with room.spool.exclusively() as held:
            if held:
                _drain(room, room.spool.pending(team, agent), Drained(), insist=True, deadline=until)
                break
        if not time_left(until, room.clock.monotonic()):
            break
        room.clock.sleep(BETWEEN_LOOKS)  # the daemon, or another command, is at it
    return room.spool.pending(team, agent)


def put_in_spool(
    room: Mailroom, team: Team, agent: str, message: Message, reason: str, answers: dict[str, str] | None = None
) -> str:
    """Have a message wait for this life of its recipient; where it lies."""
    from atm.mail.formats.spool_entry import SpoolEntry
    from atm.team.services.lifecycle import life_of

    return room.spool.put(
        SpoolEntry(
            team=team.name,
            agent=agent,
            message_id=message.id or "",
            raw=message.raw,
            created_at=room.clock.now(),
            reason=reason,
            answers=answers,
            life="" if is_claudes_team(team.name) else life_of(room, team, agent),
        )
    )


def _is_for_another(room: Mailroom, entry: SpoolEntry) -> bool:
    """Has the recipient left since, or the team been made anew? A namesake is somebody else (D26)."""
    if not entry.life:
        return False
    from atm.team.services.lifecycle import life_of

    try:
        return life_of(room, room.rosters.load(entry.team), entry.agent) != entry.life
    except AtmError:
        return False  # what is wrong is told by whoever tries to write


def check_spool(room: Mailroom, allowance: Allowance, team: str, agent: str) -> None:
    """Raise InboxFull if as much of this sender waits in the spool as may wait in the inbox."""
    waiting = Backlog()
    for spooled in room.spool.pending(team, agent):
        if allowance.counts(_sender_of(spooled)):
            waiting.add(len(spooled.entry.raw))
    if not allowance.takes(waiting):
        raise allowance.refusal(waiting)


def waits_behind(waiting: list[Spooled], message: Message, allowance: Allowance) -> str:
    """
    Why a new message must wait behind spooled ones; empty if it need not.

    Where the inbox cannot be written, behind everything. Where only its senders have used up their room, behind their
    own mail; and what is urgent waits for nobody's reading.
    """
    if any(spooled.entry.reason not in (INBOX_FULL, LEAD_AWAY) for spooled in waiting):
        return STILL_WAITS
    full = [spooled for spooled in waiting if spooled.entry.reason == INBOX_FULL]
    is_own = any(same_name(_sender_of(spooled), message.sender) for spooled in full)
    return INBOX_FULL if is_own and not allowance.is_urgent else ""


def _is_still_held(room: Mailroom, spooled: Spooled) -> bool:
    if spooled.entry.reason != LEAD_AWAY:
        return False
    try:
        return room.rosters.is_lead_away(spooled.entry.team)
    except AtmError:
        return False


def _sender_of(spooled: Spooled) -> str:
    row = decode_row(spooled.entry.raw)
    return row.sender if row is not None else ""


def _drain(
    room: Mailroom,
    waiting: list[Spooled],
    done: Drained,
    *,
    insist: bool,
    patient: bool = False,
    deadline: float | None = None,
) -> None:
    """Who insists waits for locks as a send does, and so gets past one that was left behind; others wait a moment."""
    blocked: set[tuple[str, str]] = set()
    full: set[tuple[str, ...]] = set()
    tried = 0
    for spooled in waiting:
        target = (spooled.entry.team, spooled.entry.agent)
        if _is_still_held(room, spooled):
            done.waiting += 1  # nobody waits behind it but what is held as well
            continue
        left = None if deadline is None else time_left(deadline, room.clock.monotonic())
        due = insist or (_is_due(room, spooled) and tried < MOST_AT_ONCE)
        if target in blocked or not due or (left == 0.0 and tried):
            blocked.add(target)  # what was sent later to the same inbox waits behind it (G4)
            done.waiting += 1
            continue
        if full and _purse_of(room, spooled) in full:
            # What the same sender sent later waits behind it, and all who share its room with it: a flood under many
            # names would have the whole inbox counted for each of them. Other senders' mail does not wait.
            done.waiting += 1
            _try_to_wait(room, spooled)
            continue
        tried += 1
        try:
            result = _try(room, spooled, left if insist or patient else A_MOMENT)
        except AtmError:
            result = "waiting"  # the spool or the ledger itself cannot be written; nothing is lost by waiting
        if result == "delivered":
            done.delivered += 1
        elif result == "failed":
            done.failed += 1
        elif result == "full":
            done.waiting += 1
            full.add(_purse_of(room, spooled))
        else:
            done.waiting += 1
            blocked.add(target)


def _purse_of(room: Mailroom, spooled: Spooled) -> tuple[str, ...]:
    """Whose room a message takes, with whom."""
    entry, row = spooled.entry, decode_row(spooled.entry.raw)
    allowance = _allowance_of(room, entry, row) if row is not None else None
    if row is None or allowance is None:
        return (entry.team, entry.agent, entry.message_id)
    return (entry.team, entry.agent, allowance.purse, "reserve" if allowance.has_reserve else "")


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
    if _is_for_another(room, entry):
        return _give_up(room, spooled, f"{entry.agent} has left since; whoever has that name now is somebody else")
    row = decode_row(entry.raw)
    if row is None:
        return _give_up(room, spooled, "the spooled row is not a message")
    if spooled.was_tried and (verdict := _after_a_death(room, spooled)) is not None:
        return verdict
    try:
        allowance = _allowance_of(room, entry, row)
        # One that may have arrived already is not judged by a look: it may be what fills the inbox.
        if allowance is not None and not spooled.was_tried and not _has_room(room, entry, allowance):
            return _wait_for_room(room, spooled, entry.reason)
        if entry.answers:
            team, agent, id = (entry.answers[key] for key in ("team", "agent", "message_id"))
            room.inboxes.mark(team, agent, {id}, True, patience)
        room.spool.begin(spooled)
        room.inboxes.append(entry.team, entry.agent, [row], fresh=False, patience=patience, allowance=allowance)
    except InboxFull:
        return _wait_for_room(room, spooled, "")
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


def _allowance_of(room: Mailroom, entry: SpoolEntry, row: Message) -> Allowance | None:
    """None where the roster cannot be read: then the inbox itself says what is wrong."""
    try:
        return Allowance(room.quota, room.rosters.load(entry.team), entry.agent, row)
    except AtmError:
        return None


def _has_room(room: Mailroom, entry: SpoolEntry, allowance: Allowance) -> bool:
    return room.inboxes.has_room(entry.team, entry.agent, allowance)


def _wait_for_room(room: Mailroom, spooled: Spooled, reason: str) -> str:
    """Until its recipient has read. That is no failed try: nothing is given up because somebody is slow to read."""
    if reason != INBOX_FULL:
        spooled.entry.reason, spooled.entry.next_attempt = INBOX_FULL, 0.0
        room.spool.postpone(spooled)
    return "full"


def _try_to_wait(room: Mailroom, spooled: Spooled) -> None:
    try:
        _wait_for_room(room, spooled, spooled.entry.reason)
    except AtmError:
        return  # then others wait behind it for a while


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
    if not _is_due(room, spooled):  # the caller insisted before its time: that is no try of its own
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
