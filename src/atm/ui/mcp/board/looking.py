"""Tools that show the board: list, show, history, graph. They change nothing, and everybody may look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.domain.board.tasks import PRIORITIES, task_id
from atm.domain.errors import NoSuchTeam
from atm.domain.names import same_name
from atm.services.board.boardroom import list_name
from atm.ui.mcp.board.changes import whose
from atm.ui.mcp.board.view import PARTS, TASK, TASKS, counts, details, event_fields, long_text, preview
from atm.ui.mcp.definition import define
from atm.ui.mcp.schema import choice, count, gives, listed, many, takes, text, whole, yes_no
from atm.ui.mcp.tool import EVERYBODY
from atm.ui.mcp.wording import NOTICE, body, piece
from atm.ui.views.board.graph_drawing import as_text
from atm.ui.views.board.graph_layout import Node
from atm.ui.views.board.looks import STATES

if TYPE_CHECKING:
    from atm.domain.board.dependencies import Board
    from atm.domain.board.tasks import Card
    from atm.domain.plain import Plain
    from atm.ui.mcp.caller import Caller
    from atm.ui.verbs.verb import Given

MOST_LISTED = 50
MOST_EVENTS = 50
MOST_DRAWN = 150
"""Tasks in a drawing: more lines than an agent reads."""

LONGEST_DRAWING = 12_000
LONGEST_PIECE = 8_000
WIDTH = 100

ID = text()


def board_name(caller: Caller) -> str:
    """The list of the connection's team, also of a session that has ended."""
    if not caller.team:
        raise NoSuchTeam("this connection belongs to no team", "start the server with `atm mcp --team NAME`")
    return list_name(caller.boardroom, caller.team)


def _list(caller: Caller, given: Given) -> dict[str, Plain]:
    board = caller.boardroom.tasks.board(board_name(caller))
    cards = _wanted(board, given)
    after, limit = given.whole("after"), given.whole("limit", 20)
    rest = [card for card in cards if card.number > after]
    shown = rest[:limit]
    more: dict[str, Plain] = {"next_after": shown[-1].number} if len(rest) > limit else {}
    more |= {"notice": NOTICE} if shown else {}
    tasks: list[Plain] = [preview(card, board) for card in shown]
    return {"tasks": tasks, "matching": len(cards), "counts": counts(board), **more}


def _wanted(board: Board, given: Given) -> list[Card]:
    cards = [card for card in board.sorted() if not card.is_hidden]
    states, priority = given.texts("state"), given.text("priority")
    if states:
        cards = [card for card in cards if board.state(card) in states]
    if priority:
        cards = [card for card in cards if card.priority == priority]
    if given.has("owner"):  # an empty one asks for what belongs to nobody
        cards = [card for card in cards if same_name(card.owner, given.text("owner"))]
    words = given.text("words").casefold().split()
    if words:
        cards = [card for card in cards if all(word in card.subject.casefold() for word in words)]
    return cards


def _show(caller: Caller, given: Given) -> dict[str, Plain]:
    team, id = board_name(caller), task_id(given.text("id"))
    task = caller.boardroom.tasks.read(team, id)
    if given.has("part"):
        part = given.text("part")
        shown = piece(long_text(task, part), given.whole("offset"), LONGEST_PIECE)
        return {"id": id, "part": part, **shown, "notice": NOTICE}
    board = caller.boardroom.tasks.board(team)
    board.cards[task.number] = task
    return {"id": id, "task": details(task, board, lambda check: whose(caller, team, task, check))}


def _history(caller: Caller, given: Given) -> dict[str, Plain]:
    """Oldest first, ending before the event that was named; without one, with the newest."""
    team = board_name(caller)
    wanted = task_id(given.text("id")) if given.has("id") else None
    found, torn = caller.boardroom.tasks.past(team)
    before = given.whole("before") if given.has("before") else None
    past = [one for one in found if wanted in (None, one.task) and (before is None or one.seq < before)]
    if wanted is not None and not past and before is None:
        caller.boardroom.tasks.board(team).card(wanted)  # says that there is no such task
    shown = past[-given.whole("limit", 20) :]
    events: list[Plain] = [{"seq": one.seq, "task": one.task, **event_fields(one.event)} for one in shown]
    result: dict[str, Plain] = {"events": events, "notice": NOTICE}
    if len(past) > len(shown):
        result["earlier_before"] = shown[0].seq
    if torn:
        result["unreadable_lines"] = torn
    return result


def _graph(caller: Caller, given: Given) -> dict[str, Plain]:
    board = caller.boardroom.tasks.board(board_name(caller))
    cards = [card for card in board.sorted() if not card.is_hidden and (given.flag("all") or not card.is_finished)]
    nodes = [
        Node(card.id, card.subject, board.state(card), card.owner, board.blockers(card)) for card in cards[:MOST_DRAWN]
    ]
    drawn = as_text(nodes, lambda part, *_: str(part), WIDTH) if nodes else "No tasks."
    whole_lines = drawn[:LONGEST_DRAWING].rpartition("\n")[0] if len(drawn) > LONGEST_DRAWING else drawn
    is_cut = len(cards) > MOST_DRAWN or whole_lines is not drawn
    more: dict[str, Plain] = {"hint": "the drawing is cut: use board_list"} if is_cut else {}
    return {"graph": body(whole_lines), "tasks": len(cards), "notice": NOTICE, **more}


TOOLS = (
    define(
        "board_list",
        "List tasks",
        "Tasks by number, one line each. An empty owner means nobody's. Next page: after = next_after.",
        _list,
        takes=takes(
            optional={
                "state": many(choice(*STATES), most=len(STATES)),
                "owner": text(),
                "priority": choice(*PRIORITIES),
                "words": text("in the subject", longest=200),
                "limit": whole("default 20", least=1, most=MOST_LISTED),
                "after": whole(),
            }
        ),
        gives=gives(
            {"tasks": TASKS, "matching": count(), "counts": {"type": "object"}},
            {"next_after": count()},
        ),
        roles=EVERYBODY,
        reads_only=True,
    ),
    define(
        "board_show",
        "Show a task",
        "Everything about a task, long texts by their beginning. With part: that text from offset on.",
        _show,
        takes=takes({"id": ID}, {"part": choice(*PARTS), "offset": whole()}),
        gives=gives(
            {"id": text()},
            {"task": TASK, "text": text(), "length": count(), "next_offset": count()},
        ),
        roles=EVERYBODY,
        reads_only=True,
    ),
    define(
        "board_history",
        "History",
        "What happened on the board, or to one task. Earlier page: before = earlier_before.",
        _history,
        takes=takes(
            optional={
                "id": text(),
                "limit": whole("default 20", least=1, most=MOST_EVENTS),
                "before": whole(),
            }
        ),
        gives=gives({"events": listed({"type": "object"})}, {"earlier_before": count()}),
        roles=EVERYBODY,
        reads_only=True,
    ),
    define(
        "board_graph",
        "Graph",
        "What waits for what, as text; with all, also finished tasks.",
        _graph,
        takes=takes(optional={"all": yes_no()}),
        gives=gives({"graph": text(), "tasks": count()}),
        roles=EVERYBODY,
        reads_only=True,
    ),
)
