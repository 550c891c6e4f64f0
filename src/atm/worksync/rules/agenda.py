"""
A member's agenda: everything on the board that waits for this member now, and nothing else.

Built from canonical facts of the board alone: status, owner, review, dependencies, questions. Never from comments,
transcripts or liveness. Where it is not clear whose turn it is, nobody gets the item and the diagnostics say why: a
wrong nudge costs more than a missing one. The same board gives the same agenda, in the same order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from atm.board.rules.tasks import IN_PROGRESS, PENDING
from atm.board.rules.tasks import REVIEW as IN_REVIEW
from atm.core.names import same_name
from atm.core.untrusted_text import line_for_agents

if TYPE_CHECKING:
    from atm.board.rules.dependencies import Board
    from atm.board.rules.reviews import Reviewer
    from atm.board.rules.tasks import Card
    from atm.core.plain import Plain

WORK, REVIEW, CLARIFICATION, BLOCKED_DEPENDENCY = "work", "review", "clarification", "blocked_dependency"
KINDS = (WORK, REVIEW, CLARIFICATION, BLOCKED_DEPENDENCY)

NORMAL, REVIEW_REQUESTED, BLOCKED, NEEDS_CLARIFICATION = "normal", "review_requested", "blocked", "needs_clarification"

ASKED = ("lead", "user")
"""Whom a question can be for. The file may say anything, and what it says is no text of ours."""

BROKEN = "Task depends on something that does not exist or was deleted."
"""The lead's business (D13): nobody else can decide what becomes of it."""

NO_OWNER = "The owner of this task is not in the team: it needs another one."
NO_REVIEWER = "The reviewer of this task is not in the team: it needs another one."
"""Orphans are the lead's business too: whom they wait for will never come."""

MOST_SHOWN = 10
LONGEST_SHOWN = 160
"""Items of a preview, and characters of each (seed 002, section 13.1)."""


@dataclass(frozen=True, slots=True)
class WorkItem:
    """One thing that waits for its assignee."""

    task_id: str
    kind: str
    assignee: str
    priority: str
    reason: str
    evidence: Mapping[str, Plain]
    """Only facts whose change changes what the assignee has to do; the fingerprint is made of them."""
    subject: str = ""
    """For people; no part of the fingerprint."""

    @property
    def ref(self) -> str:
        return f"#{self.task_id}"

    @property
    def shows_a_blocker(self) -> bool:
        """Does the board itself show that its assignee cannot go on? Words in a report never do."""
        return self.priority == BLOCKED or self.kind in (BLOCKED_DEPENDENCY, CLARIFICATION)

    @property
    def only_waits(self) -> bool:
        """Its assignee can do nothing about it: such items alone are never a reason for a nudge (D13)."""
        return self.shows_a_blocker and self.reason != BROKEN

    def canonical(self) -> dict[str, Plain]:
        return {
            "taskId": self.task_id,
            "displayId": self.ref,
            "kind": self.kind,
            "assignee": self.assignee,
            "priority": self.priority,
            "reason": self.reason,
            "evidence": dict(self.evidence),
        }


@dataclass(frozen=True, slots=True)
class Agenda:
    """What one member has to do, as the board says at one moment."""

    team: str
    member: str
    items: Sequence[WorkItem] = ()
    diagnostics: Sequence[str] = ()
    unreadable: Sequence[str] = ()
    """Tasks of the board that cannot be read now: they may be this member's, so an empty agenda proves nothing."""

    @property
    def task_ids(self) -> set[str]:
        return {item.task_id for item in self.items}

    @property
    def only_waits(self) -> bool:
        return all(item.only_waits for item in self.items)

    def canonical(self) -> dict[str, Plain]:
        """What the fingerprint is made of. Neither the time nor any text of people is in it."""
        items: list[Plain] = [item.canonical() for item in self.items]
        return {"teamName": self.team, "memberName": self.member, "items": items}

    def preview(self) -> list[dict[str, Plain]]:
        """Enough to recognise it; never descriptions or comments."""
        return [
            {"taskRef": item.ref, "kind": item.kind, "reason": _short(item.reason), "subject": _short(item.subject)}
            for item in self.items[:MOST_SHOWN]
        ]


def _short(text: str) -> str:
    """No longer where tags were made harmless either: the number is promised."""
    shown = line_for_agents(text)
    return shown if len(shown) <= LONGEST_SHOWN else shown[: LONGEST_SHOWN - 1] + "…"


def build_agendas(
    board: Board,
    team: str,
    members: Iterable[str],
    lead: str,
    reviewers: Mapping[str, Reviewer],
    gone: Collection[str] = (),
) -> dict[str, Agenda]:
    """
    The agendas of these members, in one pass over the board. `reviewers` by task id, for the tasks in review; `gone`
    are names on the board whom nobody in the team bears.
    """
    lost = {name.casefold() for name in gone}
    names = list(dict.fromkeys(members))
    items: dict[str, list[WorkItem]] = {name.casefold(): [] for name in names}
    said: dict[str, list[str]] = {name.casefold(): [] for name in names}
    unreadable: list[str] = []
    for card in _open(board):
        if card.problem:
            unreadable.append(card.id)
        for item in _items(board, card, lead, reviewers.get(card.id), lost):
            if item.assignee.casefold() in items:
                items[item.assignee.casefold()].append(item)
        for name, text in _unclear(card, lead, reviewers.get(card.id), lost):
            if name.casefold() in said:
                said[name.casefold()].append(text)
    return {
        name: Agenda(
            team,
            name,
            sorted(_spelled(items[name.casefold()], name), key=lambda item: (int(item.task_id), item.kind)),
            sorted(dict.fromkeys(said[name.casefold()])),
            sorted(unreadable, key=int),
        )
        for name in names
    }


def _open(board: Board) -> Iterator[Card]:
    for card in board.cards.values():
        if card.is_finished or card.is_hidden:
            continue
        if card.owner or card.review or card.blocked_by or card.needs or card.problem:
            yield card


def _items(board: Board, card: Card, lead: str, reviewer: Reviewer | None, gone: set[str]) -> Iterator[WorkItem]:
    """Who has the next move, and which."""
    if card.problem or card.status not in (PENDING, IN_PROGRESS):
        return  # not to be read, or another program's word for a status, such as deleted
    if card.review == IN_REVIEW:
        if reviewer is not None and reviewer.name:
            is_orphan = reviewer.name.casefold() in gone
            yield _review(card, reviewer, *((lead, NO_REVIEWER) if is_orphan else ()))
        return
    if card.owner and card.owner.casefold() in gone:
        yield _item(card, WORK, lead, NORMAL, NO_OWNER)  # whatever it waits for: somebody else must have it first
        return
    waits_for = board.open_blockers(card)
    broken = [id for id in waits_for if _is_broken(board, id)]
    is_leads_own = bool(card.owner) and same_name(card.owner, lead)
    if card.owner and not (broken and is_leads_own and not card.needs):
        yield _owned(card, waits_for)
    if broken and not (is_leads_own and card.needs):
        yield _item(card, BLOCKED_DEPENDENCY, lead, BLOCKED, BROKEN, blockedByTaskIds=_ids(broken))


def _is_broken(board: Board, id: str) -> bool:
    """Not there, or left there by another program as deleted."""
    return not board.is_there(id) or board.cards[int(id)].status == "deleted"


def _owned(card: Card, waits_for: Sequence[str]) -> WorkItem:
    if card.needs:
        reason = f"Task needs clarification from {card.needs if card.needs in ASKED else 'somebody'}."
        return _item(card, CLARIFICATION, card.owner, NEEDS_CLARIFICATION, reason, needsClarification=card.needs)
    if waits_for:
        reason = "Owned task is blocked by dependencies."
        return _item(card, BLOCKED_DEPENDENCY, card.owner, BLOCKED, reason, blockedByTaskIds=_ids(waits_for))
    if card.plan == "submitted":
        reason = "Owned task waits for approval of its plan."
        return _item(card, WORK, card.owner, BLOCKED, reason, plan=card.plan)
    if card.review == "changes_requested":
        return _item(card, WORK, card.owner, NORMAL, "Changes were requested in review.")
    if card.status == PENDING:
        reason = "Owned task is pending and needs to be started, clarified, or declined."
        return _item(card, WORK, card.owner, NORMAL, reason)
    return _item(card, WORK, card.owner, NORMAL, "Owned task is in progress.", plan=card.plan)


def _review(
    card: Card, reviewer: Reviewer, assignee: str = "", reason: str = "Task is waiting for this member review."
) -> WorkItem:
    """A second review by the same member is another item: its cycle began with another event."""
    name = reviewer.name or ""
    cycle: list[Plain] = [reviewer.opened_by] if reviewer.opened_by else []
    return _item(
        card, REVIEW, assignee or name, REVIEW_REQUESTED, reason, reviewer=name.casefold(), historyEventIds=cycle
    )


def _item(card: Card, kind: str, assignee: str, priority: str, reason: str, **facts: Plain) -> WorkItem:
    owner = card.owner.casefold()  # the same member in other letters is no change
    known: dict[str, Plain] = {"status": card.status, "owner": owner, "reviewState": card.review, **facts}
    evidence = {key: value for key, value in known.items() if value}
    return WorkItem(card.id, kind, assignee, priority, reason, evidence, card.subject)


def _unclear(card: Card, lead: str, reviewer: Reviewer | None, gone: set[str]) -> Iterator[tuple[str, str]]:
    """What could not be decided, for those whom it concerns."""
    if card.problem:
        yield lead, f"#{card.id} cannot be read: {card.problem}"
        return
    name = reviewer.name or "" if reviewer is not None and card.review == IN_REVIEW else ""
    if name.casefold() in gone:
        yield lead, f"#{card.id} waits for a review by {name}, who is not in the team"
        yield card.owner, f"#{card.id} waits for a review by {name}, who is not in the team"
    elif card.owner.casefold() in gone and not name:
        yield lead, f"#{card.id} belongs to {card.owner}, who is not in the team"
    if card.needs and not card.owner:
        yield lead, f"#{card.id} waits for an answer and has no owner"
    elif card.review == IN_REVIEW and reviewer is not None:
        for text in reviewer.diagnostics:
            yield lead, f"#{card.id}: {text}"
            yield card.owner, f"#{card.id}: {text}"


def _ids(ids: Iterable[str]) -> list[Plain]:
    return [*sorted(set(ids), key=lambda id: (len(id), id))]


def _spelled(items: list[WorkItem], name: str) -> list[WorkItem]:
    """Whoever wrote the owner in other letters meant the same member."""
    return [item if item.assignee == name else replace(item, assignee=name) for item in items]
