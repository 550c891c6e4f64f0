"""The merge queue and the radar, in figures."""

from __future__ import annotations

from dataclasses import asdict

from atm.merges.rules.items import STATUSES
from atm.merges.rules.shown_state import shown_item

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.board.rules.dependencies import Board
    from atm.core.plain import Plain
    from atm.merges.rules.items import MergeQueue
    from atm.merges.rules.radar import Collision

MOST_TOLD = 100
"""Collisions and items: whoever wants all of them asks the queue."""


def merge_fields(queue: MergeQueue, board: Board, collisions: Sequence[Collision]) -> dict[str, Plain]:
    """What of a queue is open, and what the radar saw last."""
    open_ones = [one for one in queue.items if not one.is_over]
    seen: list[Plain] = [asdict(one) for one in collisions[:MOST_TOLD]]
    return {
        "target": queue.branch,
        "strategy": queue.strategy,
        "counts": {status: sum(one.status == status for one in queue.items) for status in STATUSES},
        "needs_human": [one.task for one in queue.items if one.needs_human],
        "open": [
            {"task": one.task, "status": one.status, "reason": one.reason, "shown": shown_item(one, board).fields()}
            for one in open_ones[:MOST_TOLD]
        ],
        "collisions": seen,
    }
