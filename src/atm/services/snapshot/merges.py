"""The merge queue and the radar, in figures."""

from __future__ import annotations

from dataclasses import asdict

from atm.domain.merges.items import STATUSES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.plain import Plain
    from atm.ports.merges import Merges

MOST_TOLD = 100
"""Collisions and items: whoever wants all of them asks the queue."""


def merge_fields(merges: Merges, team: str) -> dict[str, Plain] | None:
    """None for a team of which nothing was ever merged."""
    queue = merges.read(team)
    if queue is None:
        return None
    open_ones = [one for one in queue.items if not one.is_over]
    collisions: list[Plain] = [asdict(one) for one in merges.collisions(team)[:MOST_TOLD]]
    return {
        "target": queue.branch,
        "strategy": queue.strategy,
        "counts": {status: sum(one.status == status for one in queue.items) for status in STATUSES},
        "needs_human": [one.task for one in queue.items if one.needs_human],
        "open": [{"task": one.task, "status": one.status, "reason": one.reason} for one in open_ones[:MOST_TOLD]],
        "collisions": collisions,
    }
