"""A task in one vocabulary, for every surface. Claude Code's own names stand only in its own files."""

from __future__ import annotations

from atm.board.rules.tasks import UNREACHABLE
from atm.merges.rules.shown_state import shown_counts, shown_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Card
    from atm.core.plain import Plain


def task_fields(card: Card, board: Board) -> dict[str, Plain]:
    """What a list says of a task."""
    found: dict[str, Plain] = {
        "id": card.id,
        "subject": card.subject,
        "status": card.status,
        "state": board.state(card),
        "shown": shown_state(card, board).fields(),
        "owner": card.owner or None,
        "blocked_by": [*board.blockers(card)],
        "blocks": [other.id for other in board.dependants(card.id)],
        "blocked_by_open": [*board.open_blockers(card)] if not card.is_finished else [],
        "priority": card.priority,
        "files": [*card.files],
        "claim": {"id": card.claim_id, "by": card.owner, "at": card.claimed_at} if card.claim_id else None,
        "failures": card.failures,
        "max_retries": card.max_retries,
        "review": {"state": card.review or None, "reviewer": card.reviewer or None},
        "plan": card.plan or None,
        "needs": card.needs or None,
    }
    found |= {name: value for name, value in (("key", card.key), ("runtime", card.runtime)) if value}
    if card.problem:
        found["problem"] = card.problem
    if found["state"] == UNREACHABLE:
        found["unreachable_because"] = board.lost()[card.number]
    missing = board.broken_blockers(card) if not card.is_finished else []
    if missing:
        found["blocked_by_missing"] = [*missing]
    return found


def task_counts(board: Board) -> dict[str, Plain]:
    """How many in each state; the three that everybody knows are always there."""
    return {"pending": 0, "in_progress": 0, "completed": 0, **board.counts()}


def task_counts_shown(board: Board) -> dict[str, Plain]:
    """How many are shown in each state."""
    return {**shown_counts(board)}
