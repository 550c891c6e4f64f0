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
    has_unknown_tokens: bool = False
    has_unknown_cost: bool = False
    """A part of it was not reported: what is counted is only the known part."""

    def plus(self, other: Spent) -> Spent:
        return Spent(
            self.seconds + other.seconds,
            self.turns + other.turns,
            _sum(self.tokens, other.tokens),
            _sum(self.cost, other.cost),
            self.has_unknown_tokens or other.has_unknown_tokens,
            self.has_unknown_cost or other.has_unknown_cost,
        )

    def lasting(self, seconds: float) -> Spent:
        """The same, in another time: agents that work side by side take as long as the longest."""
        return replace(self, seconds=seconds)


Amount = TypeVar("Amount", int, float)


def spent_in_life(seconds: float, *, turns: int, tokens: int | None, cost: float | None, injected: int = 0) -> Spent:
    """One life of an agent. A program that was given anything to do and reports no amount has used an unknown one."""
    has_worked = bool(turns or tokens or injected)
    return Spent(
        *(seconds, turns, tokens, cost),
        has_unknown_tokens=has_worked and tokens is None,
        has_unknown_cost=has_worked and cost is None,
    )


def _sum(one: Amount | None, other: Amount | None) -> Amount | None:
    return other if one is None else one if other is None else one + other


@dataclass(frozen=True, slots=True)
class Use:
    """How much of one limit is used."""

    what: str
    used: float
    limit: float
    has_unknown: bool = False
    """More was used than is known."""

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
        unknown = " + unknown" if self.has_unknown else ""
        return f"{self.used:g}{unknown} of {self.limit:g} {self.what}"


def uses(limits: Limits, spent: Spent) -> Iterator[Use]:
    """Of every limit that there is, as far as it can be counted."""
    counted: tuple[tuple[str, float | None, float], ...] = (
        (MINUTES, round(spent.seconds / 60, 2), limits.minutes),
        (TURNS, spent.turns, limits.turns),
        (TOKENS, spent.tokens, limits.tokens),
        (COST, spent.cost, limits.cost),
    )
    unknown = {TOKENS: spent.has_unknown_tokens, COST: spent.has_unknown_cost}
    for what, used, limit in counted:
        if limit > 0 and used is not None:
            yield Use(what, used, limit, unknown.get(what, False))
