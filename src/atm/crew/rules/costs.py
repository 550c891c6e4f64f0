"""
What agents cost, in words and as JSON: the part that is known, and whether that is all of it.

The one place where a cost is put into words. A program that reports no cost leaves its part unknown, and unknown is
never taken for nothing.
"""

from __future__ import annotations

from atm.vendors.runtime import SCRIPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from atm.core.plain import Plain

CURRENCY = "USD"
EXACT, UNKNOWN = "exact", "unknown"
"""Every part was reported; at least one part was not, and the amount is only what is known."""

SMALL = 0.1
"""Amounts below this are shown with four decimals: a first task often costs less than a cent."""


class CostEstimate:
    """The known part of a cost; None if nothing is known."""

    __slots__ = ("amount", "is_complete")

    def __init__(self, amount: float | None, *, is_complete: bool) -> None:
        self.amount = amount
        self.is_complete = is_complete and amount is not None

    @property
    def whole(self) -> float | None:
        """The amount, where it is the whole cost."""
        return self.amount if self.is_complete else None

    @property
    def text(self) -> str:
        """`$0.50`, `$0.50 + unknown` or `unknown`."""
        if self.amount is None:
            return UNKNOWN
        money = f"${self.amount:.4f}" if 0 < self.amount < SMALL else f"${self.amount:,.2f}"
        return money if self.is_complete else f"{money} + {UNKNOWN}"

    def fields(self) -> dict[str, Plain]:
        """The value of `cost_estimate` in every JSON of ours. `text` is what people are shown."""
        return {
            "amount": None if self.amount is None else round(self.amount, 6),
            "currency": CURRENCY,
            "kind": EXACT if self.is_complete else UNKNOWN,
            "text": self.text,
        }


def total_cost(agents: Iterable[tuple[str, float | None]]) -> CostEstimate:
    """Of several agents, each by its runtime and its cost. A script calls no model, so it has no cost to report."""
    found = [cost for runtime, cost in agents if runtime != SCRIPT or cost is not None]
    known = [part for part in found if part is not None]
    return CostEstimate(sum(known) if known else None, is_complete=len(known) == len(found))


def tokens_in_words(known: object, *, is_complete: bool) -> str:
    """The same for tokens: `1,200`, `1,200 + unknown` or `unknown`."""
    if not isinstance(known, int) or isinstance(known, bool):
        return UNKNOWN
    return f"{known:,}" if is_complete else f"{known:,} + {UNKNOWN}"


def cost_in_words(facts: Mapping[str, Plain]) -> str:
    """
    Of a record that was read back: its `cost_estimate`, or the bare number of a record that an older version wrote.

    An older version added up what was known, so its number is never called the whole.
    """
    told = facts.get("cost_estimate")
    if isinstance(told, dict):
        return CostEstimate(amount_in(told, "amount"), is_complete=told.get("kind") == EXACT).text
    return CostEstimate(amount_in(facts, "cost"), is_complete=False).text


def amount_in(facts: Mapping[str, Plain], key: str) -> float | None:
    value = facts.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
