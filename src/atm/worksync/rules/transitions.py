"""
Why a fingerprint changed, for people who look for noise. Never part of the fingerprint itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.worksync.rules.agenda import WorkItem

ADDED, REMOVED = "task_added", "task_removed"
REVIEWER, REVIEW, PLAN = "reviewer_changed", "review_state_changed", "plan_changed"
BLOCKER, CLARIFICATION = "blocker_changed", "clarification_changed"
DECIDED = (ADDED, REMOVED, REVIEWER, REVIEW, PLAN, BLOCKER, CLARIFICATION)
"""Somebody gave, asked, answered or judged something: also the way back to what was there before is work."""

_REASONS = {
    "owner": "owner_changed",
    "reviewer": REVIEWER,
    "status": "status_changed",
    "plan": PLAN,
    "reviewState": REVIEW,
    "historyEventIds": REVIEW,
    "blockedByTaskIds": BLOCKER,
    "needsClarification": CLARIFICATION,
}
"""Which fact of an item's evidence stands for which reason."""

MOST_TASKS = 20


@dataclass(frozen=True, slots=True)
class Transition:
    """From one fingerprint to the next."""

    before: str
    """Empty at the first one."""
    after: str
    task_ids: Sequence[str]
    reasons: Sequence[str]
    at: float


Facts = Mapping[str, Mapping[str, "Plain"]]
"""What is remembered of an agenda: the evidence by kind and task, as `work:7`."""


def facts_of(items: Sequence[WorkItem]) -> dict[str, dict[str, Plain]]:
    return {f"{item.kind}:{item.task_id}": dict(item.evidence) for item in items}


def explain(before: str, after: str, former: Facts, now: Facts, at: float) -> Transition:
    """What is different between two agendas."""
    former_tasks, tasks = _by_task(former), _by_task(now)
    changed: dict[str, list[str]] = {}
    for id in {*former_tasks, *tasks}:
        reasons = _reasons(former_tasks.get(id), tasks.get(id))
        if reasons:
            changed[id] = reasons
    ids = sorted(changed, key=lambda id: (len(id), id))
    said = dict.fromkeys(reason for id in ids for reason in changed[id])
    return Transition(before, after, ids[:MOST_TASKS], sorted(said), at)


def changed_since(transitions: Iterable[Transition], at: float) -> set[str]:
    """Tasks that were named by a change after that moment."""
    return {id for one in transitions if one.at > at for id in one.task_ids}


def _by_task(facts: Facts) -> dict[str, dict[str, Plain]]:
    return {key.partition(":")[2]: dict(evidence) for key, evidence in facts.items()}


def _reasons(former: Mapping[str, Plain] | None, now: Mapping[str, Plain] | None) -> list[str]:
    if former is None:
        return [ADDED]
    if now is None:
        return [REMOVED]
    return [reason for fact, reason in _REASONS.items() if former.get(fact) != now.get(fact)]
