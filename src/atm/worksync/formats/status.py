"""A member's status as a record: how `worksync.rules.statuses` lies on disk. What later versions add survives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from atm.files.formats.times import from_iso, to_iso
from atm.worksync.rules.statuses import Condition, Counters, MemberStatus, ReportRecord
from atm.worksync.rules.transitions import Transition

if TYPE_CHECKING:
    from atm.core.plain import Plain

    Record = dict[str, Plain]

COUNTERS = {
    "reconcileCount": "reconciles",
    "fingerprintChangeCount": "fingerprint_changes",
    "staleReportCount": "stale_reports",
    "invalidReportCount": "invalid_reports",
    "acceptedReportCount": "accepted_reports",
    "needsSyncCount": "needs_sync",
    "suppressedBusyCount": "suppressed_busy",
    "wouldNudgeCount": "would_nudge",
}
"""Names of section 18, and of our fields."""


def encode_status(status: MemberStatus) -> Record:
    known: Record = {
        "teamName": status.team,
        "memberName": status.member,
        "agendaFingerprint": status.fingerprint,
        "state": status.state,
        "actionableCount": status.count,
        "agendaSummary": [dict(item) for item in status.summary],
        "agendaFacts": {key: dict(facts) for key, facts in status.facts.items()},
        "diagnostics": [*status.diagnostics],
        "latestAcceptedReport": encode_report(status.accepted) if status.accepted else None,
        "latestRejectedReport": encode_report(status.rejected) if status.rejected else None,
        "reports": [encode_report(one) for one in status.reports],
        "conditions": [_encode_condition(one) for one in status.conditions],
        "transitions": [_encode_transition(one) for one in status.transitions],
        "wouldNudges": {fingerprint: to_iso(at) for fingerprint, at in status.would_nudges.items()},
        "metrics": encode_counters(status.counters),
        "firstSeenAt": _iso(status.first_seen),
        "needsSyncSince": _iso(status.needs_since),
        "nudgesResumedAt": _iso(status.resumed),
        "trigger": status.trigger,
        "updatedAt": to_iso(status.updated),
    }
    return {**status.rest, **{key: value for key, value in known.items() if value not in (None, [], {})}}


def decode_status(team: str, member: str, record: Mapping[str, Plain]) -> MemberStatus:
    """Whatever is not of its kind counts as not there: a lease that cannot be read is no lease."""
    return MemberStatus(
        team=team,
        member=member,
        fingerprint=text(record, "agendaFingerprint"),
        state=text(record, "state"),
        summary=objects(record.get("agendaSummary")),
        count=count_in(record, "actionableCount"),
        facts={key: facts for key, facts in object_in(record, "agendaFacts").items() if isinstance(facts, dict)},
        diagnostics=texts(record.get("diagnostics")),
        accepted=_report_in(record, "latestAcceptedReport"),
        rejected=_report_in(record, "latestRejectedReport"),
        reports=[one for item in objects(record.get("reports")) if (one := decode_report(item)) is not None],
        conditions=[_decode_condition(item) for item in objects(record.get("conditions"))],
        transitions=[_decode_transition(item) for item in objects(record.get("transitions"))],
        would_nudges=_times(object_in(record, "wouldNudges")),
        counters=_decode_counters(object_in(record, "metrics")),
        first_seen=time_in(record, "firstSeenAt"),
        needs_since=time_in(record, "needsSyncSince"),
        resumed=time_in(record, "nudgesResumedAt"),
        trigger=text(record, "trigger"),
        updated=time_in(record, "updatedAt") or 0.0,
        rest={key: value for key, value in record.items() if key not in _OURS},
    )


_OURS = frozenset(
    (
        *("teamName", "memberName", "agendaFingerprint", "state", "actionableCount", "agendaSummary", "agendaFacts"),
        *("diagnostics", "latestAcceptedReport", "latestRejectedReport", "reports", "conditions", "transitions"),
        *("wouldNudges", "metrics", "firstSeenAt", "needsSyncSince", "nudgesResumedAt", "trigger", "updatedAt"),
    )
)


def encode_report(report: ReportRecord) -> Record:
    known: Record = {
        "id": report.id,
        "agendaFingerprint": report.fingerprint,
        "observedFingerprint": report.observed,
        "state": report.state,
        "accepted": report.accepted,
        "rejectedReason": report.reason or None,
        "taskIds": [*report.task_ids] or None,
        "blockerCommentId": report.blocker_comment or None,
        "note": report.note or None,
        "identitySource": report.identity,
        "acceptedAt" if report.accepted else "rejectedAt": to_iso(report.first_at),
        "lastSeenAt": to_iso(report.last_at),
    }
    return {key: value for key, value in known.items() if value is not None}


def decode_report(record: Mapping[str, Plain]) -> ReportRecord | None:
    last = time_in(record, "lastSeenAt")
    if last is None or not isinstance(record.get("accepted"), bool):
        return None
    accepted = record["accepted"] is True
    return ReportRecord(
        id=text(record, "id"),
        fingerprint=text(record, "agendaFingerprint"),
        observed=text(record, "observedFingerprint"),
        state=text(record, "state"),
        accepted=accepted,
        reason=text(record, "rejectedReason"),
        task_ids=texts(record.get("taskIds")),
        blocker_comment=text(record, "blockerCommentId"),
        note=text(record, "note"),
        identity=text(record, "identitySource"),
        first_at=time_in(record, "acceptedAt" if accepted else "rejectedAt") or last,
        last_at=last,
    )


def _report_in(record: Mapping[str, Plain], key: str) -> ReportRecord | None:
    return decode_report(object_in(record, key))


def _encode_condition(condition: Condition) -> Record:
    return {
        "type": condition.type,
        "status": condition.status,
        "observedFingerprint": condition.fingerprint,
        "reason": condition.reason,
        "message": condition.message,
        "lastTransitionAt": to_iso(condition.since),
    }


def _decode_condition(record: Mapping[str, Plain]) -> Condition:
    return Condition(
        text(record, "type"),
        text(record, "status"),
        text(record, "observedFingerprint"),
        text(record, "reason"),
        text(record, "message"),
        time_in(record, "lastTransitionAt") or 0.0,
    )


def _encode_transition(transition: Transition) -> Record:
    return {
        "from": transition.before or None,
        "to": transition.after,
        "changedTaskIds": [*transition.task_ids],
        "changedReasons": [*transition.reasons],
        "changedAt": to_iso(transition.at),
    }


def _decode_transition(record: Mapping[str, Plain]) -> Transition:
    return Transition(
        text(record, "from"),
        text(record, "to"),
        texts(record.get("changedTaskIds")),
        texts(record.get("changedReasons")),
        time_in(record, "changedAt") or 0.0,
    )


def encode_counters(counters: Counters, *, with_zeros: bool = False) -> Record:
    """What has never happened is not written: a file of a thousand members is read and written at every look."""
    counts = {key: getattr(counters, name) for key, name in COUNTERS.items()}
    found: Record = {key: count for key, count in counts.items() if count or with_zeros}
    times = {"lastReconcileAt": _iso(counters.last_reconcile), "lastReportAt": _iso(counters.last_report)}
    return {**found, **{key: at for key, at in times.items() if at}}


def _decode_counters(record: Mapping[str, Plain]) -> Counters:
    counters = Counters(**{name: count_in(record, key) for key, name in COUNTERS.items()})
    counters.last_reconcile = time_in(record, "lastReconcileAt")
    counters.last_report = time_in(record, "lastReportAt")
    return counters


# Reading what may be anything.


def text(record: Mapping[str, Plain], key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""


def texts(value: Plain) -> Sequence[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def objects(value: Plain) -> list[Record]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def object_in(record: Mapping[str, Plain], key: str) -> Record:
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def time_in(record: Mapping[str, Plain], key: str) -> float | None:
    value = record.get(key)
    return from_iso(value) if isinstance(value, str) else None


def count_in(record: Mapping[str, Plain], key: str) -> int:
    value = record.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else 0


def _times(record: Mapping[str, Plain]) -> dict[str, float]:
    found = {key: from_iso(value) for key, value in record.items() if isinstance(value, str)}
    return {key: at for key, at in found.items() if at is not None}


def _iso(at: float | None) -> str | None:
    return None if at is None else to_iso(at)
