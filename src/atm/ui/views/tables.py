"""Tables of text: columns as wide as their widest cell on a terminal."""

from __future__ import annotations

from atm.domain.untrusted_text import one_line
from atm.ui.views.style import width_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> list[str]:
    """Aligned columns with a rule under the heads, as in the seed's example."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max([width_of(head), *(width_of(row[i]) for row in cells)]) for i, head in enumerate(heads)]
    lines = [_row(heads, widths, right), "  " + "─" * (sum(widths) + 2 * (len(widths) - 1))]
    return [*lines, *(_row(row, widths, right) for row in cells)]


def _row(cells: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> str:
    padded = []
    for i, cell in enumerate(cells):
        gap = " " * (widths[i] - width_of(cell))
        padded.append(gap + cell if i in right else cell + gap)
    return ("  " + "  ".join(padded)).rstrip()
