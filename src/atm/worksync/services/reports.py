"""
Reports: validated against an agenda read afresh, and written down. The only use case that can make a lease.

Where the daemon cannot be reached, a report is only noted, as an intent; the daemon replays it later through the same
validator. A report that is refused because of who made it leaves no trace but a line in the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from atm.core.errors import AtmError
from atm.files.ports.records import INTENTS, STATUS
from atm.team.rules.lifecycle import UNKNOWN as UNKNOWN_STATE
from atm.team.rules.team import is_somebody_else
from atm.worksync.formats.outbox import ACCEPTED, PENDING, REJECTED, SUPERSEDED, Intent, decode_intent, encode_intent
from atm.worksync.formats.status import encode_status
from atm.worksync.rules.decisions import decide
from atm.worksync.rules.identity import Author, Trusted, proof, resolve_author
from atm.worksync.rules.reports import (
    AGENDA_UNAVAILABLE,
    CAPABILITY_UNAVAILABLE,
    CAUGHT_UP_REJECTED,
    MEMBER_INACTIVE,
    STALE_FINGERPRINT,
    STILL_WORKING_REJECTED,
    TASK_NOT_IN_AGENDA,
    TEAM_INACTIVE,
    Ground,
    Report,
    ReportVerdict,
    check_identity,
    intent_id,
    read_report,
    report_id,
    validate,
)
from atm.worksync.rules.statuses import ReportRecord, remember
from atm.worksync.services.reconcile import Seen, known_status, look_at, next_status
from atm.worksync.services.syncroom import comment_of, find_running, verify

if TYPE_CHECKING:
    from atm.core.plain import Plain, Record
    from atm.team.rules.team import Team
    from atm.worksync.services.syncroom import SyncRoom, TeamRunning

NOT_NOW = (AGENDA_UNAVAILABLE, CAPABILITY_UNAVAILABLE)
"""Verdicts about us and not about the report."""

MOST_INTENTS = 100
INTENT_SECONDS = 7 * 86400.0

INSTRUCTIONS = {
    STALE_FINGERPRINT: "Read the current agenda and retry with the current fingerprint only after you understand it.",
    CAUGHT_UP_REJECTED: "These items are yours. Work on them, or report still_working or blocked.",
    STILL_WORKING_REJECTED: "Your agenda is empty: report caught_up.",
    TASK_NOT_IN_AGENDA: "Name only tasks of your current agenda.",
    "blocked_rejected_without_evidence": "Show the blocker on the board first: a dependency, a question or a comment.",
    "agenda_unavailable": "The board cannot be read now. Go on with your work and try again later.",
    "team_inactive": "The team does not run, so nothing is accepted.",
    "capability_unavailable": "Work sync cannot take reports now. Go on with your work.",
    "invalid_payload": "Correct the arguments.",
}
WHO_ARE_YOU = "Use this tool only as your configured teammate identity. Read task_briefing again if you are unsure."
PENDING_INSTRUCTION = (
    "Report was recorded for validation. Continue concrete task work; do not treat this as a confirmed lease yet."
)


@dataclass(frozen=True, slots=True)
class ReportAnswer:
    """What became of a report."""

    verdict: ReportVerdict
    report: Report | None = None
    seen: Seen | None = None
    """The agenda, where the reporter may see it."""
    is_pending: bool = False

    @property
    def ok(self) -> bool:
        return self.verdict.ok

    def fields(self) -> dict[str, Plain]:
        """As section 13 words it."""
        from atm.files.formats.times import to_iso

        if not self.ok:
            return self._refusal()
        said: dict[str, Plain] = {"ok": True}
        if self.report is not None:
            said |= {"state": self.report.state, "agendaFingerprint": self.report.fingerprint}
        if self.is_pending:
            return {**said, "pendingValidation": True, "instruction": PENDING_INSTRUCTION}
        if self.verdict.lease_until is not None:
            said["leaseExpiresAt"] = to_iso(self.verdict.lease_until)
        return said

    def _refusal(self) -> dict[str, Plain]:
        said: dict[str, Plain] = {"ok": False, "reason": self.verdict.reason}
        if self.seen is not None:
            said["currentAgendaFingerprint"] = self.seen.fingerprint
            said["currentAgendaPreview"] = [*self.seen.agenda.preview()]
        said["instruction"] = INSTRUCTIONS.get(self.verdict.reason, WHO_ARE_YOU)
        if self.verdict.detail:
            said["detail"] = self.verdict.detail
        return said


def submit(
    syncroom: SyncRoom, team: str, arguments: Mapping[str, Plain], trusted: Trusted, at: float | None = None
) -> ReportAnswer:
    """
    Judge a report and write down what came of it. `at` is when its token was shown to us, if not now.
    """
    opened = _opened(syncroom, team, arguments)
    if isinstance(opened, ReportAnswer):
        return opened
    report, found, state, author = opened
    try:
        seen = _seen(syncroom, found, author, state)
    except AtmError as error:
        syncroom.note(found.name, "agenda_unavailable", author.name, why=str(error))
        seen = None
    token = verify(
        syncroom, found, author.name, report.fingerprint, report.token, trusted.received_at if at is None else at
    )
    ground = _ground(syncroom, found.name, state, author, trusted, token, seen, report)
    verdict = validate(report, ground)
    said = {"origin": trusted.origin, "identity": trusted.source, "reportedAt": report.reported_at}
    syncroom.note(found.name, "report", author.name, state=report.state, verdict=verdict.reason or "accepted", **said)
    if seen is not None and not verdict.is_about_identity and verdict.reason != TEAM_INACTIVE:
        try:
            _write(syncroom, found, author.name, report, verdict, seen, trusted)
        except AtmError as error:  # what is not durable is not accepted; the former status stays as it was
            syncroom.note(found.name, "status_unwritable", author.name, why=str(error))
            return ReportAnswer(ReportVerdict(CAPABILITY_UNAVAILABLE), report)
        if verdict.ok:
            return _still_so(syncroom, found, author, report, verdict, seen)
        return ReportAnswer(verdict, report, None if verdict.reason == AGENDA_UNAVAILABLE else seen)
    return ReportAnswer(verdict, report)


def _opened(
    syncroom: SyncRoom, team: str, arguments: Mapping[str, Plain]
) -> tuple[Report, Team, TeamRunning, Author] | ReportAnswer:
    """What a report says, the team, whether it runs, and whom the report claims to be from."""
    report = read_report(arguments)
    if isinstance(report, ReportVerdict):
        return ReportAnswer(report)
    found, state = find_running(syncroom, team)
    if found is None:
        return ReportAnswer(ReportVerdict(TEAM_INACTIVE), report)
    return report, found, state, resolve_author(report.author, found)


def _still_so(
    syncroom: SyncRoom, team: Team, author: Author, report: Report, verdict: ReportVerdict, seen: Seen
) -> ReportAnswer:
    """
    The board may have changed while the lease was written. The lease is for the former agenda and holds nothing then,
    and whoever reported is told so. A board that cannot be read any more, or not all of it, says nothing about that.
    """
    try:
        again = look_at(syncroom, team, [author.name])[author.name]
    except AtmError:
        return ReportAnswer(verdict, report, seen)
    newly_unreadable = set(again.agenda.unreadable) - set(seen.agenda.unreadable)
    if again.fingerprint == seen.fingerprint or newly_unreadable:
        return ReportAnswer(verdict, report, seen)
    return ReportAnswer(ReportVerdict(STALE_FINGERPRINT), report, again)


def _seen(syncroom: SyncRoom, team: Team, author: Author, state: TeamRunning) -> Seen | None:
    if author.refused or not state.runs:
        return None
    return look_at(syncroom, team, [author.name])[author.name]


def _ground(
    syncroom: SyncRoom,
    team: str,
    state: TeamRunning,
    author: Author,
    trusted: Trusted,
    token: str,
    seen: Seen | None,
    report: Report,
) -> Ground:
    agenda = seen.agenda if seen is not None else None
    return Ground(
        team=team,
        team_runs=state.runs,
        member=author.name,
        refused=author.refused,
        trusted=trusted,
        token=token,
        agenda=agenda,
        fingerprint=seen.fingerprint if seen is not None else "",
        comments=comment_of(syncroom, agenda, report.blocker_comment) if agenda is not None else {},
    )


def _write(
    syncroom: SyncRoom, team: Team, member: str, report: Report, verdict: ReportVerdict, seen: Seen, trusted: Trusted
) -> None:
    def change(records: dict[str, Record]) -> dict[str, Record | None]:
        former = known_status(records, team.name, member, seen.joined_at, seen.at)
        before = decide(seen.agenda, seen.lease(former), seen.busy)
        status = next_status(former, seen, before)
        record = _record(team.name, member, report, verdict, seen, trusted)
        known = next((one for one in status.reports if one.id == record.id and one.accepted == record.accepted), None)
        record = replace(record, first_at=known.first_at) if known is not None else record
        status.reports = remember(status.reports, record)
        status.counters.last_report = trusted.received_at
        if verdict.ok:
            status.accepted = record
            status.counters.accepted_reports += 1
        else:  # a valid lease is not touched (D15)
            status.rejected = record
            status.counters.stale_reports += verdict.reason == STALE_FINGERPRINT
            status.counters.invalid_reports += verdict.reason != STALE_FINGERPRINT
        after = decide(seen.agenda, seen.lease(status), seen.busy)
        return {member.casefold(): encode_status(next_status(status, seen, after))}

    syncroom.records.change(team.name, STATUS, change, keys=[member.casefold()])


def _record(
    team: str, member: str, report: Report, verdict: ReportVerdict, seen: Seen, trusted: Trusted
) -> ReportRecord:
    return ReportRecord(
        id=report_id(team, member, report),
        fingerprint=report.fingerprint,
        observed=seen.fingerprint,
        state=report.state,
        accepted=verdict.ok,
        reason=verdict.reason,
        task_ids=report.task_ids,
        blocker_comment=report.blocker_comment,
        note=report.note,
        identity=proof(trusted),
        first_at=trusted.received_at,
        last_at=trusted.received_at,
    )


# Reports that nobody can judge now.


def judge_or_note(
    syncroom: SyncRoom,
    team: str,
    arguments: Mapping[str, Plain],
    trusted: Trusted,
    ask: Callable[[], dict[str, Plain] | None] | None,
) -> dict[str, Plain]:
    """Only the daemon judges: this is it (`ask` is None), or it is asked; where it cannot be, the report is noted."""
    if ask is None:
        return submit(syncroom, team, arguments, trusted).fields()
    return ask() or note_intent(syncroom, team, arguments, trusted).fields()


def note_intent(syncroom: SyncRoom, team: str, arguments: Mapping[str, Plain], trusted: Trusted) -> ReportAnswer:
    """
    Keep a report for the daemon. Only one that may be its author's: who is refused now stays refused.

    Nothing here says that it is right: the agenda is not even looked at.
    """
    opened = _opened(syncroom, team, arguments)
    if isinstance(opened, ReportAnswer):
        return opened
    report, found, state, author = opened
    token = verify(syncroom, found, author.name, report.fingerprint, report.token, trusted.received_at)
    refused = check_identity(_ground(syncroom, found.name, state, author, trusted, token, None, report))
    if refused:
        return ReportAnswer(ReportVerdict(refused), report)
    intent = Intent(
        id=intent_id(found.name, author.name, report),
        team=found.name,
        member=author.name,
        raw={key: value for key, value in arguments.items() if key in _ARGUMENTS},
        identity=trusted.source,
        received=trusted.received_at,
    )
    return (
        ReportAnswer(ReportVerdict(), report, is_pending=True)
        if _keep(syncroom, intent)
        else ReportAnswer(_FULL, report)
    )


_ARGUMENTS = ("from", "agendaFingerprint", "state", "taskIds", "blockerCommentId", "note", "reportToken", "reportedAt")
_FULL = ReportVerdict(CAPABILITY_UNAVAILABLE)


def _keep(syncroom: SyncRoom, intent: Intent) -> bool:
    """False if as many wait as may: a flood must not push out what came before it."""
    kept = True

    def change(records: dict[str, Record]) -> dict[str, Record | None]:
        nonlocal kept
        known = [decode_intent(id, intent.team, record) for id, record in records.items()]
        mine = next((one for one in known if one.id == intent.id and one.status == PENDING), None)
        kept = mine is not None or sum(one.status == PENDING for one in known) < MOST_INTENTS
        if mine is not None or not kept:
            return {}
        gone = _expired([one for one in known if one.id != intent.id], intent.received)
        return {**dict.fromkeys(gone), intent.id: encode_intent(intent)}

    syncroom.records.change(intent.team, INTENTS, change)
    return kept


def _expired(known: list[Intent], now: float) -> list[str]:
    """Settled ones go when they are old or too many; one that waits never does."""
    settled = sorted((one for one in known if one.status != PENDING), key=lambda one: one.received)
    waiting = len(known) - len(settled)
    room = max(0, MOST_INTENTS - 1 - waiting)
    old = [one.id for one in settled if now - one.received > INTENT_SECONDS]
    return list(dict.fromkeys([*old, *(one.id for one in settled[: max(0, len(settled) - room)])]))


def replay(syncroom: SyncRoom, team: str) -> int:
    """Put every report that waits through the validator, once; how many were judged."""
    waiting = [
        intent
        for id, record in syncroom.records.read(team, INTENTS).items()
        if (intent := decode_intent(id, team, record)).status == PENDING
    ]
    judged = 0
    for intent in sorted(waiting, key=lambda one: one.received):
        verdict = _judged(syncroom, intent)
        if verdict is not None:
            _settle(syncroom, intent, *verdict)
            judged += 1
    return judged


def _judged(syncroom: SyncRoom, intent: Intent) -> tuple[str, str] | None:
    """
    What becomes of it; None if that cannot be said now, and it goes on waiting.

    The lease counts from now; that the token was good is judged by when it was shown.
    """
    found, state = find_running(syncroom, intent.team)
    member = found.member(intent.member) if found is not None else None
    if member is None or is_somebody_else(intent.received, member.joined_at, syncroom.now()):
        return SUPERSEDED, MEMBER_INACTIVE
    if syncroom.now() - intent.received > INTENT_SECONDS:
        return SUPERSEDED, "too_old"
    if _is_on_record(syncroom, intent):
        return ACCEPTED, ""
    if state.state == UNKNOWN_STATE:
        return None
    trusted = Trusted("intent_replay", syncroom.now(), intent.identity, intent.team, intent.member)
    answer = submit(syncroom, intent.team, intent.raw, trusted, at=intent.received)
    if answer.verdict.reason in NOT_NOW:
        return None
    return (ACCEPTED, "") if answer.ok else (REJECTED, answer.verdict.reason)


def _is_on_record(syncroom: SyncRoom, intent: Intent) -> bool:
    """Was it accepted before, by a daemon that could not say so any more? Its lease must not begin anew."""
    report = read_report(intent.raw)
    if isinstance(report, ReportVerdict):
        return False
    id = report_id(intent.team, intent.member, report)
    known = syncroom.records.read(intent.team, STATUS, [intent.member.casefold()])
    status = known_status(known, intent.team, intent.member)
    records = status.reports if status is not None else ()
    return any(
        one.id == id and one.accepted and one.note == report.note and one.last_at >= intent.received for one in records
    )


def _settle(syncroom: SyncRoom, intent: Intent, status: str, reason: str) -> None:
    def change(records: dict[str, Record]) -> dict[str, Record | None]:
        record = records.get(intent.id)
        if record is None or decode_intent(intent.id, intent.team, record).status != PENDING:
            return {}
        raw = {key: value for key, value in intent.raw.items() if key != "reportToken"}  # it has done its duty
        settled = replace(intent, raw=raw, status=status, reason=reason, processed=syncroom.now())
        return {intent.id: encode_intent(settled)}

    syncroom.records.change(intent.team, INTENTS, change, keys=[intent.id])
