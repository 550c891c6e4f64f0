"""Nudges and waiting reports as records: the outbox, and `report-intents.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atm.files.formats.times import to_iso
from atm.worksync.formats.status import count_in, object_in, text, time_in
from atm.worksync.rules.nudges import PLAIN, STATES, TERMINAL, Nudge

if TYPE_CHECKING:
    from atm.core.plain import Plain

    Record = dict[str, Plain]

PENDING, ACCEPTED, REJECTED, SUPERSEDED = "pending", "accepted", "rejected", "superseded"


@dataclass(frozen=True, slots=True)
class Intent:
    """A report that nobody could validate when it came. It is no lease, and becomes none without the validator."""

    id: str
    team: str
    member: str
    raw: Mapping[str, Plain]
    """The arguments as they came, within their sizes."""
    identity: str
    """How the writer knew whose it was; a claim alone is proven by its token or not at all."""
    received: float
    status: str = PENDING
    reason: str = ""
    processed: float | None = None


def encode_intent(intent: Intent) -> Record:
    known: Record = {
        "id": intent.id,
        "teamName": intent.team,
        "memberName": intent.member,
        "rawInput": dict(intent.raw),
        "identitySource": intent.identity,
        "receivedAt": to_iso(intent.received),
        "status": intent.status,
        "validationReason": intent.reason or None,
        "processedAt": None if intent.processed is None else to_iso(intent.processed),
    }
    return {key: value for key, value in known.items() if value is not None}


def decode_intent(id: str, team: str, record: Mapping[str, Plain]) -> Intent:
    return Intent(
        id=id,
        team=team,
        member=text(record, "memberName"),
        raw=object_in(record, "rawInput"),
        identity=text(record, "identitySource"),
        received=time_in(record, "receivedAt") or 0.0,
        status=text(record, "status") or PENDING,
        reason=text(record, "validationReason"),
        processed=time_in(record, "processedAt"),
    )


_TEXTS = {
    "memberName": "member",
    "agendaFingerprint": "fingerprint",
    "rung": "rung",
    "recipient": "to",
    "payloadHash": "payload_hash",
    "status": "status",
    "claimedBy": "claimed_by",
    "deliveredMessageId": "message_id",
    "lastError": "last_error",
}
_TIMES = {
    "claimedAt": "claimed_at",
    "nextAttemptAt": "next_attempt",
    "createdAt": "created",
    "updatedAt": "updated",
    "deliveredAt": "delivered",
}
_OTHERS = ("id", "teamName", "attemptGeneration", "failureCount", "inserting")


def encode_nudge(nudge: Nudge) -> Record:
    known: Record = {"id": nudge.id, "teamName": nudge.team, "attemptGeneration": nudge.generation}
    known |= {key: getattr(nudge, name) for key, name in _TEXTS.items() if getattr(nudge, name)}
    times = {key: getattr(nudge, name) for key, name in _TIMES.items()}
    known |= {key: to_iso(at) for key, at in times.items() if at is not None}
    if nudge.failures:
        known["failureCount"] = nudge.failures
    if nudge.inserting:
        known["inserting"] = True
    return {**nudge.rest, **known}


def decode_nudge(id: str, team: str, record: Mapping[str, Plain]) -> Nudge:
    """An item in a state that we do not know is never sent."""
    found = {name: text(record, key) for key, name in _TEXTS.items()}
    if found["status"] not in STATES:
        found |= {"status": TERMINAL, "last_error": f"unknown state {found['status'][:40]!r}"}
    times = {name: time_in(record, key) for key, name in _TIMES.items()}
    ours = {*_TEXTS, *_TIMES, *_OTHERS}
    return Nudge(
        id=id,
        team=team,
        member=found["member"],
        fingerprint=found["fingerprint"],
        rung=found["rung"] or PLAIN,
        to=found["to"] or found["member"],
        payload_hash=found["payload_hash"],
        status=found["status"],
        generation=count_in(record, "attemptGeneration"),
        failures=count_in(record, "failureCount"),
        claimed_by=found["claimed_by"],
        claimed_at=times["claimed_at"],
        inserting=record.get("inserting") is True,
        message_id=found["message_id"],
        last_error=found["last_error"],
        next_attempt=times["next_attempt"],
        created=times["created"] or 0.0,
        updated=times["updated"] or 0.0,
        delivered=times["delivered"],
        rest={key: value for key, value in record.items() if key not in ours},
    )
