"""
The whole screen, as lines of exactly its size: head, body, foot. Pure, so that a test can read it like a person.

No boxes: one rule under the head, one above the keys, a bar between two panes. White space does the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import localtime, strftime

from atm.crew.rules.costs import total_cost
from atm.ui.faces.deeds import spelled
from atm.ui.faces.view_names import (
    AGENT,
    APPROVALS,
    BOARD,
    KEYS,
    LOG,
    MAIL,
    MERGE,
    NUMBERED,
    OVERVIEW,
    PROBLEMS,
    REQUEST,
    RUNS,
    SESSIONS,
    SYNC,
    TASK,
    TEAMS,
    THREAD,
)
from atm.ui.tui.keys import DECIDING, settle
from atm.ui.tui.lines import BOLD, CHOSEN, DIM, PLAIN, as_ascii, ends, fitted, harmless, rule, text, width
from atm.ui.tui.model import Body
from atm.ui.tui.offers import offers
from atm.ui.tui.panels import lists
from atm.ui.tui.panels.agent import agent
from atm.ui.tui.panels.board import board
from atm.ui.tui.panels.mail import mail, thread
from atm.ui.tui.panels.overview import overview, problems
from atm.ui.tui.panels.requests import one_request, requests
from atm.ui.views.team.attention import NEEDS, strip
from atm.ui.views.team.attention import PROBLEMS as PROBLEM_ROWS
from atm.ui.views.team.signs import BROKEN, CELLS, MOVING, REST, YOU, cell_sign
from atm.ui.views.team.spans import since, span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.ui.faces.deeds import KeyOffer
    from atm.ui.tui.lines import Line
    from atm.ui.tui.model import ListRow, Model
    from atm.ui.views.team.seen import TeamSeen

SMALL = 14
"""Lines below which the foot is one line, and the rule under the head goes."""
WIDE = 110
"""Columns from which the chosen row is told of beside the list."""
LEAST_WITH_PREVIEW = 9
"""Lines of a body from which the list can spare some for what is told of the chosen row."""
MOST_CELLS = 40
MOST_TYPED = 5
STALE_SECONDS = 10.0
LEAVING = (("?", "keys"), ("q", "leave"))
RESERVED = 12
"""Columns of the head for the age of what is seen."""

BODIES = {
    OVERVIEW: overview,
    BOARD: board,
    AGENT: agent,
    MAIL: mail,
    APPROVALS: requests,
    MERGE: lists.merges,
    SYNC: lists.sync,
    LOG: lists.log,
    PROBLEMS: problems,
    TASK: lists.task,
    THREAD: thread,
    REQUEST: one_request,
    RUNS: lists.runs,
    SESSIONS: lists.sessions,
    TEAMS: lists.teams,
    KEYS: lists.keys,
}


@dataclass(frozen=True, slots=True)
class Screen:
    """What is drawn, and where the line stands that is typed into."""

    lines: list[Line]
    body: Body
    typing_at: int
    typing_lines: int


def draw(model: Model, columns: int, height: int) -> Screen:
    model.columns = columns
    body = _settled(model)
    head, foot = _head(model, columns, height), _foot_height(height)
    typing = min(MOST_TYPED, 1 + model.typed.count("\n")) if model.typing is not None else 0
    room = max(0, height - len(head) - foot - typing)
    middle = _middle(model, body, columns, room)
    lines = [*head, *middle, *([[]] * (room - len(middle)))]
    typing_at = len(lines)
    lines += [[(" > ", DIM)]] * typing
    lines += _foot(model, columns, height)
    shown = [fitted(harmless(line), columns) for line in lines[:height]]
    shown += [[(" " * columns, PLAIN)]] * (height - len(shown))
    if model.ascii:
        shown = [[(as_ascii(said), meaning) for said, meaning in line] for line in shown]
    return Screen(shown, body, typing_at, typing)


def _settled(model: Model) -> Body:
    """Drawn for what is chosen; what was chosen before may be gone."""
    if model.seen is None and model.trouble and model.view != TEAMS:
        return lists.unreadable(model)
    body, before = BODIES[model.view](model), model.target
    settle(model, body)
    return body if model.target == before else BODIES[model.view](model)


# Head.


def _head(model: Model, columns: int, height: int) -> list[Line]:
    seen = model.seen
    if seen is None:
        word: Line = [("✗ cannot be read", BROKEN)] if model.trouble else [("looking …", DIM)]
        line: Line = [(" ", PLAIN), text(model.team or "atm", BOLD), ("  ", PLAIN), *word]
    elif model.trouble:
        at = strftime("%H:%M:%S", localtime(model.seen_at))
        start: Line = [(" ", PLAIN), text(seen.team, BOLD), ("  ", PLAIN), *_strip(seen, min(MOST_CELLS, columns // 4))]
        line = [*start, (f"  as of {at}  ", PLAIN), text(f"✗ {model.trouble}", BROKEN)]
    else:
        done = sum(task.state == "completed" for task in seen.tasks)
        line = ends(_title(model, seen, done, columns), _freshness(model), columns)
    return [line, rule(columns)] if height >= SMALL else [line]


def _title(model: Model, seen: TeamSeen, done: int, columns: int) -> Line:
    total, agents = len(seen.tasks), sum(not one.is_human for one in seen.members)
    lasted = span(since(seen.status_since or seen.created_at, model.now))
    if columns < 60:
        return [(" ", PLAIN), text(seen.team, BOLD), (f"  {done}/{total}  {lasted}", PLAIN)]
    found: Line = [(" ", PLAIN), text(seen.team, BOLD), ("  ", PLAIN)]
    if columns >= WIDE:
        found += [text(seen.status, DIM), ("  ", PLAIN)]
    found += _strip(seen, min(MOST_CELLS, columns // 4))
    found.append((f"  {done} of {total} done  {agents} agent{'s' if agents != 1 else ''}  {lasted}", PLAIN))
    for piece in _counts(model, seen):  # as many as there is room for
        if width(found) + len(piece[0]) <= columns - RESERVED:
            found.append(piece)
    return found


def _counts(model: Model, seen: TeamSeen) -> Line:
    rows = model.attention()
    mine, broken = sum(row.group == NEEDS for row in rows), sum(row.group == PROBLEM_ROWS for row in rows)
    unread = sum(one.mail.unread or 0 for one in seen.members if one.is_human)
    counts = ((mine, "◆", YOU), (broken, "▲", BROKEN), (unread, "unread", YOU))
    cost = _cost(seen)
    return [
        *((f"  {mark} {count}", meaning) for count, mark, meaning in counts if count),
        *([(f"  {cost}", DIM)] if cost else []),
    ]


def _strip(seen: TeamSeen, most: int) -> Line:
    """One cell for each task; of more than there is room for, the shares."""
    kinds = strip(seen)
    if len(kinds) > most:
        order = sorted(kinds, key=lambda kind: [*CELLS].index(kind) if kind in CELLS else len(CELLS))
        kinds = [order[at * len(order) // most] for at in range(most)]
    return [(cell_sign(kind).mark, _meaning(kind)) for kind in kinds]


def _meaning(cell: str) -> str:
    meaning = cell_sign(cell).meaning
    return DIM if meaning == REST else meaning


def _cost(seen: TeamSeen) -> str:
    """What is known is counted; that something is not known is said."""
    agents = [one.agent for one in seen.members if one.agent is not None]
    if not agents:
        return ""
    found = total_cost((one.runtime, one.cost) for one in agents)
    return found.text if found.amount is not None else f"cost {found.text}"


def _freshness(model: Model) -> Line:
    age = max(0.0, model.now - model.seen_at)
    return [(f"live {age:.0f} s " if age < STALE_SECONDS else f"{span(age)} old ", DIM)]


# Body.


def _middle(model: Model, body: Body, columns: int, room: int) -> list[Line]:
    if body.is_text:
        return _text(model, body, columns, room)
    if body.about is None or room < (4 if model.is_peeking else LEAST_WITH_PREVIEW):
        model.is_whole = False
        return _list(model, body, columns, room)
    if columns >= WIDE and not body.is_broad:
        left = columns * 62 // 100
        told = body.about(columns - left - 2)
        model.is_whole = _is_whole(body, columns - left - 2, min(room, len(told)))
        list_lines = [fitted(line, left) for line in _list(model, body, left, room)]
        list_lines += [[(" " * left, PLAIN)]] * (room - len(list_lines))
        return [[*line, ("│ ", DIM), *(told[at] if at < len(told) else [])] for at, line in enumerate(list_lines)]
    told = body.about(columns)
    most = room * 2 // 3 if model.is_peeking else min(body.most_below, room // 2)
    told = told[:most]
    model.is_whole = _is_whole(body, columns, len(told))
    list_room = room - len(told) - (1 if told else 0)
    above = _list(model, body, columns, list_room)
    above += [[]] * (list_room - len(above))
    return [*above, *([rule(columns)] if told else []), *told]


def _is_whole(body: Body, columns: int, shown: int) -> bool:
    return body.must_show is not None and body.must_show(columns) <= shown


def _text(model: Model, body: Body, columns: int, room: int) -> list[Line]:
    last = max(0, len(body.rows) - room)
    at = min(model.place.get(model.view, 0), last)
    model.place[model.view] = at
    model.is_whole = model.view == TASK or _is_whole(body, columns, at + room)
    return [row.draw(columns) for row in body.rows[at : at + room]]


def _list(model: Model, body: Body, columns: int, room: int) -> list[Line]:
    rows = body.rows
    chosen = next((at for at, row in enumerate(rows) if model.target is not None and model.target in row.targets), 0)
    top = min(model.top.get(model.view, 0), max(0, len(rows) - room))
    if chosen < top + 1:
        top = max(0, chosen - 1)
    last = chosen + _lines_of(rows, chosen)
    if last >= top + room:
        top = min(chosen, last - room + 1)
    model.top[model.view] = top
    lines = [_row(model, row, columns) for row in rows[top : top + room]]
    below = sum(bool(row.targets) for row in rows[top + room - 1 :])
    if top + room < len(rows) and chosen < top + room - 1 and below:
        lines[-1] = [(f" ↓ {below} more", DIM)]
    return lines


def _lines_of(rows: Sequence[ListRow], chosen: int) -> int:
    """How many lines more the chosen one has: a card has three."""
    return 2 if chosen < len(rows) and len(rows[chosen].targets) > 1 else 0


def _row(model: Model, row: ListRow, columns: int) -> Line:
    line = row.draw(columns)
    if row.targets != (model.target,) or model.target is None:
        return line
    said = fitted(line, columns)
    first, meaning = said[0]
    return [("▌", PLAIN), (first[1:], meaning or CHOSEN), *((word, mean or CHOSEN) for word, mean in said[1:])]


# Foot.


def _foot_height(height: int) -> int:
    return 4 if height >= SMALL else 2


def _foot(model: Model, columns: int, height: int) -> list[Line]:
    if height < SMALL:
        return [
            rule(columns),
            _armed(model)
            or _notice(model)
            or _fit_keys([("enter", "open"), ("space", "peek"), ("?", "keys"), ("q", "")], columns),
        ]
    found = [one for one in offers(model) if one.key not in DECIDING or model.is_whole]
    return [rule(columns), _keys(model, found, columns), _same_as(model, found), _views(model, columns)]


def _keys(model: Model, found: Sequence[KeyOffer], columns: int) -> Line:
    if model.typing is not None:
        is_text = model.typing.kind == "command"
        more = [("alt+enter", "new line")] if is_text else []
        return _fit_keys([("enter", "send" if is_text else "go"), *more, ("esc", "leave it")], columns)
    keys = [(f"{one.key} {one.key}" if one.is_twice else one.key, one.word) for one in found]
    general = [("space", "peek"), ("d", "diff"), ("tab", "next part"), ("/", "filter"), (":", "go to")]
    wanted = [pair for pair in general if pair[0] != "tab" or model.view in (BOARD, AGENT)]
    wanted = [pair for pair in wanted if pair[0] not in ("space", "d") or model.chosen_agent]
    if model.filter:
        return _fit_keys([("esc", "filter off"), *keys, *wanted], columns, LEAVING)
    return _fit_keys([*keys, ("esc", "back"), *wanted], columns, LEAVING)


def _fit_keys(keys: Sequence[tuple[str, str]], columns: int, always: Sequence[tuple[str, str]] = ()) -> Line:
    """As many as there is room for; some of them always."""
    found: Line = [(" ", PLAIN)]
    end = [piece for key, word in always for piece in _key(key, word)]
    if end:  # the gap after the last key would count as text that is cut
        end[-1] = (end[-1][0].rstrip(), end[-1][1])
    for key, word in keys:
        piece = _key(key, word)
        if width(found) + width(piece) + width(end) - (0 if end else 3) > columns:
            break
        found += piece
    return [*found, *end]


def _key(key: str, word: str) -> Line:
    return [(key, BOLD), (f" {word}   " if word else "   ", DIM)]


def _same_as(model: Model, found: Sequence[KeyOffer]) -> Line:
    armed = _armed(model)
    if armed:
        return armed
    if model.is_busy:
        return [(" runs  ", DIM), text(model.is_busy, MOVING), (" …", DIM)]
    if model.notice:
        return _notice(model)
    if model.typing is not None and model.typing.offer is None:
        return [(f" {model.typing.asks}", DIM)]
    typing = model.typing.offer if model.typing is not None else None
    offer = typing or next((one for one in found if one.command), None)
    if offer is None:
        return [(" only what fits  ", YOU), text(model.filter, YOU)] if model.filter else []
    team = model.team if len(model.teams) > 1 else ""
    shown: Line = [(" same as  ", DIM), text(spelled(offer, team))]
    return [(" only what fits  ", YOU), text(model.filter, YOU), (" ", PLAIN), *shown] if model.filter else shown


def _armed(model: Model) -> Line:
    if not model.armed or model.now > model.armed_until:
        return []
    offer = next((one for one in offers(model) if one.key == model.armed), None)
    word = offer.word if offer is not None else ""
    return [
        (f" {model.armed}  ", BOLD),
        (f"{word}: press {model.armed} again within 2 s, anything else forgets it", YOU),
    ]


def _notice(model: Model) -> Line:
    return [(" ", PLAIN), text(model.notice, model.notice_meaning)] if model.notice else []


def _views(model: Model, columns: int) -> Line:
    """By their digits; where there is no room for all names, the open one has its name."""
    gap = "  " if columns >= WIDE else " "
    has_room = columns >= 2 + sum(len(view) + 3 for view in NUMBERED)
    found: Line = [(" ", PLAIN)]
    for at, view in enumerate(NUMBERED, 1):
        is_open = view == model.view
        name = f"{at} {view}" if has_room or is_open else str(at)
        found += [(f"[{name}]" if is_open else name, BOLD if is_open else DIM), (gap, PLAIN)]
    return found[:-1]
