"""
Claims: who works on what. One claimant at a time, and only the current one can finish (G5, D19).

The owner of a task in progress is its claimant. A claim made through us also carries an id, so that a process that
was given up for dead cannot finish what has long been another claimant's.
"""

from __future__ import annotations

from atm.board.rules.acceptance import OUTPUT_KEPT, describe, reason_and_output
from atm.board.rules.tasks import (
    CANCELLED,
    COMPLETED,
    FAILED,
    IN_PROGRESS,
    PENDING,
    Change,
    Refusal,
    Task,
    by_urgency,
    urgency,
)
from atm.core.errors import NotAllowed
from atm.core.names import same_name
from atm.core.plain import dicts_in
from atm.core.work_errors import NotClaimant, TaskClosed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Card, Stamp
    from atm.core.plain import Plain, Record

    Rule = Callable[[Task], Change | None]
    """What shall become of a task, decided on its file as it is under the lock."""


MOST_TRIES = 10
"""Failed attempts that stand in the file of a task, with their output; the history keeps all of them."""

LONGEST_REASON = 500


class ClaimChoice:
    """What a member should work on, or why there is nothing."""

    __slots__ = ("card", "is_resumed", "refusal")

    def __init__(self, card: Card | None, refusal: Refusal | None = None, *, is_resumed: bool = False) -> None:
        self.card = card
        self.refusal = refusal
        self.is_resumed = is_resumed


def choose(board: Board, who: str) -> ClaimChoice:
    """A member's own unfinished task first; else the most urgent one that is free."""
    cards = board.cards
    working = [card for card in cards.values() if card.status == IN_PROGRESS]
    own = [card for card in working if card.is_claimed and same_name(card.owner, who)]
    ready = [card for card in own if not card.waits_for_others]
    if ready:
        return ClaimChoice(min(ready, key=urgency), is_resumed=True)
    pending = [cards[number] for number in sorted(cards) if cards[number].status == PENDING]
    free = next((card for card in by_urgency(pending) if is_free(board, card, who)), None)
    return ClaimChoice(free) if free is not None else ClaimChoice(None, why_nothing(board, who))


def is_free(board: Board, card: Card, who: str) -> bool:
    """Can they have it now? The same as `may_claim`, without the reasons."""
    is_theirs = not card.owner or same_name(card.owner, who)
    is_waiting = card.outcome or card.problem or card.needs or card.is_hidden or card.status != PENDING
    return is_theirs and not is_waiting and not board.open_blockers(card)


def may_claim(board: Board, card: Card, who: str) -> Refusal | None:
    """None if this task can be had by them now; also if they have it already."""
    if is_free(board, card, who):
        return None
    if card.problem:
        return Refusal("unreadable", f"the file of #{card.id} cannot be read: {card.problem}")
    if card.is_finished:
        return Refusal("finished", f"#{card.id} is {card.outcome or card.status}")
    if card.is_claimed and not same_name(card.owner, who):
        return Refusal("claimed", f"{card.owner} works on #{card.id}")
    if card.owner and not same_name(card.owner, who):
        return Refusal("assigned", f"#{card.id} is assigned to {card.owner}")
    if card.needs:
        return Refusal("clarification", f"#{card.id} waits for an answer of the {card.needs}")
    if card.is_hidden:
        return Refusal("internal", f"#{card.id} is Claude Code's own bookkeeping")
    if card.status == IN_PROGRESS and card.owner:
        return None
    if card.status == IN_PROGRESS:
        return Refusal("in-progress", f"#{card.id} is in progress, but nobody is named as working on it")
    if card.status != PENDING:
        return Refusal("foreign-status", f"another program calls #{card.id} {card.status!r}")
    if card.number in board.lost():
        return Refusal("unreachable", f"#{card.id} can never be done: {board.lost()[card.number]}")
    missing = board.broken_blockers(card)
    if missing:
        return Refusal("broken-dependency", f"#{card.id} depends on {_ids(missing)}, which cannot be found")
    return Refusal("blocked", f"#{card.id} waits for {_ids(board.open_blockers(card))}")


def why_nothing(board: Board, who: str) -> Refusal:
    """Why there is nothing to claim: a reason that tells whether waiting helps."""
    cards = [card for card in board.cards.values() if not card.is_hidden]
    if not cards:
        return Refusal("empty", "the board is empty")
    if board.is_resolved:
        return Refusal("all-finished", "everything is finished")
    waiting = [c for c in cards if c.is_claimed and same_name(c.owner, who)]
    if waiting:
        return Refusal("waiting", f"#{min(c.number for c in waiting)} waits for somebody's answer")
    working = [c for c in cards if c.is_claimed]
    if working:
        others = "a task that somebody works" if len(working) == 1 else f"{len(working)} tasks that others work"
        return Refusal("all-claimed", f"what is left waits for {others} on")
    broken = [c for c in cards if c.status == PENDING and board.broken_blockers(c)]
    if broken:
        return Refusal(
            "broken-dependency",
            f"#{broken[0].id} depends on {_ids(board.broken_blockers(broken[0]))}, which cannot be found",
        )
    return Refusal("all-blocked", "everything that is left waits for somebody's decision or belongs to others")


def _ids(ids: list[str]) -> str:
    shown = ", ".join(f"#{id}" for id in ids[:5])
    return shown if len(ids) <= 5 else f"{shown} and {len(ids) - 5} more"


def claim(card: Card, who: str, by: Stamp, *, needs_plan: bool) -> Change:
    """Take it. The caller has asked `may_claim` under the lock."""
    own: dict[str, Plain] = {"claim": {"by": who, "id": by.id, "at": by.at}, "refused": None}
    if needs_plan and card.plan == "":
        own["plan"] = {"state": "required"}
    event = by.event("status_changed", **{"from": card.status, "to": IN_PROGRESS}, owner=who, reason="claimed")
    return Change(event, fields={"status": IN_PROGRESS, "owner": who}, own=own)


def check_claimant(card: Card, who: str, claim_id: str = "") -> None:
    """Raises unless this is the one who works on it now."""
    if card.outcome:
        raise TaskClosed(f"#{card.id} is {card.outcome}", f"see `atm tasks history {card.id}`")
    if card.status == COMPLETED:
        raise TaskClosed(f"#{card.id} is completed already", f"see `atm tasks history {card.id}`")
    if card.status == PENDING and card.owner and not same_name(card.owner, who):
        raise NotClaimant(f"#{card.id} is {card.owner}'s now", "stop working on it; see `atm tasks list`")
    if card.status == PENDING:
        raise NotClaimant(f"nobody works on #{card.id}", f"claim it first: `atm tasks claim {card.id}`")
    if not same_name(card.owner, who):
        raise NotClaimant(
            f"{card.owner or 'nobody'} works on #{card.id}, not {who}",
            "only the current claimant may do this; the lead can reassign it with `atm tasks assign`",
        )
    if claim_id and card.claim_id != claim_id:
        raise NotClaimant(
            f"your claim of #{card.id} is not in force any more: it was released and taken again",
            "stop working on it; claim something with `atm tasks claim`",
        )


def note_failed_check(card: Card, by: Stamp, check: dict[str, Plain]) -> Change:
    """It is not done yet and stays theirs; the board says what failed, for whoever goes on with it."""
    event = by.event("checks_failed", claim=card.claim_id, code=check.get("code"))
    return Change(event, own={"lastCheck": {**check, "at": by.at, "by": by.actor}})


def complete(
    card: Card,
    by: Stamp,
    *,
    result: str,
    evidence: list[Plain],
    unverified: bool,
    work: dict[str, Plain] | None = None,
) -> Change:
    """`work`: the branch and the commit on which it was done, where atm knows them."""
    event = by.event("status_changed", **{"from": card.status, "to": COMPLETED}, claim=card.claim_id)
    own: dict[str, Plain] = {"claim": None, "clarification": None, "lastCheck": None}
    own |= {"finishedAt": by.at, "finishedBy": by.actor}
    if result:
        own["result"] = result
    if work:
        own["work"] = work
    if evidence:
        own["evidence"] = evidence
        event["checks"] = len(evidence)
    if unverified:
        own["unverified"] = {"by": by.actor, "at": by.at}
        event["unverified"] = True
    return Change(event, fields={"status": COMPLETED}, own=own)


def fail(card: Card, by: Stamp, error: str, *, final: bool = False, reason: str = "failed") -> Change:
    """An attempt went wrong: back to the board, or failed for good when the retries are used up."""
    failures = card.failures + 1
    own: dict[str, Plain] = {**_ended(card), "failures": failures, "error": error, "tries": _tries(card, by, error)}
    facts: dict[str, Plain] = {"attempt": failures, "error": error, "claim": card.claim_id, "owner": card.owner}
    if final or failures > card.max_retries:
        own["outcome"] = FAILED
        event = by.event("status_changed", **{"from": card.status, "to": FAILED}, reason=reason, **facts)
        return Change(event, fields={"status": IN_PROGRESS, "owner": ""}, own=own)
    event = by.event("status_changed", **{"from": card.status, "to": PENDING}, reason=reason, **facts)
    return Change(event, fields={"status": PENDING, "owner": ""}, own=own)


def _tries(card: Card, by: Stamp, error: str) -> Plain:
    """What is kept of each attempt that failed: the reason, and the end of what its command or check printed."""
    reason, output = reason_and_output(error)
    made: Record = {
        "attempt": card.failures + 1,
        "by": card.owner or by.actor,
        "at": by.at,
        "error": reason[:LONGEST_REASON],
        "output": output[-OUTPUT_KEPT:],
    }
    before = dicts_in(card.details.get("tries")) if isinstance(card, Task) else []
    return [*before[1 - MOST_TRIES :], made]


def release(card: Card, by: Stamp, reason: str = "released") -> Change:
    """Back to the board, without blame, for any member."""
    event = by.event(
        "status_changed", **{"from": card.status, "to": PENDING}, reason=reason, claim=card.claim_id, owner=card.owner
    )
    return Change(event, fields={"status": PENDING, "owner": ""}, own=_ended(card))


def give_back(card: Card, by: Stamp, why: str) -> Change:
    """Its claimant could not begin it: back to the board with the reason. That is no attempt (D35)."""
    change = release(card, by, "could not be begun")
    refused: dict[str, Plain] = {"why": why, "at": by.at, "by": by.actor}
    return Change(change.event, fields=change.fields, own={**change.own, "refused": refused})


def _ended(card: Card) -> dict[str, Plain]:
    """
    What goes with a claim: a review is about the work of one claimant, and so are revisions of a plan.

    A plan that was approved stays: it stands on the task, and whoever takes it next can follow it.
    """
    gone: dict[str, Plain] = {"claim": None, "review": None}
    return gone if card.plan in ("", "approved") else {**gone, "plan": {"state": "required"}}


def assign(card: Card, to: str, by: Stamp) -> Change:
    """Give it to a member: whoever worked on it does not any more. They begin when they claim it."""
    check_open(card)
    event = by.event("owner_changed", **{"from": card.owner, "to": to, "was": card.status}, claim=card.claim_id)
    return Change(event, fields={"status": PENDING, "owner": to}, own=_ended(card))


def cancel(card: Card, by: Stamp, reason: str) -> Change:
    check_open(card)
    event = by.event(
        "status_changed", **{"from": card.status, "to": CANCELLED}, reason=reason, claim=card.claim_id, owner=card.owner
    )
    return Change(event, fields={"status": IN_PROGRESS, "owner": ""}, own={**_ended(card), "outcome": CANCELLED})


def reopen(card: Card, by: Stamp, reason: str, acceptance: Sequence[Record] | None = None) -> Change:
    """
    Back from completed, failed or cancelled: with all its attempts, for any member. `acceptance` replaces its checks.
    What failed before stays in the history and in `tries`.
    """
    event = by.event("status_changed", **{"from": card.outcome or card.status, "to": PENDING}, reason=reason)
    gone = ("outcome", "finishedAt", "finishedBy", "result", "error", "evidence", "unverified", "work", "lastCheck")
    own: dict[str, Plain] = {**_ended(card), **dict.fromkeys((*gone, "refused")), "failures": 0}
    if acceptance is not None:
        own["acceptance"] = [*acceptance] or None
        event["checks"] = [describe(check) for check in acceptance]
    if card.plan:
        own["plan"] = {"state": "required"}
    return Change(event, fields={"status": PENDING, "owner": ""}, own=own)


def note_merged(task: Task, by: Stamp, commit: str, into: str) -> Change | None:
    """Its work is part of that branch now."""
    work = task.part("work")
    if task.status != COMPLETED or work.get("merged") == commit:
        return None
    event = by.event("merged", commit=commit, into=into)
    return Change(event, own={"work": {**work, "merged": commit, "into": into}})


def send_back(task: Task, by: Stamp, reason: str, check: dict[str, Plain]) -> Change:
    """Reopened because it is red together with what was merged: with its work, and with the check that fails."""
    change = reopen(task, by, reason)
    work = task.part("work")
    kept: dict[str, Plain] = {"work": {"former": work.get("commit"), "base": work.get("base")}}
    return Change(change.event, fields=change.fields, own={**change.own, **kept, "lastCheck": check})


def check_open(card: Card) -> None:
    if card.problem:
        raise TaskClosed(f"the file of #{card.id} cannot be read: {card.problem}", "mend or remove the file")
    if card.is_finished:
        raise TaskClosed(f"#{card.id} is {card.outcome or card.status}", f"reopen it: `atm tasks reopen {card.id}`")


def check_may_lead(who: str, is_boss: bool, what: str) -> None:
    if not is_boss:
        raise NotAllowed(f"{who} may not {what}", "ask the lead or a human")
