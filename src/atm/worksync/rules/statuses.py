"""
What is remembered of a member: the last agenda, the last reports, conditions, counters. Diagnostics, and the lease.

None of it is ever a reason to believe something about the board: every decision is made on an agenda read afresh.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.worksync.rules.transitions import Transition

MOST_HISTORY = 20
"""Reports, transitions and would-be nudges that are kept for one member (seed 002, section 23)."""

HISTORY_SECONDS = 7 * 86400.0
MOST_FACTS = 200
"""Items of an agenda whose evidence is remembered, to explain the next change."""


@dataclass(frozen=True, slots=True)
class ReportRecord:
    """A report that was judged."""

    id: str
    fingerprint: str
    """That it named."""
    observed: str
    """That was current."""
    state: str
    accepted: bool
    reason: str
    task_ids: Sequence[str]
    blocker_comment: str
    note: str
    identity: str
    """How we know whose it is."""
    first_at: float
    last_at: float
    """By our clock. The lease of an accepted one counts from here."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that is so, is not so, or is not known; and since when."""

    type: str
    status: str
    fingerprint: str
    reason: str
    message: str
    since: float


@dataclass(slots=True)
class Counters:
    """How often what happened, since the member was first looked at."""

    reconciles: int = 0
    fingerprint_changes: int = 0
    stale_reports: int = 0
    invalid_reports: int = 0
    accepted_reports: int = 0
    needs_sync: int = 0
    suppressed_busy: int = 0
    would_nudge: int = 0
    last_reconcile: float | None = None
    last_report: float | None = None


@dataclass(slots=True)
class MemberStatus:
    """Everything that the control plane remembers of one member."""

    team: str
    member: str
    fingerprint: str = ""
    state: str = ""
    summary: Sequence[Mapping[str, Plain]] = ()
    """The preview of the agenda."""
    count: int = 0
    facts: Mapping[str, Mapping[str, Plain]] = field(default_factory=dict)
    diagnostics: Sequence[str] = ()
    accepted: ReportRecord | None = None
    rejected: ReportRecord | None = None
    reports: Sequence[ReportRecord] = ()
    conditions: Sequence[Condition] = ()
    transitions: Sequence[Transition] = ()
    would_nudges: Mapping[str, float] = field(default_factory=dict)
    """Fingerprints for which a nudge would have been due, and when first."""
    counters: Counters = field(default_factory=Counters)
    first_seen: float | None = None
    needs_since: float | None = None
    """Since when it needs to sync, without a break, for this fingerprint."""
    resumed: float | None = None
    """When somebody ended a pause: reminders count from here."""
    trigger: str = ""
    updated: float = 0.0
    rest: Mapping[str, Plain] = field(default_factory=dict)
    """What a later version wrote."""


def remember(records: Sequence[ReportRecord], new: ReportRecord) -> list[ReportRecord]:
    """The same report again takes its former place's count; old ones and too many go."""
    kept = [one for one in records if one.id != new.id or one.accepted != new.accepted or one.reason != new.reason]
    fresh = [one for one in [*kept, new] if new.last_at - one.last_at < HISTORY_SECONDS]
    return fresh[-MOST_HISTORY:]
