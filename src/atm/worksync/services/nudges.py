"""
Nudges: planned into the outbox by a queued reconcile, claimed, validated once more, inserted once, marked.

Whoever dies in between leaves an item that the next dispatcher finds. The message's id follows from the item, so an
insert that happened is recognised, and one that is made again is the same message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from atm.core.errors import AtmError, FileBusy, InboxFull
from atm.core.names import same_name
from atm.files.formats.json_record import RawObject, encode
from atm.files.formats.times import from_iso
from atm.files.ports.records import OUTBOX, STATUS
from atm.mail.services.mailroom import Recipient, find_recipient
from atm.mail.services.posting import Draft, compose, deliver
from atm.team.rules.team import AGENT, HUMAN, claude_reads_inbox, is_somebody_else
from atm.team.services.registry import find_team
from atm.worksync.formats.outbox import decode_nudge, encode_nudge
from atm.worksync.formats.status import decode_status, encode_status
from atm.worksync.rules import nudges as rules
from atm.worksync.rules.nudges import (
    CLAIMED,
    CONFLICT,
    DELIVERED,
    ESCALATION,
    RETRYABLE,
    SENDER,
    SUPERSEDED,
    TERMINAL,
    Nudge,
    message_id,
    nudge_id,
    payload_for,
)
from atm.worksync.rules.readiness import Readiness, assess
from atm.worksync.rules.statuses import MemberStatus
from atm.worksync.services.ladders import ladder_of, outbox
from atm.worksync.services.reconcile import known_status, look_at
from atm.worksync.services.syncroom import find_running

if TYPE_CHECKING:
    from atm.core.plain import Record
    from atm.mail.rules.messages import Message
    from atm.team.rules.team import Team
    from atm.worksync.rules.nudges import Payload
    from atm.worksync.services.reconcile import MemberLook, Seen
    from atm.worksync.services.syncroom import SyncRoom

MOST_CLAIMED = 10
SOON = 60.0
COOLDOWN = 600.0


def readiness(syncroom: SyncRoom, team: str) -> Readiness:
    """From the figures of every member that is still there."""
    found, _ = find_running(syncroom, team)
    here = {name.casefold() for name in found.names} if found is not None else set()
    records = syncroom.records.read(team, STATUS)
    statuses = [decode_status(team, key, record) for key, record in records.items() if key in here]
    return assess(statuses, syncroom.now(), syncroom.policy.thresholds)


# Planning. Only a queued reconcile does this; looking at a status never does.


@dataclass(frozen=True, slots=True)
class Planned:
    """What came of the need of one member: new, kept, revived, conflict, or why there is no item."""

    member: str
    outcome: str
    nudge: Nudge | None = None


NOT_READY, TOO_SOON, NOBODY = "phase2_not_ready", "nudged_already", "nobody_to_tell"
UNSTABLE, JUST_REPORTED = "fingerprint_unstable", "just_reported"


def plan(syncroom: SyncRoom, team: Team, looks: Sequence[MemberLook]) -> list[Planned]:
    """See to it that an item waits for everybody who needs one."""
    due = [look for look in looks if look.would_nudge]
    if not due:
        return []
    ready = readiness(syncroom, team.name)
    if not ready.is_ready:
        done = [Planned(look.member, NOT_READY) for look in due]
        syncroom.note(team.name, "phase2_not_ready", state=ready.state, reasons=[*ready.reasons])
        return done
    done = [
        _plan_one(syncroom, team, look) if ready.is_ready_for(look.member) else Planned(look.member, UNSTABLE)
        for look in due
    ]
    for one in done:
        if one.outcome not in (TOO_SOON, rules.KEPT):
            syncroom.note(team.name, "planned", one.member, outcome=one.outcome, item=one.nudge.id if one.nudge else "")
    return done


def _plan_one(syncroom: SyncRoom, team: Team, look: MemberLook) -> Planned:
    planned = Planned(look.member, TOO_SOON)
    now = syncroom.now()

    def change(records: dict[str, Record]) -> dict[str, Record | None]:
        nonlocal planned
        every = [decode_nudge(id, team.name, record) for id, record in records.items()]
        former = {one.id: None for one in every if _is_of_former_life(one, look, now)}
        known = [one for one in every if one.id not in former]
        rung = ladder_of(look.seen, look.status, known).rung
        wanted = _wanted(team, look, rung) if rung else None
        if wanted is None:
            planned = Planned(look.member, NOBODY if rung else TOO_SOON)
            return {**former}
        existing = next((one for one in known if one.id == wanted.id), None)
        outcome, nudge = rules.ensure(existing, wanted, now)
        planned = Planned(look.member, outcome, nudge)
        if outcome in (rules.KEPT, CONFLICT):
            return {**former}
        kept = rules.worth_keeping([*known, nudge], now)
        return {**former, **{one.id: None for one in known if one.id not in kept}, nudge.id: encode_nudge(nudge)}

    syncroom.records.change(team.name, OUTBOX, change)
    return planned


def _is_of_former_life(nudge: Nudge, look: MemberLook, now: float) -> bool:
    """Reminders of a member who left are not held against a namesake who joined since (D26)."""
    is_theirs = nudge.member.casefold() == look.member.casefold()
    return is_theirs and is_somebody_else(nudge.created, look.seen.joined_at, now)


def _wanted(team: Team, look: MemberLook, rung: str) -> Nudge | None:
    to = look.member if rung != ESCALATION else _whom_to_tell(team, look.member)
    if not to:
        return None
    payload = payload_for(look.seen.agenda, rung, to)
    # Another lead is another person to tell.
    key = rung if rung != ESCALATION else f"{ESCALATION}:{to.casefold()}"
    id = nudge_id(team.name, look.member, look.seen.fingerprint, key)
    return Nudge(id, team.name, look.member, look.seen.fingerprint, rung, to, payload.hash)


def _whom_to_tell(team: Team, member: str) -> str:
    """The lead; a person, if it is the lead that does not report."""
    if team.member(team.lead) is not None and not same_name(team.lead, member):
        return team.lead
    return next((one.name for one in team.members if one.kind == HUMAN and not same_name(one.name, member)), "")


def begin_anew(syncroom: SyncRoom, team: Team, member: str) -> bool:
    """Somebody ends a pause: reminders of this agenda count from now. False if there is none."""
    seen, now, is_paused = look_at(syncroom, team, [member])[member], syncroom.now(), False

    def change(records: dict[str, Record]) -> dict[str, Record | None]:
        nonlocal is_paused
        status = known_status(records, team.name, member, seen.joined_at, now) or MemberStatus(team.name, member)
        is_paused = ladder_of(seen, status, outbox(syncroom, team.name)).is_paused
        return {member.casefold(): encode_status(replace(status, resumed=now))} if is_paused else {}

    syncroom.records.change(team.name, STATUS, change, keys=[member.casefold()])
    if is_paused:
        syncroom.note(team.name, "pause_ended", member)
    return is_paused


# Dispatching.


@dataclass(frozen=True, slots=True)
class Dispatched:
    """What became of one item."""

    nudge: Nudge
    outcome: str
    why: str = ""
    is_new: bool = False
    """A message was written just now."""


def dispatch(syncroom: SyncRoom, team: str) -> list[Dispatched]:
    """Send what is due in a team that runs, each after looking at everything once more."""
    found, state = find_running(syncroom, team)
    if found is None or not state.runs:
        return []  # a team that was stopped keeps what waits for it, untouched
    return [_dispatch_one(syncroom, found.name, nudge) for nudge in _claim_due(syncroom, found)]


def next_due(syncroom: SyncRoom, team: str) -> float | None:
    """When something in the outbox is worth another look. In a team that was stopped nothing is."""
    known = outbox(syncroom, team)
    if not any(one.status in rules.UNSETTLED for one in known) or not find_running(syncroom, team)[1].runs:
        return None
    held = {one.to.casefold(): _held_until(syncroom, one) for one in known if one.status == CLAIMED}
    times = [max(one.next_attempt or 0.0, held.get(one.to.casefold(), 0.0)) for one in known if one.status in WAITING]
    return min([*times, *held.values()], default=None)


WAITING = (rules.PENDING, RETRYABLE)


def _held_until(syncroom: SyncRoom, nudge: Nudge) -> float:
    return 0.0 if _is_abandoned(syncroom, nudge) else (nudge.claimed_at or 0.0) + rules.CLAIM_SECONDS


def _is_abandoned(syncroom: SyncRoom, nudge: Nudge) -> bool:
    """Claimed by a process of this machine that is gone: nobody need wait until the claim wears off."""
    host, _, pid = nudge.claimed_by.rpartition(":")
    presence = syncroom.room.presence
    is_ours = nudge.status == CLAIMED and host == presence.host and pid.isdecimal() and nudge.claimed_by != syncroom.me
    return is_ours and not presence.process_runs(int(pid))


def _is_due(syncroom: SyncRoom, nudge: Nudge, now: float) -> bool:
    return rules.is_due(nudge, now) or _is_abandoned(syncroom, nudge)


def _claim_due(syncroom: SyncRoom, team: Team) -> list[Nudge]:
    """One for each member at a time: what a second one may do depends on what becomes of the first."""
    claimed: list[Nudge] = []

    def change(records: dict[str, Record]) -> dict[str, Record | None]:
        claimed.clear()
        now = syncroom.now()
        known = [decode_nudge(id, team.name, record) for id, record in records.items()]
        taken = {one.to.casefold() for one in known if one.status == CLAIMED and not _is_due(syncroom, one, now)}
        for one in sorted(known, key=lambda nudge: nudge.created):
            if len(claimed) < MOST_CLAIMED and _is_due(syncroom, one, now) and one.to.casefold() not in taken:
                taken.add(one.to.casefold())
                claimed.append(rules.claim(one, syncroom.me, now))
        return {one.id: encode_nudge(one) for one in claimed}

    if any(_is_due(syncroom, one, syncroom.now()) for one in outbox(syncroom, team.name)):
        syncroom.records.change(team.name, OUTBOX, change)
    return claimed


def _dispatch_one(syncroom: SyncRoom, team: str, nudge: Nudge) -> Dispatched:
    try:
        done = _validated(syncroom, team, nudge)
    except AtmError as error:
        done = _put_off(syncroom, nudge, str(error))
    syncroom.note(team, "dispatched", nudge.member, item=nudge.id, outcome=done.outcome, why=done.why)
    return done


def _put_off(syncroom: SyncRoom, nudge: Nudge, why: str) -> Dispatched:
    again, failures = syncroom.now() + rules.backoff(nudge), nudge.failures + 1

    def becomes(current: Nudge, now: float) -> Nudge:
        return replace(rules.settle(current, RETRYABLE, now, why=why, again_at=again), failures=failures)

    try:
        _settle(syncroom, nudge, becomes)
    except AtmError:
        pass  # the claim wears off by itself
    return Dispatched(nudge, RETRYABLE, why)


def _validated(syncroom: SyncRoom, team: str, nudge: Nudge) -> Dispatched:
    """Everything again, immediately before the insert (section 15.2)."""
    verdict = _revalidate(syncroom, team, nudge)
    if isinstance(verdict, Refused):
        status, why, again = verdict.status, verdict.why, verdict.again_at
        _settle(syncroom, nudge, lambda current, now: rules.settle(current, status, now, why=why, again_at=again))
        return Dispatched(nudge, status, why)
    return _insert(syncroom, team, nudge, verdict)


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a nudge is not sent now, and whether it may be later."""

    status: str
    why: str
    again_at: float | None = None


def _revalidate(syncroom: SyncRoom, team: str, nudge: Nudge) -> Refused | Payload:
    found, state = find_running(syncroom, team)
    now = syncroom.now()
    if found is None or not state.runs:
        return Refused(RETRYABLE, "team_inactive", now + SOON)
    member = found.member(nudge.member)
    if member is None or found.member(nudge.to) is None:
        return Refused(SUPERSEDED, "member_inactive")
    if member.kind != AGENT:
        return Refused(SUPERSEDED, "not_an_agent")
    records = syncroom.records.read(team, STATUS, [member.name.casefold()])
    status = known_status(records, team, member.name, member.joined_at, now)
    seen = look_at(syncroom, found, [member.name])[member.name]
    if seen.fingerprint != nudge.fingerprint:
        return Refused(SUPERSEDED, "stale_fingerprint")
    if seen.lease(status) is not None:
        return Refused(SUPERSEDED, "valid_lease")
    if seen.agenda.only_waits:
        return Refused(SUPERSEDED, "only_waits")
    if not readiness(syncroom, team).is_ready_for(member.name):
        return Refused(SUPERSEDED, NOT_READY)
    if nudge.rung != ESCALATION:
        peace = _left_in_peace(syncroom, nudge, seen, seen.heard_until(status))
        if peace is not None:
            return peace
    payload = payload_for(seen.agenda, nudge.rung, nudge.to)
    return payload if payload.hash == nudge.payload_hash else Refused(SUPERSEDED, rules.OTHER_WORDS)


def _left_in_peace(syncroom: SyncRoom, nudge: Nudge, seen: Seen, heard_until: float | None) -> Refused | None:
    now = syncroom.now()
    if seen.busy.reason:
        soon = now + min(SOON, syncroom.policy.quiet_seconds)
        return Refused(RETRYABLE, f"{rules.BUSY}: {seen.busy.reason}", max(seen.busy.until or 0.0, soon))
    if heard_until is not None:
        return Refused(RETRYABLE, f"{rules.BUSY}: {JUST_REPORTED}", heard_until)
    if seen.cooldown:
        return Refused(RETRYABLE, f"{rules.COOLDOWN}: {seen.cooldown}", now + COOLDOWN)
    limited = rules.rate_limited_until(outbox(syncroom, nudge.team), nudge.member, now)
    return Refused(RETRYABLE, "member_nudge_rate_limited", limited) if limited is not None else None


def _insert(syncroom: SyncRoom, team: str, nudge: Nudge, payload: Payload) -> Dispatched:
    """Once: marked as about to happen, looked for, inserted under an id that follows from the item, marked as done."""
    id = message_id(nudge.id)
    to = find_recipient(syncroom.room, team, nudge.to)
    known = _known_message(syncroom, to, id)
    joined, why = _joined_last(syncroom, to, nudge), ""
    if known is not None and is_somebody_else(from_iso(known.timestamp) or 0.0, joined, syncroom.now()):
        id, why = message_id(f"{nudge.id}:{joined}"), "a namesake who has left was nudged before"
        known = _known_message(syncroom, to, id)
    is_ours = known is not None and known.sender == SENDER and nudge.inserting  # in the words of a former version
    if known is not None and payload.text not in known.text and not is_ours:
        return _done(syncroom, nudge, TERMINAL, id, "message_conflict")
    if known is not None:
        return _done(syncroom, nudge, DELIVERED, id, "it was there already", at=from_iso(known.timestamp))
    if nudge.inserting and claude_reads_inbox(to.member, to.in_claudes_team):
        # Whoever died may have inserted it, and Claude Code takes out what it has read: rather none than two (G9).
        return _done(syncroom, nudge, DELIVERED, id, "unknown: an earlier insert may have been consumed")
    if not _settle(syncroom, nudge, lambda current, _: replace(current, inserting=True)):
        return Dispatched(nudge, SUPERSEDED, "claimed by somebody else meanwhile")
    # Not by way of the spool: what it delivers later is not validated again.
    try:
        deliver(syncroom.room, to, _message(syncroom, to, payload, id), is_new=False, may_wait=False)
    except (FileBusy, InboxFull):  # another process holds the inbox, or it takes no more: nothing was written, surely
        _settle(syncroom, nudge, lambda current, _: replace(current, inserting=False))
        raise
    return replace(_done(syncroom, nudge, DELIVERED, id, why), is_new=True)


def _joined_last(syncroom: SyncRoom, to: Recipient, nudge: Nudge) -> float | None:
    """What was written before whom it is for, or whom it is about, joined is about a namesake (D26)."""
    about = find_team(syncroom.room, nudge.team).member(nudge.member)
    return max((one.joined_at for one in (to.member, about) if one is not None and one.joined_at), default=None)


def _done(syncroom: SyncRoom, nudge: Nudge, status: str, id: str, why: str, at: float | None = None) -> Dispatched:
    def becomes(current: Nudge, now: float) -> Nudge:
        return replace(rules.settle(current, status, now, why=why, at=at), message_id=id)

    _settle(syncroom, nudge, becomes)
    return Dispatched(nudge, status, why)


def _known_message(syncroom: SyncRoom, to: Recipient, id: str) -> Message | None:
    """What was written under this id before: in the ledger, or in the inbox if the ledger was not reached."""
    for entry in syncroom.room.ledger.about(to.team_name, [id]):
        if entry.message is not None:
            return entry.message
    return next((row for row in syncroom.room.inboxes.rows(to.team_name, to.agent) if row.id == id), None)


def _message(syncroom: SyncRoom, to: Recipient, payload: Payload, id: str) -> Message:
    letter = Draft(sender=SENDER, text=payload.text, summary="Work sync check")
    message = compose(syncroom.room, to, letter, id)
    if not to.in_claudes_team:  # Claude Code removes rows with fields that it does not know
        record = RawObject(message.raw)
        for key, value in payload.extra().items():
            record = record.with_raw(key, encode(value))
        message.raw = record.text
    return message


def _settle(syncroom: SyncRoom, nudge: Nudge, becomes: Callable[[Nudge, float], Nudge]) -> bool:
    """Write what became of a claimed item; False if the claim is not ours any more."""
    is_ours = False

    def change(records: dict[str, Record]) -> dict[str, Record | None]:
        nonlocal is_ours
        record = records.get(nudge.id)
        current = decode_nudge(nudge.id, nudge.team, record) if record is not None else None
        is_ours = rules.is_still_held(current, nudge)
        return {nudge.id: encode_nudge(becomes(current, syncroom.now()))} if is_ours and current is not None else {}

    syncroom.records.change(nudge.team, OUTBOX, change, keys=[nudge.id])
    return is_ours
