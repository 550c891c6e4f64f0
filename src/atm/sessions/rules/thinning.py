"""Which checkpoints stay: all of the last hour, one for each hour of the last day, one for each day before that."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

HOUR, DAY = 3600.0, 86400.0


def which_stay(times: Sequence[float], now: float, most: int) -> list[int]:
    """Positions (newest first, as `times` are). The newest always stays, and never more than `most`."""
    kept: list[int] = []
    slots: set[tuple[str, int]] = set()
    for position, at in enumerate(times):
        age = max(0.0, now - at)
        slot = (
            ("each", position) if age <= HOUR else ("hour", int(at // HOUR)) if age <= DAY else ("day", int(at // DAY))
        )
        if slot not in slots:
            slots.add(slot)
            kept.append(position)
    return kept[: max(1, most)]
