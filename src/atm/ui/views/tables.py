"""
Tables of text. Without a terminal, columns are as wide as their widest cell. On one, a table fits: texts are wrapped in
their column, columns that matter least go, and what is left of a very narrow one stands below the first cell.
"""

from __future__ import annotations

import sys

from atm.core.untrusted_text import one_line
from atm.ui.views.fitting import cut, wrapped_line
from atm.ui.views.style import terminal_columns, width_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

INDENT, GAP = 2, 2
COMFORT, TIGHT = 20, 12
"""Columns that a text should have, as long as something less important can go for it; and has to have."""

MOST_LINES = 4
"""Of a text in its column. It is cut then; `--json` has all of it."""


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] = (),
    keep: Sequence[int] = (0,),
    drop: Sequence[int] = (),
    whole: Sequence[int] = (),
) -> list[str]:
    """
    Aligned columns with a rule under the heads, as in the seed's example.

    `keep` are columns to copy from, which are never cut. `drop` are those that may go, the least important first. Texts
    in `whole` have as many lines as they need.
    """
    head, rule, groups = laid_out(heads, rows, right=right, keep=keep, drop=drop, whole=whole)
    return [head, rule, *(line for group in groups for line in group)]


def laid_out(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] = (),
    keep: Sequence[int] = (0,),
    drop: Sequence[int] = (),
    whole: Sequence[int] = (),
) -> tuple[str, str, list[list[str]]]:
    """The same in its parts: the heads, the rule, and the lines of every row."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    natural = [max([width_of(head), *(width_of(row[i]) for row in cells)]) for i, head in enumerate(heads)]
    columns = terminal_columns(sys.stdout)
    room = columns - INDENT if columns else sum(natural) + GAP * len(natural)
    fit = _fit(natural, room, keep, drop)
    if fit is None:
        return _stacked(heads, cells, room)
    head = _lines(fit, [cut(one, fit.get(i, 0)) for i, one in enumerate(heads)], right, keep, whole)[0]
    rule = " " * INDENT + "─" * (sum(fit.values()) + GAP * (len(fit) - 1))
    return head, rule, [_lines(fit, row, right, keep, whole) for row in cells]


def _fit(natural: list[int], room: int, keep: Sequence[int], drop: Sequence[int]) -> dict[int, int] | None:
    """The columns that are shown, and how wide; None if not even the most important ones can stand side by side."""
    shown, going = [*range(len(natural))], [i for i in drop if i not in keep]
    while True:
        free = room - GAP * (len(shown) - 1)
        for floor in (COMFORT,) if going else (COMFORT, TIGHT):
            fixed = sum(natural[i] for i in shown if i in keep)
            texts = [natural[i] for i in shown if i not in keep]
            most = next((w for w in range(max([0, *texts]), floor - 1, -1) if _sum(texts, w) + fixed <= free), None)
            if most is not None or fixed + sum(texts) <= free:
                return {i: natural[i] if i in keep or most is None else min(natural[i], most) for i in shown}
        if not going:
            return None
        shown.remove(going.pop(0))


def _sum(widths: list[int], most: int) -> int:
    return sum(min(width, most) for width in widths)


def _lines(
    fit: dict[int, int], cells: Sequence[str], right: Sequence[int], keep: Sequence[int], whole: Sequence[int]
) -> list[str]:
    parts = {i: [cells[i]] if i in keep else _text(cells[i], width, i in whole) for i, width in fit.items()}
    found = []
    for number in range(max(map(len, parts.values()), default=0)):
        padded = []
        for i, width in fit.items():
            cell = parts[i][number] if number < len(parts[i]) else ""
            gap = " " * (width - width_of(cell))
            padded.append(gap + cell if i in right else cell + gap)
        found.append((" " * INDENT + (" " * GAP).join(padded)).rstrip())
    return found


def _text(cell: str, width: int, is_whole: bool) -> list[str]:
    lines = wrapped_line(cell, width)
    if is_whole or len(lines) <= MOST_LINES:
        return lines
    return [*lines[: MOST_LINES - 1], cut(" ".join(lines[MOST_LINES - 1 :]), width)]


def _stacked(heads: Sequence[str], cells: list[list[str]], room: int) -> tuple[str, str, list[list[str]]]:
    """A row as a paragraph: what it is about, and below it the rest, each with its head. Paths stay whole."""
    groups = []
    for first, *rest in cells:
        named = zip(heads[1:], rest, strict=True)
        said = "; ".join(f"{head.lower()}: {cell}" if head else cell for head, cell in named if cell not in ("", "-"))
        below = wrapped_line(said, max(TIGHT, room - INDENT), whole_paths=True) if said else []
        groups.append([f"{' ' * INDENT}{one}" for one in wrapped_line(first, room, whole_paths=True)])
        groups[-1] += [f"{' ' * 2 * INDENT}{line}" for line in below]
    return " " * INDENT + cut(heads[0], room), " " * INDENT + "─" * room, groups
