"""Approvals: what exactly happens if I say yes, and what if I say nothing?"""

from __future__ import annotations

from functools import partial

from atm.core.excerpts import excerpt
from atm.ui.tui.filtering import fits
from atm.ui.tui.lines import BOLD, DIM, PLAIN, ends, padded, text
from atm.ui.tui.model import GAP, Body, ListRow, fixed
from atm.ui.tui.panels.about import about, find_request, must_show, request
from atm.ui.tui.panels.overview import row_line
from atm.ui.views.team.attention import LONGEST_COMMAND, NEEDS
from atm.ui.views.team.signs import sign
from atm.ui.views.team.spans import clock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.tui.lines import Line
    from atm.ui.tui.model import Model
    from atm.ui.views.team.seen import ApprovalSeen

MOST_DECIDED = 30
WIDE = 120


def requests(model: Model) -> Body:
    rows: list[ListRow] = []
    asked = [row for row in model.attention() if row.group == NEEDS]
    waiting = {one.id for one in model.seen.approvals} if model.seen is not None else set()
    rows.append(fixed([(" Waits for you", BOLD), (f"  {len(asked)}" if asked else "  nothing", DIM)]))
    rows += [
        ListRow(partial(row_line, row), (row.target,))
        for row in asked
        if fits(model.filter, row.word, row.who, row.text)
    ]
    for one in model.seen.approvals if model.seen is not None else ():
        if ("approval", one.id) not in {row.target for row in asked}:
            rows.append(ListRow(partial(_for_lead, one), (("approval", one.id),)))
    decided = [one for one in model.read.approvals or () if one.id not in waiting]
    if decided:
        rows += [GAP, fixed([(" Decided", BOLD)])]
        newest = sorted(decided, key=lambda one: one.decided_at or "", reverse=True)
        rows += [ListRow(partial(_decided, one), (("approval", one.id),)) for one in newest[:MOST_DECIDED]]
    body = Body(rows, lambda columns: about(model, model.target, columns), 14)
    body.must_show = lambda columns: must_show(model, model.target, columns)
    return body


def one_request(model: Model) -> Body:
    """On the whole screen, for what is long."""
    found = find_request(model, model.target[1]) if model.target is not None else None
    if found is None:
        return Body([GAP, fixed([(" this request is gone", DIM)])])
    count = len(request(found, model.now, WIDE))
    rows = [ListRow(partial(_request_line, found, model.now, at)) for at in range(count * 3)]
    body = Body(rows, is_text=True)
    body.must_show = lambda columns: must_show(model, model.target, columns)
    return body


def _request_line(one: ApprovalSeen, now: float, at: int, columns: int) -> Line:
    lines = request(one, now, columns)
    return lines[at] if at < len(lines) else []


def _for_lead(one: ApprovalSeen, columns: int) -> Line:
    what = text(excerpt(one.what, LONGEST_COMMAND, one.id))
    start: Line = [(" ○ for the lead ", DIM), (padded(text(one.requester)[0], 8), PLAIN), what]
    return ends(start, [], columns)


def _decided(one: ApprovalSeen, columns: int) -> Line:
    look = sign(one.state)
    start: Line = [(f" {look.mark} {padded(one.state, 9)} ", look.meaning), (padded(text(one.requester)[0], 8), PLAIN)]
    start += [(padded(f"#{one.task}" if one.task else "", 5), DIM), text(excerpt(one.what, LONGEST_COMMAND, one.id))]
    by = text(f"{one.decided_by or 'nobody'}, {clock(one.decided_at)[:5]}" if one.decided_at else "nobody")[0]
    return ends(start, [(by, DIM)], columns)
