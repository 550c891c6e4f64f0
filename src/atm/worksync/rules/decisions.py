"""
What a member's agenda and reports come to: caught up, at work under a lease, busy, or in need of a look.

Conditions are as in Kubernetes: each is true, false or unknown, names the fingerprint it was observed at, and says
since when. Labels are for people and stay neutral: needing to sync is no fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atm.team.rules.team import is_somebody_else
from atm.worksync.rules import leases
from atm.worksync.rules.leases import CLOCK_TOLERANCE, is_in_force, lease_until
from atm.worksync.rules.reports import STALE_FINGERPRINT
from atm.worksync.rules.statuses import Condition

if TYPE_CHECKING:
    from atm.worksync.rules.agenda import Agenda
    from atm.worksync.rules.statuses import MemberStatus, ReportRecord

CAUGHT_UP, VALID_LEASE, SUPPRESSED_BUSY, NEEDS_SYNC = "caught_up", "valid_lease", "suppressed_busy", "needs_sync"
UNKNOWN = "unknown"

TOOL_ACTIVE, DELIVERY_PENDING, LAUNCHING = "tool_active", "runtime_delivery_pending", "launching"
RECENT_ACTIVITY, AWAITS_PERMISSION = "recent_activity", "awaits_permission"
BUSY_REASONS = (TOOL_ACTIVE, AWAITS_PERMISSION, DELIVERY_PENDING, LAUNCHING, RECENT_ACTIVITY)
"""Strongest first."""

SYNCED, WORKING, NEEDS, BLOCKED, NOT_KNOWN = "Synced", "Working", "Needs sync", "Blocked", "Unknown"
PAUSED = "Paused"
"""Needs sync, and was reminded of it often enough."""


@dataclass(frozen=True, slots=True)
class Busy:
    """Is the member in the middle of something? Empty reason: no."""

    reason: str = ""
    until: float | None = None
    """When that will have worn off, if nothing else happens."""
    words: str = ""
    """For people, where the reason alone says too little."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One of the four, and why."""

    kind: str
    reason: str
    message: str
    """For the conditions, in the seed's words; what people read is made by `sentences`."""
    lease_until: float | None = None
    lease_state: str = ""


def heard_until(status: MemberStatus | None, now: float, quiet: float) -> float | None:
    """
    Until when the last report counts as a sign of life, also a rejected one: its author has just been told how
    things stand, and a nudge on top of that would be noise (section 16.5). None if that is over.
    """
    at = status.counters.last_report if status is not None else None
    if at is None or at > now + CLOCK_TOLERANCE or now - at >= quiet:
        return None
    return min(at, now) + quiet


def lease_of(
    status: MemberStatus | None, fingerprint: str, now: float, joined_at: float | None = None
) -> ReportRecord | None:
    """The accepted report that still holds for this very agenda. A later rejected one does not touch it (D15)."""
    report = status.accepted if status is not None else None
    if report is None or report.fingerprint != fingerprint or not report.accepted:
        return None
    if is_somebody_else(report.last_at, joined_at, now):
        return None
    return report if is_in_force(report.state, report.last_at, now) else None


def decide(agenda: Agenda, report: ReportRecord | None, busy: Busy) -> Decision:
    """`report` is what `lease_of` gave for the agenda's own fingerprint."""
    if not agenda.items and agenda.unreadable:
        return Decision(UNKNOWN, "BoardNotReadable", "Some tasks cannot be read, so nobody knows what waits.")
    if not agenda.items:
        return Decision(CAUGHT_UP, "AgendaEmpty", "Nothing waits for this member.")
    count = f"{len(agenda.items)} actionable work item{'' if len(agenda.items) == 1 else 's'}"
    if report is not None:
        until = lease_until(report.state, report.last_at)
        message = f"Member reported {report.state} for {count}."
        return Decision(VALID_LEASE, "ValidReportLease", message, until, report.state)
    if busy.reason:
        return Decision(SUPPRESSED_BUSY, "MemberBusy", f"Member has {count} and is busy ({busy.reason}).")
    message = f"Member has {count} and no valid report lease."
    return Decision(NEEDS_SYNC, "ActionableAgendaWithoutValidLease", message)


def label(state: str, lease_state: str = "") -> str:
    """One word or two for people."""
    if state == VALID_LEASE:
        return BLOCKED if lease_state == leases.BLOCKED else WORKING
    return {CAUGHT_UP: SYNCED, SUPPRESSED_BUSY: WORKING, NEEDS_SYNC: NEEDS}.get(state, NOT_KNOWN)


def would_nudge(decision: Decision, agenda: Agenda, *, quiet: bool, cooldown: bool) -> bool:
    """Would a nudge be due, as far as this member is concerned? Section 10.4, and D13 for those who only wait."""
    is_sure = quiet and not cooldown and not agenda.unreadable
    return decision.kind == NEEDS_SYNC and not agenda.only_waits and is_sure


def conditions(
    former: Sequence[Condition],
    decision: Decision,
    fingerprint: str,
    now: float,
    *,
    rejected: ReportRecord | None,
    cooldown: str,
) -> list[Condition]:
    """Those of the seven that are true or have been, each with the time of its last change. The others are false."""
    before = {one.type: one for one in former}
    found: list[Condition] = []
    for type, (status, reason, message) in _facts(decision, fingerprint, rejected, cooldown).items():
        known = before.get(type)
        if known is None and status == "false":
            continue
        since = known.since if known is not None and known.status == status else now
        found.append(Condition(type, status, fingerprint, reason, message, since))
    return found


def _facts(
    decision: Decision, fingerprint: str, rejected: ReportRecord | None, cooldown: str
) -> dict[str, tuple[str, str, str]]:
    states = {
        "CaughtUp": CAUGHT_UP,
        "ValidLease": VALID_LEASE,
        "NeedsSync": NEEDS_SYNC,
        "SuppressedBusy": SUPPRESSED_BUSY,
    }
    facts = {
        type: ("true", decision.reason, decision.message) if decision.kind == kind else ("false", decision.reason, "")
        for type, kind in states.items()
    }
    if decision.kind == UNKNOWN:
        facts["CaughtUp"] = ("unknown", decision.reason, decision.message)
    facts["SuppressedCooldown"] = (
        ("true", "RecentStallAlert", cooldown) if cooldown else ("false", "NoRecentStallAlert", "")
    )
    stale = rejected is not None and rejected.reason == STALE_FINGERPRINT and rejected.observed == fingerprint
    invalid = rejected is not None and rejected.reason != STALE_FINGERPRINT and rejected.observed == fingerprint
    reason = rejected.reason if rejected is not None else ""
    facts["StaleReport"] = ("true" if stale else "false", reason if stale else "NoStaleReport", "")
    facts["InvalidReport"] = ("true" if invalid else "false", reason if invalid else "NoInvalidReport", "")
    return facts
