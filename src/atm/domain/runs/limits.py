"""
Budgets: how much time, how many turns and tokens, and how much money an agent, a task or a run may use.

Code counts and code stops, never a model (field-notes F7). What a runtime does not report is not counted, and said so:
None is unknown, and unknown is never taken for too much.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

WARN_AT = 0.8
MINUTES, TURNS, TOKENS, COST = "minutes", "turns", "tokens", "cost"


@dataclass(frozen=True, slots=True)
class Limits:
    """The most of each; 0 for no limit."""

    minutes: float = 0.0
    turns: int = 0
    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Spent:
    """What was used so far; None where nobody tells."""

    seconds: float = 0.0
    turns: int = 0
    tokens: int | None = None
    cost: float | None = None

    def plus(self, other: Spent) -> Spent:
        return Spent(
            self.seconds + other.seconds,
            self.turns + other.turns,
            _sum(self.tokens, other.tokens),
            _sum(self.cost, other.cost),
        )

    def lasting(self, seconds: float) -> Spent:
        """The same, in another time: agents that work side by side take as long as the longest."""
        return replace(self, seconds=seconds)


Amount = TypeVar("Amount", int, float)


def _sum(one: Amount | None, other: Amount | None) -> Amount | None:
    return other if one is None else one if other is None else one + other


@dataclass(frozen=True, slots=True)
class Use:
    """How much of one limit is used."""

    what: str
    used: float
    limit: float

    @property
    def share(self) -> float:
        return self.used / self.limit

    @property
    def is_over(self) -> bool:
        return self.used >= self.limit

    @property
    def is_near(self) -> bool:
        return self.share >= WARN_AT

    def __str__(self) -> str:
        return f"{self.used:g} of {self.limit:g} {self.what}"


def uses(limits: Limits, spent: Spent) -> Iterator[Use]:
    """Of every limit that there is, as far as it can be counted."""
    counted: tuple[tuple[str, float | None, float], ...] = (
        (MINUTES, round(spent.seconds / 60, 2), limits.minutes),
        (TURNS, spent.turns, limits.turns),
        (TOKENS, spent.tokens, limits.tokens),
        (COST, spent.cost, limits.cost),
    )
    for what, used, limit in counted:
        if limit > 0 and used is not None:
            yield Use(what, used, limit)
