"""The board: a list, columns, or what waits for what. Blocked is not ready."""

from __future__ import annotations

from functools import partial

from atm.board.rules.schedule import waves
from atm.merges.rules.shown_state import COLUMNS, NOT_DONE_COLUMN
from atm.ui.faces.view_names import BOARD, TABS
from atm.ui.tui.filtering import fits
from atm.ui.tui.lines import BOLD, CHOSEN, DIM, PLAIN, fitted, padded, text, wrapped
from atm.ui.tui.model import GAP, Body, ListRow, fixed
from atm.ui.tui.panels.about import about
from atm.ui.views.board.graph_drawing import as_text
from atm.ui.views.board.graph_layout import Node
from atm.ui.views.fitting import cut
from atm.ui.views.team.attention import held_up
from atm.ui.views.team.signs import sign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.tui.lines import Line
    from atm.ui.tui.model import Model
    from atm.ui.views.team.seen import TaskSeen

ORDER = {
    **dict.fromkeys(("approval", "question", "plan_waits"), 0),
    "stalled": 1,
    **dict.fromkeys(("conflict", "not_merged"), 2),
    **dict.fromkeys(("failed", "unreachable", "unreadable", "to_retry"), 3),
    **{state: at for at, state in enumerate(("planning", "in_progress", "review", "pending", "blocked"), 4)},
    **{
        state: at for at, state in enumerate(("merging", "to_merge", "completed", "merged", "left_out", "cancelled"), 9)
    },
}
"""Held up first; then what moves, what is free, what waits, what is done."""
STATE_OF_COLUMN = {
    "Blocked": "blocked",
    "Ready": "pending",
    "Planning": "planning",
    "In progress": "in_progress",
    "Review": "review",
    "Done": "completed",
    "Not done": "failed",
}
"""The state whose sign stands at the head of a column."""
SAID_BY_COLUMN = ("blocked", "ready", "planning", "in progress", "in review", "done")
"""States that the title of their column says already."""
WORDS = 64
"""Columns from which a state has its word."""
MOST_DRAWN = 200
"""Tasks of a graph: beyond that nobody can follow the lines; `atm tasks graph --svg` draws all."""


def board(model: Model) -> Body:
    tasks = model.seen.tasks if model.seen is not None else []
    found = [
        task
        for task in tasks
        if fits(model.filter, f"{task.state} {task.shown.word}", task.owner or "", f"{task.subject} #{task.id}")
    ]
    tabs = fixed(tab_line(model))
    if model.seen is None or not tasks:
        return Body([tabs, GAP, fixed([(" Nothing on the board yet. Add a task with +", DIM)])])
    if model.part == "graph":
        return Body([tabs, GAP, *_graph(found)], is_text=True)
    if model.part == "columns":
        rows = [tabs, *_columns(model, found)]
        return Body(rows, lambda columns: about(model, model.target, columns), 4, is_broad=True)
    held = held_up(model.seen)
    ranked = sorted(found, key=lambda task: (ORDER.get(held.get(task.id, task.shown.state), 6), _number(task)))
    rows = [ListRow(partial(_row, held.get(task.id, ""), task), (("task", task.id),)) for task in ranked]
    way = longest_way(tasks)
    if len(way) > 1:
        rows += [GAP, fixed([(f" longest way to the end: {' → '.join('#' + id for id in way)}", DIM)])]
    return Body([tabs, ListRow(_heads), *rows], lambda columns: about(model, model.target, columns), 3)


def tab_line(model: Model) -> Line:
    found: Line = [(" ", PLAIN)]
    for name in TABS[model.view]:
        found.append((f"[{name}]" if name == model.part else f" {name} ", BOLD if name == model.part else DIM))
        found.append((" ", PLAIN))
    return [*found, ("   ◌ blocked is not ○ ready", DIM)] if model.view == BOARD else found


def _number(task: TaskSeen) -> int:
    return int(task.id) if task.id.isdecimal() else 0


def _heads(columns: int) -> Line:
    return [(" " + _cells("id", "state", "task", "agent", "deps", columns), DIM)]


def _cells(id: str, state: str, title: str, agent: str, deps: str, columns: int) -> str:
    room = max(8, columns - (5 + 14 + 10 + 13 + 2)) if columns >= WORDS else max(8, columns - 20)
    start = f"{padded(id, 5)}{padded(state, 14)}" if columns >= WORDS else f"{padded(id, 5)}{padded(state, 3)}"
    if columns < WORDS:
        return start + padded(title, room) + " " + cut(agent, 8)
    return f"{start}{padded(title, room)} {padded(agent, 9)} {cut(deps, 13)}"


def _row(held: str, task: TaskSeen, columns: int) -> Line:
    """`held`: what holds it up besides the board, which is said beside its state."""
    look, word = sign(task.shown.state), task.shown.word
    waits = held or " ".join(f"#{id}" for id in task.blocked_by_open) or "-"
    said = _cells(
        f"#{task.id}",
        text(f"{look.mark} {word}" if columns >= WORDS else look.mark)[0],
        text(task.subject)[0],
        text(task.owner or "-")[0],
        waits,
        columns,
    )
    meaning = sign(held).meaning if held else task.shown.tone
    return [(" " + said, meaning if meaning != "rest" else DIM if task.state == "blocked" else PLAIN)]


# Columns.


def _columns(model: Model, tasks: list[TaskSeen]) -> list[ListRow]:
    """Cards side by side; arrows go from lane to lane. A column for what went wrong is there when it has tasks."""
    by_column = {name: [task for task in tasks if task.shown.column == name] for name, _ in COLUMNS}
    shown = [(title, by_column[name]) for name, title in COLUMNS if name != NOT_DONE_COLUMN or by_column[name]]
    lanes = [lane for _, lane in shown]
    rows = [ListRow(partial(_lane_heads, shown)), ListRow(partial(_lane_rules, len(lanes)))]
    for at in range(min(MOST_DRAWN, max((len(lane) for lane in lanes), default=0))):
        cards = [lane[at] if at < len(lane) else None for lane in lanes]
        targets = tuple(("task", card.id) if card is not None else None for card in cards)
        rows.append(ListRow(partial(_card_line, model, cards, 0), targets))
        rows += [ListRow(partial(_card_line, model, cards, line)) for line in (1, 2)]
    return rows


def _lane_heads(lanes: list[tuple[str, list[TaskSeen]]], columns: int) -> Line:
    each = max(6, (columns - 1) // len(lanes))
    found: Line = [(" ", PLAIN)]
    for title, lane in lanes:
        look = sign(STATE_OF_COLUMN[title])
        found.append((padded(f"{look.mark} {len(lane)} {title}", each - 1) + " ", look.meaning))
    return found


def _lane_rules(count: int, columns: int) -> Line:
    each = max(6, (columns - 1) // count)
    return [(" " + ("─" * (each - 1) + " ") * count, DIM)]


def _card_line(model: Model, cards: list[TaskSeen | None], line: int, columns: int) -> Line:
    each = max(6, (columns - 1) // len(cards))
    found: Line = []
    for card in cards:
        said = _card(card, each - 1)[line] if card is not None else ""
        is_chosen = card is not None and model.target == ("task", card.id)
        meaning = PLAIN if card is None else _meaning(card, line)
        found += [("▌" if is_chosen else " ", PLAIN), (padded(said, each - 1), CHOSEN if is_chosen else meaning)]
    return found


def _meaning(card: TaskSeen, line: int) -> str:
    if line == 0:
        return card.shown.tone if card.shown.tone in ("you", "broken") else BOLD
    return DIM if card.state == "blocked" else PLAIN


def _card(task: TaskSeen, columns: int) -> list[str]:
    head = f"#{task.id} {text(task.owner or '')[0]}"
    waits = f"waits for {' '.join('#' + id for id in task.blocked_by_open)}" if task.blocked_by_open else ""
    if not waits and task.shown.word not in SAID_BY_COLUMN:
        waits = text(f"{sign(task.shown.state).mark} {task.shown.word}")[0]
    title = wrapped(text(task.subject)[0], columns, most=1 if waits else 2)
    return [head, *title, waits, ""][:3]


# The graph.


def _graph(tasks: list[TaskSeen]) -> list[ListRow]:
    shown = {task.id for task in tasks[:MOST_DRAWN]}
    nodes = [
        Node(task.id, task.subject, task.shown.state, task.owner or "", [id for id in task.blocked_by if id in shown])
        for task in tasks[:MOST_DRAWN]
    ]
    drawn = as_text(nodes, lambda said, *_: said, 200).split("\n")
    more: list[ListRow] = []
    if len(tasks) > MOST_DRAWN:
        more = [fixed([(f" … and {len(tasks) - MOST_DRAWN} more: atm tasks graph --svg", DIM)])]
    return [*(ListRow(partial(_drawn_line, line)) for line in drawn), *more]


def _drawn_line(line: str, columns: int) -> Line:
    return fitted([(f" {line}", PLAIN)], columns)


def longest_way(tasks: list[TaskSeen]) -> list[str]:
    """The longest row of open tasks, each waiting for the one before it."""
    open_ones = {task.id: task for task in tasks if task.state not in ("completed", "cancelled")}
    edges = {id: [other for other in task.blocked_by_open if other in open_ones] for id, task in open_ones.items()}
    best: dict[str, list[str]] = {}
    for wave in waves(edges):
        best |= {id: [*max((best[other] for other in edges[id]), key=len, default=[]), id] for id in wave}
    return max(best.values(), key=len, default=[])
