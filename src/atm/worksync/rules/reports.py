"""
Reports: what a member may say about its agenda, and whether it is accepted.

`validate` is pure and fails closed: what cannot be proven is rejected, with one of sixteen reasons. A rejection that
is about the agenda brings the current one along, so that the reporter can do better; one that is about identity
says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atm.board.rules.tasks import task_id
from atm.core.identifiers import derived_id
from atm.core.names import LONGEST_KNOWN
from atm.core.work_errors import BadTask
from atm.worksync.rules.identity import disagreement, distrust
from atm.worksync.rules.leases import BLOCKED, CAUGHT_UP, STATES, STILL_WORKING, lease_until

if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.worksync.rules.agenda import Agenda
    from atm.worksync.rules.identity import Trusted

CAPABILITY_UNAVAILABLE = "capability_unavailable"
TEAM_INACTIVE, MEMBER_INACTIVE = "team_inactive", "member_inactive"
RESERVED_AUTHOR, UNSAFE_PROVIDER_ALIAS = "reserved_author", "unsafe_provider_alias"
IDENTITY_MISMATCH, IDENTITY_UNTRUSTED = "identity_mismatch", "identity_untrusted"
TEAM_MISMATCH, INVALID_REPORT_TOKEN = "team_mismatch", "invalid_report_token"
AGENDA_UNAVAILABLE, STALE_FINGERPRINT = "agenda_unavailable", "stale_fingerprint"
CAUGHT_UP_REJECTED = "caught_up_rejected_actionable_items_exist"
STILL_WORKING_REJECTED = "still_working_rejected_empty_agenda"
TASK_NOT_IN_AGENDA = "task_not_in_current_agenda"
BLOCKED_REJECTED = "blocked_rejected_without_evidence"
INVALID_PAYLOAD = "invalid_payload"

REASONS = (
    *(CAPABILITY_UNAVAILABLE, TEAM_INACTIVE, MEMBER_INACTIVE, RESERVED_AUTHOR, UNSAFE_PROVIDER_ALIAS),
    *(IDENTITY_MISMATCH, IDENTITY_UNTRUSTED, TEAM_MISMATCH, INVALID_REPORT_TOKEN, AGENDA_UNAVAILABLE),
    *(STALE_FINGERPRINT, CAUGHT_UP_REJECTED, STILL_WORKING_REJECTED, TASK_NOT_IN_AGENDA, BLOCKED_REJECTED),
    INVALID_PAYLOAD,
)
IDENTITY_FAILURES = (
    *(IDENTITY_MISMATCH, TEAM_MISMATCH, RESERVED_AUTHOR, UNSAFE_PROVIDER_ALIAS, INVALID_REPORT_TOKEN),
    *(MEMBER_INACTIVE, IDENTITY_UNTRUSTED),
)
"""They reveal nothing and leave no intent: trying again later cannot make them true."""

LONGEST_NOTE, MOST_TASK_IDS, LONGEST_COMMENT_ID = 1000, 20, 128
LONGEST_FINGERPRINT, LONGEST_TOKEN, LONGEST_NAME = 128, 2048, LONGEST_KNOWN


@dataclass(frozen=True, slots=True)
class Report:
    """What a member says. `author` is who it says it is."""

    author: str
    fingerprint: str
    state: str
    task_ids: Sequence[str] = ()
    blocker_comment: str = ""
    note: str = ""
    token: str = ""
    reported_at: str = ""
    """By the reporter's clock: a remark, never a time that we count with."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Everything that a report is held against, read afresh."""

    team: str
    team_runs: bool
    member: str
    """The configured member that the author means; empty with `refused` if there is none."""
    refused: str
    trusted: Trusted
    token: str
    """ok, missing, expired or invalid, for the fingerprint that the report names."""
    agenda: Agenda | None
    fingerprint: str
    comments: Mapping[str, str]
    """Of the comment that the report names: its task."""


@dataclass(frozen=True, slots=True)
class ReportVerdict:
    """Accepted, with a lease where there is one; or the reason why not."""

    reason: str = ""
    lease_until: float | None = None
    detail: str = ""
    """For people; never text that others wrote."""

    @property
    def ok(self) -> bool:
        return not self.reason

    @property
    def is_about_identity(self) -> bool:
        return self.reason in IDENTITY_FAILURES


def read_report(arguments: Mapping[str, Plain]) -> Report | ReportVerdict:
    """From untrusted arguments, within their sizes; else the verdict `invalid_payload` that says what is wrong."""
    texts = {
        "from": LONGEST_NAME,
        "agendaFingerprint": LONGEST_FINGERPRINT,
        "state": 32,
        "reportToken": LONGEST_TOKEN,
        "blockerCommentId": LONGEST_COMMENT_ID,
        "note": LONGEST_NOTE,
        "reportedAt": 64,
    }
    for key, most in texts.items():
        value = arguments.get(key)
        if value is not None and (not isinstance(value, str) or len(value) > most):
            return ReportVerdict(INVALID_PAYLOAD, detail=f"{key} must be a text of at most {most} characters")
    said = {key: str(arguments.get(key) or "") for key in texts}
    if not said["from"].strip() or not said["agendaFingerprint"] or said["state"] not in STATES:
        wanted = f"from, agendaFingerprint and state ({', '.join(STATES)}) are needed"
        return ReportVerdict(INVALID_PAYLOAD, detail=wanted)
    ids = _task_ids(arguments.get("taskIds"))
    if isinstance(ids, ReportVerdict):
        return ids
    return Report(
        author=said["from"],
        fingerprint=said["agendaFingerprint"],
        state=said["state"],
        task_ids=ids,
        blocker_comment=said["blockerCommentId"],
        note=said["note"],
        token=said["reportToken"],
        reported_at=said["reportedAt"],
    )


def _task_ids(value: Plain) -> list[str] | ReportVerdict:
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > MOST_TASK_IDS:
        return ReportVerdict(INVALID_PAYLOAD, detail=f"taskIds must be a list of at most {MOST_TASK_IDS} ids")
    try:
        ids = [task_id(id if isinstance(id, str) else "") for id in value]
    except BadTask:
        return ReportVerdict(INVALID_PAYLOAD, detail="taskIds must be ids of tasks, such as 7 or #7")
    if len(set(ids)) != len(ids):
        return ReportVerdict(INVALID_PAYLOAD, detail="taskIds names a task twice")
    return ids


def validate(report: Report, ground: Ground) -> ReportVerdict:
    """The first reason that holds, in this order: who, then what."""
    who = check_identity(ground)
    if who:
        return ReportVerdict(who)
    if ground.agenda is None:
        return ReportVerdict(AGENDA_UNAVAILABLE)
    if ground.agenda.unreadable and (report.state == CAUGHT_UP or report.fingerprint != ground.fingerprint):
        return ReportVerdict(AGENDA_UNAVAILABLE)  # what cannot be read now may be what the report knows of
    if report.fingerprint != ground.fingerprint:
        return ReportVerdict(STALE_FINGERPRINT)
    what = _refused_state(report, ground.agenda, ground.comments)
    return (
        ReportVerdict(what)
        if what
        else ReportVerdict(lease_until=lease_until(report.state, ground.trusted.received_at))
    )


def _refused_state(report: Report, agenda: Agenda, comments: Mapping[str, str]) -> str:
    if report.state == CAUGHT_UP and agenda.items:
        return CAUGHT_UP_REJECTED
    if report.state == STILL_WORKING and not agenda.items:
        return STILL_WORKING_REJECTED
    if not set(report.task_ids) <= agenda.task_ids:
        return TASK_NOT_IN_AGENDA
    if report.state == BLOCKED or report.blocker_comment:
        return _blocked(report, agenda, comments)
    return ""


def check_identity(ground: Ground) -> str:
    """Why nothing may be accepted from whoever this is, if so: the only part that needs no agenda."""
    if ground.refused in (RESERVED_AUTHOR, UNSAFE_PROVIDER_ALIAS):
        return ground.refused
    if not ground.team_runs:
        return TEAM_INACTIVE
    if ground.refused or not ground.member:
        return ground.refused or MEMBER_INACTIVE
    return disagreement(ground.member, ground.team, ground.trusted) or distrust(ground.trusted, ground.token)


def _blocked(report: Report, agenda: Agenda, comments: Mapping[str, str]) -> str:
    """The board must show it for every item that is meant: by a question, a dependency or the comment that is named."""
    meant = [item for item in agenda.items if not report.task_ids or item.task_id in report.task_ids]
    commented = comments.get(report.blocker_comment, "") if report.blocker_comment else ""
    if report.blocker_comment and commented not in {item.task_id for item in meant}:
        return BLOCKED_REJECTED
    if report.state != BLOCKED:
        return ""  # a comment may be named all the same, if it is there
    is_shown = bool(meant) and all(item.shows_a_blocker or item.task_id == commented for item in meant)
    return "" if is_shown else BLOCKED_REJECTED


def report_id(team: str, member: str, report: Report) -> str:
    """The same for a report that is made again: its note and its time do not make it another one."""
    ids = ",".join(sorted(report.task_ids))
    parts = (team, member.casefold(), report.fingerprint, report.state, ids, report.blocker_comment)
    return f"member-work-sync-report:{derived_id(*parts)}"


def intent_id(team: str, member: str, report: Report) -> str:
    """The same however often a client tries: the token is given anew each time it asks, so it does not count."""
    ids = ",".join(sorted(report.task_ids))
    parts = (team, member.casefold(), report.fingerprint, report.state, ids, report.blocker_comment, report.note)
    return f"member-work-sync-intent:{derived_id(*parts)}"
