"""The numbers of a ledger: each once, in order; what is doubled and what is missing is said."""

from __future__ import annotations

from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class LedgerNumbers:
    """What the numbers of all lines say."""

    __slots__ = ("duplicates", "gaps", "last")

    def __init__(self, last: int, gaps: list[tuple[int, int]], duplicates: list[int]) -> None:
        self.last = last
        self.gaps = gaps
        """First and last number of each run that is missing."""
        self.duplicates = duplicates


def look_at_numbers(numbers: Iterable[int]) -> LedgerNumbers:
    """In whatever order they stand in the file. What is missing before the first is not known to have been."""
    seen: set[int] = set()
    doubled: set[int] = set()
    for number in numbers:
        (doubled if number in seen else seen).add(number)
    ordered = sorted(seen)
    gaps = [(one + 1, other - 1) for one, other in pairwise(ordered) if other > one + 1]
    return LedgerNumbers(ordered[-1] if ordered else 0, gaps, sorted(doubled))
