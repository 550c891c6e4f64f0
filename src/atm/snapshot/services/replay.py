"""
A team as it was at any moment: told anew from ledger, history, audit and the runs' events.

Pure, over what was read. Only what was written down is known: a task that another program changed is seen from the
moment at which somebody noticed, and whoever was never heard of then is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from atm.approvals.rules.requests import ASKED
from atm.board.formats.task_history import VANISHED, card_then
from atm.board.rules.dependencies import Board
from atm.board.rules.tasks import COMPLETED
from atm.files.formats.times import from_iso
from atm.mail.formats.journal import MESSAGE
from atm.mail.rules.receipts import ARCHIVED, RESTORED, RETURNED
from atm.merges.rules.items import STATUSES, MergeItem, MergeQueue
from atm.merges.rules.shown_state import shown_state
from atm.runs.rules.limits import Spent
from atm.runs.rules.memory import ERROR, STOPPED, spent_of
from atm.runs.rules.report import spent_fields
from atm.snapshot.services.happenings import happenings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from atm.board.formats.task_history import Past
    from atm.board.rules.tasks import Card
    from atm.core.plain import Plain, Record
    from atm.mail.formats.journal import Entry
    from atm.runs.rules.memory import RunEvent

GRAIN = 0.001
"""Events of runs are kept to the millisecond."""
HAVE_READ = ("read", "answered", ARCHIVED)
MOST_MARKS = 5000
JUST = 30
"""Things that happened just before a moment, as many as are told with it."""
RESTS = 600.0
"""Seconds without anything, after which a team rests."""
STEPS = 60
"""Columns of a chart over time."""


@dataclass(frozen=True, slots=True)
class TeamMark:
    """Something that happened, at a second of this machine's clock."""

    at: float
    kind: str
    who: str
    what: str
    about: str

    def fields(self) -> dict[str, Plain]:
        return {"at": self.at, "kind": self.kind, "who": self.who, "what": self.what, "about": self.about}


@dataclass(slots=True)
class TeamPast:
    """Everything that was written down of a team."""

    entries: Sequence[Entry]
    past: Sequence[Past]
    audit: Sequence[Record]
    events: Sequence[RunEvent]
    waits: dict[str, list[str]] = field(default_factory=dict)
    """What tasks wait for, as the board says it today: the history does not tell."""
    commands: dict[str, str] = field(default_factory=dict)
    """What requests were for, by their ids; the audit tells who decided, and why."""

    def marks(self) -> list[TeamMark]:
        told = happenings(self.entries, self.past, self.audit, MOST_MARKS)
        found = [
            TeamMark(at, one.kind, one.who, one.what, one.about) for one in told if (at := from_iso(one.at)) is not None
        ]
        return sorted([*found, *_run_marks(self.events)], key=lambda mark: mark.at)[-MOST_MARKS:]

    def at(self, moment: float, marks: Sequence[TeamMark]) -> dict[str, Plain]:
        """The team as it stood then."""
        before = [mark for mark in marks if mark.at <= moment]
        merges = _merges(self.events, self.past, moment)
        return {
            "moment": moment,
            "tasks": [*_tasks(self.past, self.waits, [*merges.values()], moment)],
            "members": [*_members(self.entries, self.events, before, moment)],
            "approvals": [*_approvals(self.audit, self.commands, moment)],
            "merges": [{"task": task, "status": item.status} for task, item in merges.items()],
            "happened": [mark.fields() for mark in before[-JUST:]],
        }


def _run_marks(events: Iterable[RunEvent]) -> Iterator[TeamMark]:
    """What only a run tells: merging, agents that come and go, its own beginning and end."""
    for event in events:
        if event.kind.startswith(("task.", "approval.")) or event.kind == "agent.message":
            continue
        kind = event.kind.partition(".")[0]
        task = event.text("task") or (event.subject if kind == "merge" else "")
        who = {"merge": event.text("by"), "run": "", "budget": ""}.get(kind, event.subject)
        yield TeamMark(event.at, kind, who or "atm", _told(event, kind), task or event.subject)


def _told(event: RunEvent, kind: str) -> str:
    word = event.kind.partition(".")[2].replace("_", " ")
    about = f"#{event.subject} " if kind == "merge" else ""
    rivals, files = (event.detail.get(key) for key in ("with", "files"))
    facts = [event.text(key) for key in ("why", "text", "outcome") if event.text(key)]
    if isinstance(rivals, list) and rivals:
        facts.append("with " + ", ".join(f"#{id}" for id in rivals))
    if isinstance(files, list) and files:
        facts.append("in " + ", ".join(str(path) for path in files))
    return f"{about}{word} {'; '.join(facts)}".strip()


def _tasks(
    past: Iterable[Past], waits: dict[str, list[str]], merges: Sequence[MergeItem], moment: float
) -> Iterator[dict[str, Plain]]:
    """Shown as a board of that moment is shown, by the same rule."""
    found: dict[str, Card] = {}
    for one in past:
        at = from_iso(one.word("at"))
        if at is None or at > moment:
            continue
        if one.word("type") == VANISHED:
            found.pop(one.task, None)
        else:
            found[one.task] = card_then(one, waits.get(one.task, []))
    queue = MergeQueue(team="", items=[*merges])
    for item in queue.items:
        card = found.get(item.task)
        item.head = card.work if card is not None else ""
    board = Board({card.number: card for card in found.values()}).with_merges(queue)
    for card in board.sorted():
        yield {
            "id": card.id,
            "subject": card.subject,
            "state": board.state(card),
            "shown": shown_state(card, board).fields(),
            "owner": card.owner or None,
            "blocked_by": [*card.blocked_by],
        }


def _members(
    entries: Iterable[Entry], events: Iterable[RunEvent], marks: Iterable[TeamMark], moment: float
) -> Iterator[dict[str, Plain]]:
    """Who was heard of by then: unread mail by the ledger, what they did by the run."""
    unread: dict[str, set[str]] = {}
    for entry in entries:
        at = from_iso(entry.at)
        if at is None or at > moment or not entry.agent:
            continue
        box = unread.setdefault(entry.agent, set())
        if entry.kind == MESSAGE or entry.state in (RETURNED, RESTORED):
            box.update(entry.ids)
        if entry.state in HAVE_READ:
            box.difference_update(entry.ids)
    state: dict[str, str] = {}
    for event in events:
        if event.at <= moment and event.kind.startswith("agent.") and event.kind != "agent.message":
            state[event.subject] = event.kind.partition(".")[2]
    names = dict.fromkeys([*unread, *state, *(mark.who for mark in marks if mark.kind in ("mail", "task"))])
    for name in names:
        count: Plain = len(unread[name]) if name in unread else None
        yield {"name": name, "unread": count, "state": state.get(name, "unknown")}


def _approvals(audit: Iterable[Record], commands: dict[str, str], moment: float) -> Iterator[dict[str, Plain]]:
    """Requests that had been asked by then, and how each stood."""
    found: dict[str, dict[str, Plain]] = {}
    for line in audit:
        at, id, event = from_iso(str(line.get("at"))), str(line.get("id")), str(line.get("event"))
        if at is None or at > moment:
            continue
        one = found.setdefault(id, {"id": id, "requester": None, "command": commands.get(id), "state": "waiting"})
        if event == ASKED:
            one["requester"] = line.get("by")
        else:
            one["state"] = event
    yield from found.values()


def _merges(events: Iterable[RunEvent], past: Iterable[Past], moment: float) -> dict[str, MergeItem]:
    """What became of the work that each task had completed last; merges of former work are over."""
    completed_at = {one.task: at for one in past if (at := _completed_at(one)) is not None and at <= moment}
    found: dict[str, MergeItem] = {}
    for event in events:
        kind, _, status = event.kind.partition(".")
        if kind != "merge" or event.at > moment or status not in STATUSES:
            continue
        if event.at + GRAIN >= completed_at.get(event.subject, event.at):
            found[event.subject] = MergeItem(task=event.subject, status=status)
    return found


def _completed_at(one: Past) -> float | None:
    return from_iso(one.word("at")) if one.word("type") == "status_changed" and one.word("to") == COMPLETED else None


# Over time.


def activity(marks: Sequence[TeamMark], events: Sequence[RunEvent], now: float) -> dict[str, Plain]:
    """
    What happened in each step of time, for a chart: mail, tasks, approvals, turns, tokens, cost.

    Coordination is the share of everything that happened that was talk: mail and approvals beside work on tasks. Steps
    in which nothing happened have no share.
    """
    times = [mark.at for mark in marks] + [event.at for event in events]
    if times and now - max(times) > RESTS:
        now = max(times)  # of a team that rests since, what happened is to be seen, and not the rest
    began = min([*times, now - 60.0])
    step = max(1.0, (now - began) / STEPS)
    counts = {kind: [0] * STEPS for kind in ("mail", "task", "approval")}
    for mark in marks:
        if mark.kind in counts:
            counts[mark.kind][_column(mark.at, began, step)] += 1
    turns, tokens, cost = [0] * STEPS, [0] * STEPS, [0.0] * STEPS
    has_tokens = has_cost = False
    spent = Spent()
    for event in events:
        at = _column(event.at, began, step)
        turns[at] += int(event.number("turns"))
        if isinstance(event.detail.get("tokens"), int):
            tokens[at], has_tokens = tokens[at] + int(event.number("tokens")), True
        if event.kind in (STOPPED, ERROR):
            spent = spent.plus(spent_of(event))
        if isinstance(event.detail.get("cost"), int | float):
            cost[at], has_cost = cost[at] + event.number("cost"), True
    talk = [mail + asked for mail, asked in zip(counts["mail"], counts["approval"], strict=True)]
    share: list[Plain] = [
        round(said / (said + done), 3) if said + done else None for said, done in zip(talk, counts["task"], strict=True)
    ]
    return {
        "from": began,
        "step": step,
        "mail": [*counts["mail"]],
        "tasks": [*counts["task"]],
        "approvals": [*counts["approval"]],
        "turns": [*turns],
        "coordination": share,
        "talk": round(sum(talk) / (sum(talk) + sum(counts["task"])), 3) if sum(talk) + sum(counts["task"]) else None,
        "tokens": [*tokens] if has_tokens else None,
        "cost": [*cost] if has_cost else None,
        "cost_estimate": spent_fields(spent)["cost_estimate"],
    }


def _column(at: float, began: float, step: float) -> int:
    return max(0, min(STEPS - 1, int((at - began) / step)))
