"""How far a team is, and how long the rest may take."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_FINISHED = 3
"""Fewer say nothing about how long a task takes."""


class Progress:
    """Tasks that are finished, of all that count; and the seconds that the rest may take, None if unknown."""

    __slots__ = ("done", "eta", "total")

    def __init__(self, done: int, total: int, eta: float | None) -> None:
        self.done = done
        self.total = total
        self.eta = eta

    @property
    def percent(self) -> int:
        return 100 * self.done // self.total if self.total else 0


def progress(done: int, left: int, durations: Sequence[float], online: int) -> Progress:
    """Open tasks × the median duration ÷ members who are online."""
    eta = None
    if left == 0:
        eta = 0.0
    elif len(durations) >= LEAST_FINISHED and online > 0:
        eta = left * _median(durations) / online
    return Progress(done, done + left, eta)


def _median(values: Sequence[float]) -> float:
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
