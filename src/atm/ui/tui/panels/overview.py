"""The first screen: who must act, and what goes wrong without them."""

from __future__ import annotations

from functools import partial

from atm.ui.tui.filtering import fits
from atm.ui.tui.lines import BOLD, DIM, PLAIN, ends, padded, text, width
from atm.ui.tui.model import GAP, Body, ListRow, fixed
from atm.ui.tui.panels.about import about, find_request, must_show, of_member
from atm.ui.views.style import width_of
from atm.ui.views.team.attention import DONE, GROUPS, NEEDS, PROBLEMS
from atm.ui.views.team.signs import sign
from atm.ui.views.team.spans import span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.ui.tui.lines import Line
    from atm.ui.tui.model import Model
    from atm.ui.views.team.attention import AttentionRow

NARROW = 60
MOST_DONE = 50


def overview(model: Model) -> Body:
    return _body(model, GROUPS)


def problems(model: Model) -> Body:
    """What goes wrong, and what nobody but a person settles; and how the daemon is."""
    body = _body(model, (NEEDS, PROBLEMS))
    if model.read.daemon:
        body.rows += [GAP, fixed([(" daemon  ", DIM), text(model.read.daemon)])]
    return body


def _body(model: Model, groups: Sequence[str]) -> Body:
    rows: list[ListRow] = []
    found = [row for row in model.attention() if _fits(model, row)]
    for group in groups:
        mine = [row for row in found if row.group == group]
        if not mine and group != NEEDS:
            continue
        if rows:
            rows.append(GAP)
        rows.append(ListRow(partial(_head, group, mine)))
        rows += [
            ListRow(partial(row_line, row), (row.target,)) for row in (mine[:MOST_DONE] if group == DONE else mine)
        ]
    body = Body(rows, lambda columns: _about(model, columns))
    request = (
        find_request(model, model.target[1]) if model.target is not None and model.target[0] == "approval" else None
    )
    body.most_below = 3 if request is None else 9
    body.must_show = lambda columns: must_show(model, model.target, columns)
    return body


def _fits(model: Model, row: AttentionRow) -> bool:
    return fits(model.filter, row.word, row.who, f"{row.text} {row.task} {row.who}")


def _about(model: Model, columns: int) -> list[Line]:
    lines = about(model, model.target, columns)
    who = model.seen.member(model.chosen_agent) if model.seen is not None else None
    if model.is_peeking and who is not None and model.target is not None and model.target[0] != "member":
        lines = [*lines, [], *of_member(model, who, columns)]
    return lines


def _head(group: str, rows: Sequence[AttentionRow], columns: int) -> Line:
    start: Line = [(f" {group}", BOLD), (f"  {len(rows)}" if rows else "  nobody", DIM)]
    ages = [row.age for row in rows if row.age is not None]
    end = f"oldest {span(max(ages))}" if group == NEEDS and ages else ""
    return ends(start, [(end, DIM)], columns) if end else start


def row_line(row: AttentionRow, columns: int) -> Line:
    """`◆ command   kite   CX  #6   git push …   11:42 left`; less of it where there is less room."""
    look = sign(row.state)
    right: Line = [text(row.right, DIM)] if row.right else []
    if columns < NARROW:
        start: Line = [(f" {look.mark} ", look.meaning), (padded(text(row.who)[0], 6) + " ", PLAIN), text(row.text)]
        short = row.right.removesuffix(" left")
        return ends(start, [(short, DIM)], columns) if short else start
    task = f"#{row.task}" if row.task else ""
    start = [
        (f" {look.mark} {padded(row.word, 11)} ", look.meaning),
        (padded(text(row.who)[0], max(6, min(12, width_of(row.who)))) + " ", PLAIN),
        (padded(row.vendor, 3), DIM),
        (padded(task, 5), DIM),
        text(row.text),
    ]
    return ends(start, right, columns) if right and width(right) < columns // 3 else start
