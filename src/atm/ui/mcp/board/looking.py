"""Tools that show the board, as a list, a drawing or its past, and one task. Everybody may look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.board.rules.tasks import PRIORITIES
from atm.board.services.boardroom import list_name
from atm.core.errors import NoSuchTeam
from atm.core.names import same_name
from atm.merges.rules.shown_state import shown_state
from atm.ui.mcp.actor import home
from atm.ui.mcp.board.changes import whose
from atm.ui.mcp.board.view import PARTS, TASK, TASKS, counts, details, event_fields, long_text, preview
from atm.ui.mcp.definition import define
from atm.ui.mcp.schema import choice, count, gives, many, takes, text, whole
from atm.ui.mcp.tool import EVERYBODY
from atm.ui.mcp.wording import NOTICE, body, piece
from atm.ui.verbs.verb import number_of
from atm.ui.views.board.graph_drawing import as_text
from atm.ui.views.board.graph_layout import Node
from atm.ui.views.looks import STATES
from atm.wiring.runs import board_with_merges

if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.board.formats.task_history import Past
    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Card
    from atm.core.plain import Plain
    from atm.ui.mcp.caller import Caller
    from atm.ui.verbs.verb import Given

MOST_LISTED = 50
MOST_EVENTS = 20
MOST_DRAWN = 150
"""Tasks in a drawing: more lines than an agent reads."""

LONGEST_DRAWING = 12_000
LONGEST_PIECE = 8_000
WIDTH = 100

ID = text()
GRAPH, HISTORY = "graph", "history"
"""Other views of the board than a list."""


def board_name(caller: Caller) -> str:
    """The list of the connection's team, also of a session that has ended."""
    if not caller.team:
        raise NoSuchTeam("this connection belongs to no team", "start the server with `atm mcp --team NAME`")
    return list_name(caller.boardroom, caller.team)


def board_seen(caller: Caller, team: str) -> Board:
    """The board with the merge queue of its team."""
    return board_with_merges(caller.layout, caller.boardroom.tasks.board(team), team)


def _list(caller: Caller, given: Given) -> dict[str, Plain]:
    if given.text("view") == HISTORY:
        return _page("next_after", *_past(caller, None, given.whole("after"), given.whole("limit", 20)))
    board = board_seen(caller, board_name(caller))
    cards = _wanted(board, home(caller).addressee, given)
    if given.text("view") == GRAPH:
        return _drawn(board, [card for card in cards if given.has("state") or not card.is_finished])
    after, limit = given.whole("after"), given.whole("limit", 20)
    rest = [card for card in cards if card.number > after]
    shown = rest[:limit]
    more: dict[str, Plain] = {"next_after": shown[-1].number} if len(rest) > limit else {}
    more |= {"notice": NOTICE} if shown else {}
    tasks: list[Plain] = [preview(card, board) for card in shown]
    return {"tasks": tasks, "matching": len(cards), "counts": counts(board), **more}


def _wanted(board: Board, meant: Callable[[str], str], given: Given) -> list[Card]:
    cards = [card for card in board.sorted() if not card.is_hidden]
    states, priority = given.texts("state"), given.text("priority")
    if states:
        cards = [card for card in cards if board.state(card) in states]
    if priority:
        cards = [card for card in cards if card.priority == priority]
    if given.has("owner"):  # an empty one asks for what belongs to nobody
        owner = meant(given.text("owner"))
        cards = [card for card in cards if same_name(card.owner, owner)]
    words = given.text("words").casefold().split()
    if words:
        cards = [card for card in cards if all(word in card.subject.casefold() for word in words)]
    return cards


def _show(caller: Caller, given: Given) -> dict[str, Plain]:
    team, part = board_name(caller), given.text("part")
    id = number_of(caller.boardroom, team, given.text("id"))
    if part == HISTORY:
        found = _past(caller, id, given.whole("offset"), MOST_EVENTS)
        if not found[0]:  # of one that is gone there is still a past
            caller.boardroom.tasks.board(team).card(id)  # says that there is no such task
        return {"id": id, "part": part, **_page("next_offset", *found)}
    task = caller.boardroom.tasks.read(team, id)
    if part:
        shown = piece(long_text(task, part), given.whole("offset"), LONGEST_PIECE)
        return {"id": id, "part": part, **shown, "notice": NOTICE}
    board = board_seen(caller, team)
    board.cards[task.number] = task
    return {"id": id, "task": details(task, board, lambda check: whose(caller, team, task, check))}


def _past(caller: Caller, task: str | None, before: int, limit: int) -> tuple[list[Past], bool, int]:
    """What happened, of one task or of all, oldest first, ending before an event; is there more; unreadable lines."""
    found, torn = caller.boardroom.tasks.past(board_name(caller))
    past = [one for one in found if task in (None, one.task) and (not before or one.seq < before)]
    return past[-limit:], len(past) > limit, torn


def _page(key: str, shown: list[Past], has_more: bool, torn: int) -> dict[str, Plain]:
    events: list[Plain] = [{"seq": one.seq, "task": one.task, **event_fields(one.event)} for one in shown]
    more: dict[str, Plain] = {key: shown[0].seq} if has_more else {}
    return {"events": events, "notice": NOTICE, **more, **({"unreadable_lines": torn} if torn else {})}


def _drawn(board: Board, cards: list[Card]) -> dict[str, Plain]:
    nodes = [
        Node(card.id, card.subject, shown_state(card, board).state, card.owner, board.blockers(card))
        for card in cards[:MOST_DRAWN]
    ]
    drawn = as_text(nodes, lambda part, *_: str(part), WIDTH) if nodes else "No tasks."
    whole_lines = drawn[:LONGEST_DRAWING].rpartition("\n")[0] if len(drawn) > LONGEST_DRAWING else drawn
    is_cut = len(cards) > MOST_DRAWN or whole_lines is not drawn
    more: dict[str, Plain] = {"hint": "the drawing is cut: leave view out"} if is_cut else {}
    return {"graph": body(whole_lines), "matching": len(cards), "notice": NOTICE, **more}


TOOLS = (
    define(
        "board_list",
        "List tasks",
        "Tasks, one line each; or what waits for what; or what happened. Next page: after = next_after.",
        _list,
        takes=takes(
            optional={
                "view": choice(GRAPH, HISTORY),
                "state": many(choice(*STATES), most=len(STATES)),
                "owner": text("empty: nobody's"),
                "priority": choice(*PRIORITIES),
                "words": text("in the subject", longest=200),
                "limit": whole(least=1, most=MOST_LISTED),
                "after": whole(),
            }
        ),
        gives=gives(
            {},
            {
                "tasks": TASKS,
                "matching": count(),
                "counts": {"type": "object"},
                "graph": text(),
                "events": TASKS,
                "next_after": count(),
            },
        ),
        roles=EVERYBODY,
        reads_only=True,
    ),
    define(
        "board_show",
        "Show a task",
        "All about a task, long texts by their beginning. With part: that, from offset on.",
        _show,
        takes=takes({"id": ID}, {"part": choice(*PARTS, HISTORY), "offset": whole()}),
        gives=gives(
            {"id": text()},
            {"task": TASK, "text": text(), "length": count(), "events": TASKS, "next_offset": count()},
        ),
        roles=EVERYBODY,
        reads_only=True,
    ),
)
