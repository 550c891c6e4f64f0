"""A run for people: one line for an event, and the picture of where it stands. Pure, given a width and colours."""

from __future__ import annotations

from atm.board.rules.tasks import FAILED
from atm.board.rules.time_limits import standing_in_words
from atm.core.plain import counted
from atm.core.untrusted_text import one_line, shell_words
from atm.crew.rules.agents import KILLED_BY, killed_in_words
from atm.mail.rules.messages import PLAN, SHUTDOWN_ANSWER
from atm.merges.rules.items import FAILED as MERGE_FAILED
from atm.merges.rules.items import MERGING
from atm.merges.rules.shown_state import CONFLICT, shown_state
from atm.runs.formats.report_text import seconds_in_words, spent_in_words
from atm.runs.rules import memory as kinds
from atm.ui.views.board.failures import failure_lines, way_back
from atm.ui.views.fitting import cut
from atm.ui.views.looks import look
from atm.ui.views.style import BLUE, BOLD, DIM, GREEN, RED, YELLOW, width_of
from atm.ui.views.team.signs import cell_sign

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from atm.core.plain import Plain
    from atm.runs.rules.memory import RunEvent, RunMemory
    from atm.runs.rules.orders import RunOrder
    from atm.runs.rules.view import AgentView, RunView

    Paint = Callable[..., str]

LONGEST_BAR = 40
TOLD_AFTER = 10.0
"""Seconds on a task after which the time is told."""
SHOWN_LINES, SHOWN_AT_END = 8, 3
"""Lines of output that are shown of a failure as it happens, and once more at the end."""
NARROW = 50
"""Columns below which only the count is shown."""


def event_line(event: RunEvent, titles: Mapping[str, str], reader: str = "") -> tuple[str, str] | None:
    """What happened, in words for a reader of this name, and its colour; None for what nobody needs to hear."""
    if event.kind == kinds.STOPPED:
        return _stopped(event, titles, reader)
    words = _WORDS.get(event.kind)
    return words(event, titles) if words is not None else None


def _task(id: str, titles: Mapping[str, str]) -> str:
    title = one_line(titles.get(id, ""))
    return f"#{one_line(id)} {title}".rstrip()


def _who(event: RunEvent) -> str:
    return one_line(event.subject)


def _spawned(event: RunEvent, titles: Mapping[str, str]) -> tuple[str, str] | None:
    if not event.detail.get("pid"):
        return None
    again = " again" if event.detail.get("restart") else ""
    what = f" for {_task(event.text('task'), titles)}" if event.text("task") and event.text("worktree") else ""
    return f"  ⟳ {_who(event)} starts{again}{what}", DIM


def _claimed(event: RunEvent, titles: Mapping[str, str]) -> tuple[str, str]:
    return f"  ◉ {one_line(event.text('owner'))} takes {_task(event.subject, titles)}", BLUE


def _completed(event: RunEvent, titles: Mapping[str, str]) -> tuple[str, str]:
    commit = event.text("commit")[:8]
    where = f"  {commit}" if event.text("branch") else ""
    return (
        f"  ✓ {one_line(event.text('by'))} {_task(event.subject, titles)}  {_took(event)}{where}",
        GREEN,
    )


def _took(event: RunEvent) -> str:
    return seconds_in_words(event.number("seconds"))


def _failed(event: RunEvent, titles: Mapping[str, str]) -> tuple[str, str]:
    is_final = bool(event.detail.get("final"))
    end = "failed for good" if is_final else f"failed, attempt {int(event.number('attempt'))}"
    lines = [f"  ✗ {_task(event.subject, titles)} {end}", *failure_lines(event.text("error"), SHOWN_LINES)]
    lines += [f"      the way back: {way_back(event.subject)}"] if is_final else []
    return "\n".join(lines), RED


def _message(event: RunEvent, titles: Mapping[str, str]) -> tuple[str, str] | None:
    """What is for people. What programs tell each other is told by what comes of it."""
    if event.text("type") == PLAN:
        return f"  ✎ {_who(event)} hands in a plan for {_task(event.text('task_id'), titles)}", YELLOW
    return (
        None if event.text("type") == SHUTDOWN_ANSWER else (f"  ✉ {_who(event)}: {one_line(event.text('text'))}", DIM)
    )


def _error(event: RunEvent, titles: Mapping[str, str]) -> tuple[str, str]:
    what = f" at {_task(event.text('task'), titles)}" if event.text("task") else ""
    return f"  ▲ {_who(event)} is gone{what}: {one_line(event.text('error'))[:100]}", RED


def _refused(event: RunEvent, titles: Mapping[str, str]) -> tuple[str, str] | None:
    """It is tried again every half a minute: the same reason is told once."""
    if event.detail.get("again"):
        return None
    return f"  ◆ {_task(event.subject, titles)} cannot be begun: {one_line(event.text('why'))}", YELLOW


def _returned(event: RunEvent, titles: Mapping[str, str]) -> tuple[str, str] | None:
    if event.text("why"):
        return _refused(event, titles)
    return f"  ○ {_task(event.subject, titles)} goes back to the board", DIM


def _not_started(event: RunEvent, titles: Mapping[str, str]) -> tuple[str, str] | None:
    if event.detail.get("again"):
        return None
    what = f" for {_task(event.text('task'), titles)}" if event.text("task") else ""
    return f"  ▲ {_who(event)} could not be started{what}: {one_line(event.text('error'))[:200]}", YELLOW


def _stopped(event: RunEvent, titles: Mapping[str, str], reader: str) -> tuple[str, str] | None:
    """Told only where a person or the lead ended it; agents end by themselves all the time."""
    error = event.text("error")
    if not error.startswith(KILLED_BY):
        return None
    what = f" at {_task(event.text('task'), titles)}" if event.text("task") else ""
    by = killed_in_words(error.removeprefix(KILLED_BY), reader)
    return f"  ▲ {_who(event)} was {one_line(by)[:100]}{what}", YELLOW


def _plain(sign: str, text: str, colour: str) -> Callable[[RunEvent, Mapping[str, str]], tuple[str, str]]:
    def words(event: RunEvent, titles: Mapping[str, str]) -> tuple[str, str]:
        facts = {key: one_line(str(value)) for key, value in event.detail.items()}
        return f"  {sign} " + text.format_map(
            _Facts(facts, who=_who(event), task=_task(event.text("task") or event.subject, titles))
        ), colour

    return words


class _Facts(dict[str, str]):
    """What an event does not say is left out."""

    def __init__(self, facts: Mapping[str, str], **more: str) -> None:
        super().__init__({**facts, **more})

    def __missing__(self, key: str) -> str:
        return ""


def _merged(event: RunEvent, titles: Mapping[str, str]) -> tuple[str, str]:
    lost = f"; {len(what)} lost" if isinstance(what := event.detail.get("lost"), list) else ""
    how = "  its conflict is resolved" if event.detail.get("resolved") else ""
    return f"  ⇥ merged {_task(event.subject, titles)}  {event.text('commit')[:8]}{how}{lost}", GREEN


def _in_conflict(event: RunEvent, titles: Mapping[str, str]) -> tuple[str, str]:
    files = event.detail.get("files")
    where = ", ".join(one_line(str(one)) for one in files[:3]) if isinstance(files, list) else ""
    why = f": {one_line(event.text('why'))}" if event.text("why") else f" in {where}: somebody resolves it"
    return f"  {look(CONFLICT).symbol} {_task(event.subject, titles)} is in conflict{why}", RED


_WORDS: dict[str, Callable[[RunEvent, Mapping[str, str]], tuple[str, str] | None]] = {
    kinds.STARTED: _plain("▸", "run {who}", BOLD),
    kinds.RESUMED: _plain("▸", "run {who} goes on", BOLD),
    kinds.PAUSED: _plain("▸", "run {who} stops for now: {why}", BOLD),
    kinds.SPAWNED: _spawned,
    kinds.CLAIMED: _claimed,
    kinds.COMPLETED: _completed,
    kinds.FAILED: _failed,
    kinds.ERROR: _error,
    kinds.UNREACHABLE: _plain("✗", "{task} can never be done: {why}", RED),
    kinds.CANCELLED: _plain("·", "{task} was cancelled", DIM),
    kinds.RETURNED: _returned,
    kinds.REFUSED: _refused,
    kinds.NOT_STARTED: _not_started,
    kinds.CLEARED: _plain("·", "{text}", DIM),
    kinds.ASKED: _plain("?", "{who} was asked how {task} stands", YELLOW),
    kinds.ANSWERED: _plain("?", "{who} is still at it", DIM),
    kinds.CLOSED: _plain("▲", "{who} gets nothing more: {why}", RED),
    kinds.MESSAGE: _message,
    kinds.APPROVAL_ASKED: _plain("◆", "{by} asks for approval {who}", YELLOW),
    kinds.APPROVAL_DECIDED: _plain("◆", "approval {who}: {state}", YELLOW),
    kinds.WARNED: _plain("▲", "budget of {who}: {text}", YELLOW),
    kinds.EXCEEDED: _plain("▲", "budget of {who} is used up: {text}", RED),
    kinds.WAITS: _plain("◆", "{text}", YELLOW),
    kinds.SLEPT: _plain("·", "the machine slept for {seconds} s, which nobody is charged for", DIM),
    kinds.RESOLVED: _plain("✓", "{text}", GREEN),
    kinds.REOPENED: _plain("○", "{task} is opened again", YELLOW),
    kinds.COLLIDE: _plain("⚔", "{text}", YELLOW),
    "merge.merged": _merged,
    "merge.conflict_detected": _in_conflict,
    "merge.failed": _plain("✗", "{task} is not merged: {why}", RED),
}


def progress(
    order: RunOrder,
    memory: RunMemory,
    view: RunView,
    paint: Paint,
    width: int,
    now: float,
    said: Mapping[str, str] | None = None,
) -> list[str]:
    """
    Where it stands: a head with a cell for each task, a line for each agent, what is merged just now, and what waits
    for a person. `said` is the last line of each agent's output: whoever is at work has it below.
    """
    cards = view.cards(order)
    board = view.board.with_merges(view.merges)
    states = [shown_state(card, board).state for card in cards]
    cells = [(cell_sign(state).mark, look(state).codes) for state in states]
    most = max(10, min(LONGEST_BAR, width - 45))
    bar = "".join(paint(sign, *codes) for sign, codes in cells[:most]) + ("…" if len(cells) > most else "")
    done = f"{sum(board.is_done(card.id) for card in cards)} of {len(cards)} done"
    if order.merges:
        done += f", {sum(one.get('status') == 'merged' for one in memory.merges.values())} merged"
    took = seconds_in_words(memory.seconds(now))
    room = width - width_of(f"   {cut(order.team, 20)}    {done}  {took}")
    bar = f"{bar}  " if min(len(cells), most + 1) <= room else ""
    head = (
        f" {paint(cut(order.team, 20), BOLD)}  {bar}{done}  {took}" if width >= NARROW else cut(f" {done}", width - 1)
    )
    lines = ["", head]
    for seat in order.everybody:
        agent = view.agents.get(seat.name)
        lines.append(_agent_line(seat.name, seat.runtime, agent, memory, view, paint, width, now))
        if agent is not None and agent.is_at_work and (last := (said or {}).get(seat.name)):
            lines.append(paint(cut(f"   └ {one_line(last)}", width - 1), DIM))
    titles = {card.id: card.subject for card in cards}
    for id, item in memory.merges.items():
        if item.get("status") == MERGING:
            lines.append(paint(cut(f" ⇥ merging {_task(id, titles)}", width - 1), BLUE))
    return [*lines, *(paint(cut(f" ◆ {text}", width - 1), YELLOW) for text in for_people(order, memory, view))]


def _agent_line(
    name: str,
    runtime: str,
    agent: AgentView | None,
    memory: RunMemory,
    view: RunView,
    paint: Paint,
    width: int,
    now: float,
) -> str:
    known = memory.seat(name)
    sign, word, colour = _looks(agent, known.closed)
    card = view.board.cards.get(int(agent.task)) if agent is not None and agent.task.isdecimal() else None
    what = known.closed
    if card is not None and not (agent and agent.is_over):
        time = _time_on_task(agent, now)
        what = f"#{card.id} {f'{time}: ' if time else ''}{one_line(card.subject)}"
    left = f" {sign} {pad(name, 8)} {pad(runtime, 8)} {pad(word, 9)} "
    left = cut(left, width - 1)
    return paint(left, colour) + cut(one_line(what), max(0, width - width_of(left) - 1))


def _time_on_task(agent: AgentView | None, now: float) -> str:
    """`12 min of 1h, no output for 8 min`; empty for the first seconds."""
    if agent is None or not agent.task_since or now - agent.task_since < TOLD_AFTER:
        return ""
    silent = now - agent.output_at if agent.output_at else None
    return standing_in_words(now - agent.task_since, agent.task_limit, silent)


def _looks(agent: AgentView | None, closed: str) -> tuple[str, str, str]:
    if closed:
        return "▲", "closed", RED
    if agent is None or agent.is_over:
        return "○", "ready", DIM
    if agent.waits:
        return "◆", "waits", YELLOW
    if agent.is_starting:
        return "⟳", "starts", DIM
    if agent.state == "planning":
        return "✎", "plans", YELLOW
    return ("◉", "works", BLUE) if agent.is_at_work else ("○", "idle", DIM)


def for_people(order: RunOrder, memory: RunMemory, view: RunView) -> list[str]:
    """What only a person can do, each with the command."""
    team = shell_words(order.team)
    said = [
        f"{who} asks: atm approvals show {shell_words(id[:8])} --team {team}"
        for id, (who, state) in view.approvals.items()
        if state == "waiting"
    ]
    for id, item in view.held_up.items():
        waiting = [
            f"#{card.id}" for card in view.cards(order) if not card.is_finished and id in view.board.blockers(card)
        ]
        why = f"is in conflict in {', '.join(map(one_line, item.conflicts[:3]))}" if item.conflicts else "is not merged"
        after = f"; {', '.join(waiting[:5])} {'waits' if len(waiting) == 1 else 'wait'} for it" if waiting else ""
        verb = "retry" if item.status == MERGE_FAILED else "resolve"
        said.append(f"#{id} {why}{after}: atm merge {verb} {id} --team {team}")
    for card in view.cards(order):
        if card.is_finished:
            continue
        if card.plan == "submitted":
            said.append(
                f"#{card.id} has a plan: atm tasks show {card.id} --team {team}; "
                f"atm tasks plan approve {card.id} --team {team}"
            )
        elif card.needs:
            said.append(
                f"#{card.id} asks: atm tasks show {card.id} --team {team}; "
                f"atm tasks clarify {card.id} --answer TEXT --team {team}"
            )
        elif refused := memory.task(card.id).refused:
            hint = f"; atm tasks allow {card.id} --team {team}" if view.fact(card.id).untrusted else ""
            said.append(f"#{card.id}: {one_line(refused)}{hint}")
    return said


_NOT_COMPLETED = (("unreachable", "unreachable"), ("cancelled", "cancelled"), ("needs_human", "need a person"))


def summary(facts: Mapping[str, Plain], paint: Paint) -> list[str]:
    """The report in a few lines."""
    tasks = facts["tasks"] if isinstance(facts["tasks"], dict) else {}
    states = ("completed", "failed", "unreachable", "cancelled", "open")
    counts = {key: len(found) if isinstance(found := tasks.get(key), list) else 0 for key in states}
    total = sum(counts.values())
    outcome = one_line(str(facts["outcome"]))
    colour = {"success": GREEN, "failed": RED}.get(outcome, YELLOW)
    why = f" ({one_line(str(facts['why']))})" if facts.get("why") else ""
    took = seconds_in_words(facts["seconds"])
    less = f", {counts['cancelled']} cancelled," if counts["cancelled"] else ""
    lines = [f"{paint(outcome, colour, BOLD)}{why}: {counts['completed']} of {counted(total, 'task')}{less} in {took}"]
    for row in _dicts(facts.get("failures")):
        if row.get("state") == FAILED:
            lines.append(f"  failed: #{one_line(str(row['task']))} {one_line(str(row['subject']))}")
            lines += failure_lines(str(row.get("why") or ""), SHOWN_AT_END)
            lines.append(f"      the way back: {way_back(str(row['task']), str(facts['team']))}")
    for key, word in _NOT_COMPLETED:
        found = tasks.get(key)
        if isinstance(found, list) and found:
            lines.append(f"  {word}: {', '.join(f'#{one_line(str(id))}' for id in found)}")
    overhead = facts.get("overhead")
    restarts = sum(int(str(row.get("restarts") or 0)) for row in _dicts(facts.get("agents")))
    tokens, cost = spent_in_words(facts)
    idle = overhead.get("seconds") if isinstance(overhead, dict) else "?"
    lines.append(f"  restarts {restarts}; tokens {tokens}, cost {cost}; coordination {idle} s")
    into, merged, left = facts.get("into"), _dicts(facts.get("merged")), _dicts(facts.get("conflicts"))
    branches = [str(row["branch"]) for row in _dicts(facts.get("branches")) if row.get("branch")]
    if isinstance(into, dict):
        lines.append(f"  merged: {len(merged)} into {one_line(str(into['branch']))} ({str(into['head'] or '')[:12]})")
    if left:
        ids = ", ".join(f"#{one_line(str(row.get('task')))}" for row in left)
        lines.append(f"  not merged: {ids}; see `atm merge`")
    if branches and not isinstance(into, dict):
        more = f" and {len(branches) - 3} more" if len(branches) > 3 else ""
        lines.append(f"  branches: {', '.join(map(one_line, branches[:3]))}{more}")
    lines.append(f"  report: {one_line(str(facts['report']))}")
    return [*lines, f"  resume it: {one_line(str(facts['resume']))}"] if facts.get("resume") else lines


def _dicts(value: Plain) -> list[dict[str, Plain]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def pad(text: str, width: int) -> str:
    said = cut(one_line(text), width)
    return said + " " * (width - width_of(said))
