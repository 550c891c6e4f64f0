"""
May nudges be sent at all? Only when the shadow figures show that they would be few and right (seed 002, section 18.1).

Everything is counted once for each member and fingerprint (D14): a member that is stuck shows the same need at every
look, and must not veto its own rescue. A change of a fingerprint counts as churn when the board does not explain it,
or when a status flaps: back to what it was within the hour, and nobody asked, answered or judged anything. Churn is
judged for each member: one whose agenda is not stable is not nudged itself, and silences nobody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atm.worksync.rules.reports import STALE_FINGERPRINT
from atm.worksync.rules.transitions import DECIDED

if TYPE_CHECKING:
    from atm.worksync.rules.statuses import MemberStatus
    from atm.worksync.rules.transitions import Transition

COLLECTING, BLOCKED, READY = "collecting_shadow_data", "blocked", "shadow_ready"

WINDOW = 86400.0
"""Figures are of the last day: what was noisy once may be mended."""

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Typed defaults; no switch. Seed 002 section 18.1, with the minima that field use added."""

    least_members: int = 1
    least_looks: int = 20
    least_hours: float = 1.0
    most_would_nudges: float = 2.0
    most_churn: float = 2.0
    """Changes for one member and hour, below which it must stay."""
    most_stale: float = 0.15
    """Share of stale reports, below which it must stay."""
    least_reports: int = 5
    """Of fewer reports no share is taken."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """The verdict, why, and the figures behind it."""

    state: str
    reasons: Sequence[str]
    members: int
    looks: int
    hours: float
    would_nudges: float
    churn: float
    """Of the member whose agenda is least stable."""
    stale: float
    reports: int
    unstable: Sequence[str] = ()
    """Members whose own agenda changes without a reason: they are not nudged."""

    @property
    def is_ready(self) -> bool:
        return self.state == READY

    def is_ready_for(self, member: str) -> bool:
        return self.is_ready and member.casefold() not in {name.casefold() for name in self.unstable}


def assess(statuses: Sequence[MemberStatus], now: float, limits: Thresholds | None = None) -> Readiness:
    limits = limits or Thresholds()
    members = len(statuses)
    looks = sum(status.counters.reconciles for status in statuses)
    hours = max((now - status.first_seen for status in statuses if status.first_seen is not None), default=0.0) / HOUR
    nudges = _worst_hour([at for s in statuses for at in s.would_nudges.values()], now) / max(members, 1)
    churn = {status.member: _churn(status, now) for status in statuses}
    unstable = [name for name, changes in churn.items() if changes >= limits.most_churn]
    stale, reports = _stale_share(statuses, now)
    lacking = _lacking(limits, members, looks, hours)
    noisy = _noisy(limits, nudges, bool(unstable) and len(unstable) == members, stale, reports)
    state = COLLECTING if lacking else BLOCKED if noisy else READY
    worst = max(churn.values(), default=0.0)
    return Readiness(state, lacking or noisy, members, looks, hours, nudges, worst, stale, reports, unstable)


def _had(status: MemberStatus) -> set[str]:
    """The fingerprints that a member's agenda has had, as far as they are remembered."""
    return {status.fingerprint, *(one.before for one in status.transitions), *(one.after for one in status.transitions)}


def _lacking(limits: Thresholds, members: int, looks: int, hours: float) -> list[str]:
    found = []
    if members < limits.least_members:
        found.append("too_few_members")
    if looks < limits.least_looks:
        found.append("too_few_evaluations")
    if hours < limits.least_hours:
        found.append("observed_too_briefly")
    return found


def _noisy(limits: Thresholds, nudges: float, nobody_is_stable: bool, stale: float, reports: int) -> list[str]:
    found = []
    if nudges > limits.most_would_nudges:
        found.append("would_nudge_rate_high")
    if nobody_is_stable:
        found.append("fingerprint_churn_high")
    if reports >= limits.least_reports and stale >= limits.most_stale:
        found.append("stale_report_rate_high")
    return found


def _churn(status: MemberStatus, now: float) -> float:
    """The worst hour of one member: a stable one must have less than two."""
    return float(_worst_hour([one.at for one in status.transitions if _is_noise(one, status.transitions)], now))


def _worst_hour(times: Sequence[float], now: float) -> int:
    """How many fell into the worst hour of the last day: an average over a quiet day would hide a storm."""
    recent = sorted(at for at in times if abs(now - at) < WINDOW)
    most = start = 0
    for end, at in enumerate(recent):
        while at - recent[start] >= HOUR:
            start += 1
        most = max(most, end - start + 1)
    return most


def _is_noise(one: Transition, all: Sequence[Transition]) -> bool:
    if not one.before:
        return False  # the first look at a member is no change
    if any(reason in DECIDED for reason in one.reasons):
        return False  # a second plan that is rejected, a second answer: the same agenda again, and perfect order
    flaps = any(other.before == one.after and 0 <= one.at - other.at < HOUR and other is not one for other in all)
    return flaps or not one.reasons


def _stale_share(statuses: Sequence[MemberStatus], now: float) -> tuple[float, int]:
    """
    Each member and fingerprint once: a model that repeats itself is one stale report. One that it made up is none:
    it says nothing about how soon agendas go out of date.
    """
    recent = [
        (status.member, one)
        for status in statuses
        for one in status.reports
        if now - one.last_at < WINDOW and (one.reason != STALE_FINGERPRINT or one.fingerprint in _had(status))
    ]
    stale = {(member, one.fingerprint) for member, one in recent if one.reason == STALE_FINGERPRINT}
    others = {(member, one.fingerprint) for member, one in recent if one.reason != STALE_FINGERPRINT}
    count = len(stale) + len(others)
    return (len(stale) / count if count else 0.0), count
