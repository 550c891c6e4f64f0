"""`atm tasks` list, show, graph, history."""

from __future__ import annotations

from atm.board.rules.acceptance import reason_and_output
from atm.board.rules.reviews import current_reviewer
from atm.board.rules.tasks import FAILED
from atm.board.rules.time_limits import limit_in_words
from atm.board.services.boardroom import list_name
from atm.core.errors import UsageError
from atm.core.names import same_name
from atm.core.plain import counted, dicts_in
from atm.core.untrusted_text import many_lines, one_line
from atm.core.work_errors import BadTask
from atm.merges.rules.shown_state import shown_counts, shown_state
from atm.ui.cli.board.view import board_of, card_json, checks_json, task_json, task_meant, tries_of
from atm.ui.cli.render import Style, when
from atm.ui.verbs.verb import ids
from atm.ui.views.board.failures import way_back
from atm.ui.views.fitting import last_lines
from atm.ui.views.looks import LOOKS, look, meant, spelled, word_of
from atm.ui.views.style import BOLD, DIM
from atm.ui.views.tables import laid_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.formats.task_history import Past
    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Card, Task
    from atm.core.plain import Plain, Record
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session

SHOWN_EVENTS = 12
SHOWN_OUTPUT = 12
"""Lines of output that are shown of a failure."""
SHOWN_FACTS = ("reason", "reviewer", "whom", "error", "note")
LONGEST_ID = 20
"""Characters of an id that another program wrote."""


def _list(args: Args, session: Session) -> int:
    team = list_name(session.boardroom, session.team(args))
    board = board_of(session, team).turn_around()
    cards = _wanted(args, board)
    if session.as_json:
        session.print_json({"action": "list", "team": team, "tasks": [card_json(card, board) for card in cards]})
        return 0
    if not cards:
        hint = 'atm tasks add "What is to be done"'
        session.print("No task is like that." if board.cards else f"No tasks yet: {hint}")
        return 0
    style = Style(session)
    for line in board_lines(board, cards, style):
        session.print(line)
    session.print("\n" + style(f"  {summary(board)}", DIM))
    return 0


def _wanted(args: Args, board: Board) -> list[Card]:
    states, owner = [meant(word) for word in args.many("state")], args.text("owner")
    for state in states:
        if state not in LOOKS:
            raise UsageError(f"{spelled(state)!r} is no state", f"use one of {', '.join(map(word_of, LOOKS))}")
    cards = [card for card in board.sorted() if args.flag("all") or not card.is_hidden]
    if states:
        cards = [card for card in cards if not {board.state(card), shown_state(card, board).state}.isdisjoint(states)]
    if owner:
        cards = [card for card in cards if same_name(card.owner, owner)]
    limit = args.whole("limit")
    return cards if limit is None else cards[:limit]


def board_lines(board: Board, cards: list[Card], style: Style) -> list[str]:
    """A table; blocked looks different from pending, and says by what."""
    states = [shown_state(card, board) for card in cards]
    rows = [
        [
            f"#{card.id}",
            f"{look(now.state).symbol} {now.word}",
            card.priority if card.priority != "normal" else "",
            card.owner or "-",
            card.subject or card.problem,
            _why_waiting(board, card),
        ]
        for card, now in zip(cards, states, strict=True)
    ]
    heads = ["Id", "State", "Priority", "Owner", "Subject", "Waits for"]
    head, rule, groups = laid_out(heads, rows, right=(0,), drop=(2, 5, 3))
    colours = [look(now.state).codes for now in states]
    shown = [style(line, *codes) for lines, codes in zip(groups, colours, strict=True) for line in lines]
    return [style(head, BOLD), rule, *shown]


def _why_waiting(board: Board, card: Card) -> str:
    if card.is_finished or card.problem:
        return ""
    if card.number in board.lost():
        return board.lost()[card.number]
    if card.needs:
        return f"an answer of the {card.needs}"
    if card.review == "review":
        return f"a review by {card.reviewer}" if card.reviewer else "a reviewer"
    if card.plan == "submitted":
        return "approval of its plan"
    missing = [one_line(id)[:LONGEST_ID] for id in board.broken_blockers(card)]
    waits = [id for id in board.open_blockers(card) if board.is_there(id)]
    parts = [ids(waits, 5), f"{ids(missing, 5)} (missing)" if missing else ""]
    return " ".join(part for part in parts if part)


def summary(board: Board) -> str:
    """How many in each state, and how far it is."""
    counts = shown_counts(board)
    total, done = sum(counts.values()), board.counts().get("completed", 0)
    parts = [f"{look(state).symbol} {count} {one_line(word_of(state))}" for state, count in counts.items()]
    return f"{done} of {total} done   " + "   ".join(parts)


def _show(args: Args, session: Session) -> int:
    team = list_name(session.boardroom, session.team(args))
    id = task_meant(args, session, team)
    task, board = session.boardroom.tasks.read(team, id), board_of(session, team)
    board.cards[task.number] = task
    reviewer = current_reviewer(task)
    if session.as_json:
        shown: dict[str, Plain] = {**task_json(session, team, task, board), "events": [*task.events]}
        shown["file"] = session.boardroom.tasks.path(team, id)
        shown["currentReviewer"], shown["diagnostics"] = reviewer.name, [*reviewer.diagnostics]
        session.print_json({"action": "show", "team": team, "task": shown})
        return 0
    for line in _details(session, team, task, board):
        session.print(line)
    return 0


def _details(session: Session, team: str, task: Task, board: Board) -> list[str]:
    style, now = Style(session), shown_state(task, board)
    head = f"{look(now.state).symbol} #{task.id} {style(one_line(task.subject), BOLD)}"
    facts = {
        "state": now.word + (f" ({why})" if (why := _why_waiting(board, task)) else ""),
        "owner": task.owner or "-",
        "priority": task.priority,
        "depends on": ids(board.blockers(task)) or "-",
        "needed by": ids([card.id for card in board.dependants(task.id)]) or "-",
        "review": f"approved by {task.reviewer}" if task.review == "approved" else "",
        "not begun": _word(task.part("refused"), "why"),
        "attempts": f"{task.failures} failed of {task.max_retries + 1}",
        "files": ", ".join(task.files),
        "runtime": task.runtime,
        "limit": _limit(session, task),
        "plan's id": task.key,
        "question": _word(task.part("clarification"), "question") if task.needs else "",
        "result": task.text("result"),
        "proof": "none: it was completed without its checks" if task.part("unverified") else "",
    }
    lines = [head, *(f"  {key:<11} {one_line(value)}" for key, value in facts.items() if value)]
    if task.description:
        lines += ["", *(f"  {line}" for line in many_lines(task.description).split("\n"))]
    lines += _failure_lines(session, task)
    lines += _plan_lines(task) + run_lines(session, team, task) + check_lines(session, team, task)
    for comment in task.comments:
        lines += ["", f"  {style(_word(comment, 'by'), BOLD)} {style(when(session, _word(comment, 'at')), DIM)}"]
        lines += [f"    {line}" for line in many_lines(_word(comment, "text")).split("\n")]
    if task.events:
        lines.append("")
        lines += [f"  {event_line(session, event)}" for event in task.events[-SHOWN_EVENTS:]]
    return lines


def _limit(session: Session, task: Task) -> str:
    """How long one attempt may take, and where that is said."""
    if task.timeout is not None:
        return f"{limit_in_words(task.timeout)} for each attempt"
    if not task.run:
        return "no limit for each attempt (timeout)"
    return f"{limit_in_words(session.settings.number('crew.task_minutes') * 60)} for each attempt (crew.task_minutes)"


def _failure_lines(session: Session, task: Task) -> list[str]:
    """What each attempt failed of; of the last one with the end of its output, and how the task comes back."""
    tries = tries_of(task)
    error, lines = task.text("error"), []
    if not tries and error:  # it failed under an earlier version of atm
        reason, output = reason_and_output(error)
        tries = [{"error": reason, "output": output}]
    for at, one in enumerate(tries, 1):
        by, when_it_was = _word(one, "by"), when(session, _word(one, "at")) if _word(one, "at") else ""
        who = f" by {by}, {when_it_was}" if by else ""
        lines.append(one_line(f"    attempt {_word(one, 'attempt') or '?'}{who}: {_word(one, 'error')}"))
        if at == len(tries):
            lines += [f"      | {line}" for line in last_lines(_word(one, "output"), SHOWN_OUTPUT)]
    if task.outcome == FAILED:
        lines.append(f"    failed for good; the way back: {way_back(task.id)}")
    return ["", "  failed:", *lines] if lines else []


def _plan_lines(task: Task) -> list[str]:
    plan = task.part("plan")
    if not plan:
        return []
    lines = ["", f"  plan: {one_line(_word(plan, 'state'))}"]
    lines += [f"    {line}" for line in many_lines(_word(plan, "text")).split("\n") if line]
    feedback = _word(plan, "feedback")
    return [*lines, f"    feedback: {one_line(feedback)}"] if feedback else lines


def check_lines(session: Session, team: str, task: Task) -> list[str]:
    """What proves it, and whose words the commands are."""
    from atm.board.rules.acceptance import describe

    proven = dicts_in(task.details.get("evidence"))
    signs = {describe(item): "✓" for item in proven if item.get("ok") is True}
    if failed := task.part("lastCheck"):
        signs[describe(failed)] = "✗"
    lines = []
    for check in checks_json(session, team, task, task.acceptance):
        lines.append(f"    {signs.get(describe(check), '○')} {one_line(describe(check))}{_whose(check)}")
        if failed and describe(failed) == describe(check) and not task.outcome:
            lines += [f"      | {line}" for line in last_lines(_word(failed, "output"), SHOWN_OUTPUT)]
    return ["", "  completed when:", *lines] if lines else []


def run_lines(session: Session, team: str, task: Task) -> list[str]:
    """What does it."""
    from atm.board.rules.acceptance import about

    commands = checks_json(session, team, task, task.run)
    lines = [f"    $ {one_line(about(command))}{_whose(command)}" for command in commands]
    return ["", "  run:", *lines] if lines else []


def _whose(check: dict[str, Plain]) -> str:
    return one_line("" if "trusted" not in check else f" ({check['by']}'s)" if check["trusted"] else " (not trusted)")


def event_line(session: Session, event: Record) -> str:
    """One event in one line."""
    kind, who = _word(event, "type"), _word(event, "actor") or "atm"
    facts = []
    if event.get("to"):
        facts.append(
            spelled(
                f"{_word(event, 'from') or '?'} → {_word(event, 'to')}" if event.get("from") else _word(event, "to")
            )
        )
    facts += [f"{key}: {_first_line(_word(event, key))}" for key in SHOWN_FACTS if event.get(key)]
    for key in ("added", "removed", "parts", "dependsOn"):
        value = event.get(key)
        if isinstance(value, list) and value:
            facts.append(f"{key} {ids([str(id) for id in value])}")
    if event.get("unverified"):
        facts.append("unverified: without its checks")
    return one_line(
        f"{when(session, _word(event, 'at')):<10} {who:<12} {kind.replace('_', ' ')} {'; '.join(facts)}"
    ).rstrip()


def _first_line(text: str) -> str:
    """The rest of an error is output, which `atm tasks show` shows line by line."""
    return text.strip().partition("\n")[0]


def _word(record: Record, key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else "" if value is None else str(value)


def _history(args: Args, session: Session) -> int:
    team = list_name(session.boardroom, session.team(args))
    wanted = task_meant(args, session, team) if args.given("id") else None
    found, torn = session.boardroom.tasks.past(team)
    past = [one for one in found if wanted is None or one.task == wanted]
    limit = args.whole("limit")
    if limit is not None:
        past = past[-limit:] if limit else []
    if wanted is not None and not past:
        session.boardroom.tasks.board(team).card(wanted)  # says that there is no such task
    if session.as_json:
        events = [{"seq": one.seq, "task": one.task, **one.event, "after": one.after} for one in past]
        session.print_json({"action": "history", "team": team, "events": events, "unreadable_lines": torn})
        return 0
    for one in past:
        session.print(_past_line(session, one))
    if not found:
        session.print("Nothing has happened yet.")
    if torn:
        session.warn(f"note: {counted(torn, 'line')} of the history could not be read")
    return 0


def _past_line(session: Session, one: Past) -> str:
    return f"#{one.task:<5} {event_line(session, one.event)}"


def _graph(args: Args, session: Session) -> int:
    from atm.ui.views.board.graph_drawing import as_dot, as_svg, as_text
    from atm.ui.views.board.graph_layout import Node

    team = list_name(session.boardroom, session.team(args))
    board = board_of(session, team)
    nodes = [
        Node(card.id, card.subject, shown_state(card, board).state, card.owner, board.blockers(card))
        for card in board.sorted()
        if not card.is_hidden
    ]
    kind = args.text("format") or "text"
    if kind == "text":
        drawn = as_text(nodes, Style(session), _width()) or "No tasks yet."
    else:
        drawn = as_dot(nodes) if kind == "dot" else as_svg(nodes, team)
    return _put(args, session, team, kind, drawn, len(nodes))


def _width() -> int:
    from shutil import get_terminal_size

    return max(60, get_terminal_size((100, 24)).columns)


def _put(args: Args, session: Session, team: str, kind: str, drawn: str, count: int) -> int:
    path = args.text("output")
    if path is not None:
        try:
            with open(path, "w", encoding="utf-8", errors="replace") as file:
                file.write(drawn if drawn.endswith("\n") else drawn + "\n")
        except OSError as error:
            raise BadTask(f"{path}: {error.strerror}", "name a file in a folder that exists", path) from None
    result: dict[str, object] = {"action": "graph", "team": team, "format": kind, "tasks": count, "path": path}
    if session.as_json:
        session.print_json(result if path is not None else {**result, "graph": drawn})
    else:
        session.print(f"drew {counted(count, 'task')} into {path}" if path is not None else drawn)
    return 0


EXECUTE = {"tasks list": _list, "tasks show": _show, "tasks history": _history, "tasks graph": _graph}
