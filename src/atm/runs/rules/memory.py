"""
What a run remembers of itself: the sum of its events, and nothing beside them.

Every event is written down before anything is decided by it. So the loop may die at any moment: whoever goes on adds
the events up again and knows what it knew.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from atm.merges.rules.items import STATUSES
from atm.runs.rules.limits import Spent, spent_in_life

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.core.plain import Plain

STARTED, RESUMED, PAUSED, ENDED = "run.started", "run.resumed", "run.paused", "run.ended"
RESOLVED, NOTHING_CLAIMABLE, WAITS = "run.resolved", "run.nothing_claimable", "run.waits_for_people"
SPAWNED, WORKING, IDLE, STOPPED, ERROR = "agent.spawned", "agent.working", "agent.idle", "agent.stopped", "agent.error"
ASKED, ANSWERED, CLOSED = "agent.asked", "agent.answered", "agent.closed"
NOT_STARTED = "agent.not_started"
"""Its start was refused. That is neither a restart of the agent nor an attempt of its task (D35)."""
ADDED, UNBLOCKED, CLAIMED = "task.added", "task.unblocked", "task.claimed"
COMPLETED, FAILED, CANCELLED, UNREACHABLE = "task.completed", "task.failed", "task.cancelled", "task.unreachable"
RETURNED, REFUSED = "task.returned", "task.refused"
"""It went back to the board without blame; it could not be given to anybody."""
APPROVAL_ASKED, APPROVAL_DECIDED = "approval.asked", "approval.decided"
WARNED, EXCEEDED = "budget.warned", "budget.exceeded"
COLLIDE = "run.collision"
"""Two agents change the same lines just now, and were told."""
SLEPT = "run.slept"
"""The machine slept, or its clock was set ahead: time in which nobody worked."""
MESSAGE = "agent.message"
CLEARED = "run.cleared"
"""Agents of an earlier run were ended before this one began."""
REOPENED = "task.reopened"
MERGES = tuple(f"merge.{status}" for status in STATUSES)

KINDS = (
    *(STARTED, RESUMED, PAUSED, ENDED, RESOLVED, NOTHING_CLAIMABLE, WAITS, SLEPT, CLEARED),
    *(SPAWNED, NOT_STARTED, WORKING, IDLE, STOPPED, ERROR, ASKED, ANSWERED, CLOSED, MESSAGE),
    *(ADDED, UNBLOCKED, CLAIMED, COMPLETED, FAILED, CANCELLED, UNREACHABLE, RETURNED, REFUSED),
    *(APPROVAL_ASKED, APPROVAL_DECIDED, WARNED, EXCEEDED, REOPENED, COLLIDE),
    *MERGES,
)


class RunEvent:
    """One thing that happened in a run."""

    __slots__ = ("at", "detail", "kind", "subject")

    def __init__(self, kind: str, subject: str, at: float, **detail: Plain) -> None:
        self.kind = kind
        self.subject = subject
        """The agent, the task, the approval or the run."""
        self.at = at
        self.detail: dict[str, Plain] = {key: value for key, value in detail.items() if value is not None}

    def text(self, key: str) -> str:
        value = self.detail.get(key)
        return value if isinstance(value, str) else ""

    def number(self, key: str) -> float:
        value = self.detail.get(key)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0

    def __repr__(self) -> str:
        return f"RunEvent({self.kind}, {self.subject}, {self.detail})"


@dataclass(slots=True)
class SeatMemory:
    """What is remembered of one agent, over all its lives."""

    generation: int = 0
    """The life that was started last."""
    over: int = 0
    """The last life whose end is known."""
    state: str = ""
    task: str = ""
    last_task: str = ""
    """Of the life before."""
    restarts: int = 0
    spent: Spent = field(default_factory=Spent)
    """In lives that are over."""
    injected: int = 0
    closed: str = ""
    """Why nothing is given to it any more."""
    spawned_at: float = 0.0
    asked_at: float = 0.0
    """When it was asked how its task stands, and has not answered since."""
    refusals: int = 0
    """Starts in a row that were refused, since when, the last one, and why."""
    refused_since: float = 0.0
    refused_at: float = 0.0
    refused: str = ""


@dataclass(slots=True)
class TaskMemory:
    """What is remembered of one task."""

    state: str = ""
    owner: str = ""
    claim: str = ""
    failures: int = 0
    losses: int = 0
    """Hosts that were lost while they worked on it, in this run."""
    since: float = 0.0
    branch: str = ""
    """Of the agent that was started for it last."""
    tried_by: list[str] = field(default_factory=list)
    is_cut_off: bool = False
    """Did its last claimant end in the middle? Then what it left may be gone on with."""
    spent: Spent = field(default_factory=Spent)
    refused: str = ""
    """Why it could not be given to anybody."""
    refused_at: float = 0.0


@dataclass(slots=True)
class RunMemory:
    """The sum of the events."""

    run: str = ""
    started_at: float = 0.0
    began_at: float = 0.0
    """When the loop that runs now took it up."""
    lasted: float = 0.0
    """Seconds of former loops."""
    last_at: float = 0.0
    seen_at: float = 0.0
    """Of the last event before this one."""
    outcome: str = ""
    ended_because: str = ""
    """Why its last loop ended, as the event says that ended or interrupted it."""
    seats: dict[str, SeatMemory] = field(default_factory=dict)
    tasks: dict[str, TaskMemory] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    """What is said once."""
    durations: list[float] = field(default_factory=list)
    """Of finished tasks."""
    works: dict[str, dict[str, Plain]] = field(default_factory=dict)
    """Of finished tasks: branch and commit."""
    approvals: dict[str, str] = field(default_factory=dict)
    merges: dict[str, dict[str, Plain]] = field(default_factory=dict)
    """By task: how its merge stands."""
    merges_at: dict[str, float] = field(default_factory=dict)
    """By task: since when it stands so."""
    working: list[tuple[float, float]] = field(default_factory=list)
    """Times in which an agent worked."""
    at_work: dict[str, float] = field(default_factory=dict)
    moved_at: float = 0.0
    """When something last happened that was not only waiting."""
    waits_since: float = 0.0
    """Since when nothing can continue without a person; 0 while something can."""
    naps: list[tuple[float, float]] = field(default_factory=list)
    """When the machine woke up, and how long it had slept."""
    resolved_at: float = 0.0
    leaders_letter: str = ""
    """The message that tells a leading agent that all is resolved; empty if it could not be written."""

    def seat(self, name: str) -> SeatMemory:
        return self.seats.setdefault(name, SeatMemory())

    def task(self, id: str) -> TaskMemory:
        return self.tasks.setdefault(id, TaskMemory())

    def seconds(self, now: float) -> float:
        """That somebody looked after it."""
        return self.lasted + (self.awake(self.began_at, now) if self.began_at else 0.0)

    def awake(self, since: float, now: float) -> float:
        """Seconds between the two in which the machine was awake. A clock that was set back costs nothing."""
        return max(0.0, now - since - sum(slept for at, slept in self.naps if at > since))

    def take(self, event: RunEvent) -> None:
        """One more."""
        if event.kind == RESUMED and self.began_at:  # its loop was killed: it was last seen then, or at its last event
            last_seen = min(max(self.last_at, event.number("seen_at")), max(self.last_at, event.at))
            self.lasted += self.awake(self.began_at, last_seen)
        self.seen_at, self.last_at = self.last_at, max(self.last_at, event.at)
        if event.kind not in (WAITS, NOTHING_CLAIMABLE, WARNED, REFUSED, NOT_STARTED, SLEPT):
            self.moved_at = max(self.moved_at, event.at)
            self.waits_since = 0.0
            self.told.discard(WAITS)
        step = _STEPS.get(event.kind)
        if step is not None:
            step(self, event)

    def time_at_work(self, now: float) -> float:
        """Seconds in which at least one agent worked."""
        spans = sorted([*self.working, *((since, now) for since in self.at_work.values())])
        total, end = 0.0, 0.0
        for begin, until in spans:
            total += max(0.0, until - max(begin, end))
            end = max(end, until)
        return total


def _started(memory: RunMemory, event: RunEvent) -> None:
    if event.kind == RESUMED:  # who worked on while nobody looked works anew from here, for the sums
        memory.working += [(since, memory.seen_at) for since in memory.at_work.values() if memory.seen_at > since]
        memory.at_work = dict.fromkeys(memory.at_work, event.at)
        _begin_anew_after_refusals(memory)
    memory.run = memory.run or event.subject
    memory.started_at = memory.started_at or event.at
    memory.began_at, memory.outcome, memory.ended_because = event.at, "", ""
    memory.told -= {NOTHING_CLAIMABLE, WAITS, RESOLVED}


def _begin_anew_after_refusals(memory: RunMemory) -> None:
    """A person resumed the run, and may have removed what kept its agents from starting."""
    for seat in memory.seats.values():
        if seat.refusals:
            seat.refusals, seat.refused_since, seat.refused_at, seat.refused, seat.closed = 0, 0.0, 0.0, "", ""
    for task in memory.tasks.values():
        task.refused = ""


def _paused(memory: RunMemory, event: RunEvent) -> None:
    memory.lasted += memory.awake(memory.began_at, event.at) if memory.began_at else 0.0
    memory.began_at = 0.0
    memory.outcome = event.text("outcome") if event.kind == ENDED else ""
    memory.ended_because = event.text("why")


def _spawned(memory: RunMemory, event: RunEvent) -> None:
    seat = memory.seat(event.subject)
    seat.generation = int(event.number("generation"))
    seat.task, seat.state, seat.asked_at, seat.spawned_at = event.text("task"), "spawning", 0.0, event.at
    seat.injected += int(event.number("injected"))
    seat.refusals, seat.refused_since, seat.refused = 0, 0.0, ""
    if seat.task and event.text("branch"):
        memory.task(seat.task).branch = event.text("branch")
    if event.detail.get("restart") is True:
        seat.restarts += 1


def _not_started(memory: RunMemory, event: RunEvent) -> None:
    seat = memory.seat(event.subject)
    seat.refusals, seat.refused_at, seat.refused = seat.refusals + 1, event.at, event.text("error")
    seat.refused_since = seat.refused_since or event.at


def _moved(memory: RunMemory, event: RunEvent) -> None:
    seat = memory.seat(event.subject)
    seat.state = event.kind.partition(".")[2]
    seat.task = event.text("task") or seat.task
    if event.kind == WORKING:
        memory.at_work.setdefault(event.subject, event.at)
    else:
        _rests(memory, event)


def _rests(memory: RunMemory, event: RunEvent) -> None:
    since = memory.at_work.pop(event.subject, None)
    if since is not None and event.at > since:
        memory.working.append((since, event.at))


def spent_of(event: RunEvent) -> Spent:
    """What an agent used in the life that this event ends."""
    tokens, cost = event.detail.get("tokens"), event.detail.get("cost")
    return spent_in_life(
        event.number("seconds"),
        turns=int(event.number("turns")),
        tokens=tokens if isinstance(tokens, int) else None,
        cost=float(cost) if isinstance(cost, int | float) else None,
        injected=int(event.number("injected")),
    )


def _ended(memory: RunMemory, event: RunEvent) -> None:
    _moved(memory, event)
    seat = memory.seat(event.subject)
    seat.over = max(seat.over, int(event.number("generation")))
    spent = spent_of(event)
    seat.spent = seat.spent.plus(spent)
    seat.injected += int(event.number("injected"))
    task = event.text("task")
    if task:
        known = memory.task(task)
        own = event.number("task_seconds") if "task_seconds" in event.detail else spent.seconds
        known.spent = known.spent.plus(spent.lasting(own))
        known.is_cut_off = event.detail.get("cut_off") is True
        known.losses += event.detail.get("lost") is True
    seat.task, seat.last_task, seat.asked_at = "", task, 0.0


def _asked(memory: RunMemory, event: RunEvent) -> None:
    memory.seat(event.subject).asked_at = event.at if event.kind == ASKED else 0.0


def _closed(memory: RunMemory, event: RunEvent) -> None:
    memory.seat(event.subject).closed = event.text("why") or "closed"


def _task(memory: RunMemory, event: RunEvent) -> None:
    known = memory.task(event.subject)
    known.state, known.since = event.text("state") or known.state, event.at
    known.refused = ""
    if event.kind == CLAIMED:
        known.owner, known.claim = event.text("owner"), event.text("claim")
        if known.owner not in known.tried_by:
            known.tried_by.append(known.owner)
    elif event.kind == FAILED:
        known.failures, known.is_cut_off = int(event.number("attempt")), event.detail.get("cut_off") is True
        known.owner = known.claim = ""
    elif event.kind in (RETURNED, REOPENED):
        known.owner = known.claim = ""
    elif event.kind == COMPLETED:
        memory.durations.append(event.number("seconds"))
        memory.works[event.subject] = {
            key: event.detail[key] for key in ("branch", "commit", "by") if key in event.detail
        }
    if event.kind == RETURNED and event.text("why"):
        known.refused, known.refused_at = event.text("why"), event.at
    if event.kind in (ADDED, UNBLOCKED, RETURNED, FAILED, REOPENED):
        memory.told -= {NOTHING_CLAIMABLE, RESOLVED}


def _refused(memory: RunMemory, event: RunEvent) -> None:
    known = memory.task(event.subject)
    known.refused, known.refused_at = event.text("why"), event.at


def _approval(memory: RunMemory, event: RunEvent) -> None:
    memory.approvals[event.subject] = event.text("state") or ("waiting" if event.kind == APPROVAL_ASKED else "decided")


def _merge(memory: RunMemory, event: RunEvent) -> None:
    memory.merges[event.subject] = {**event.detail, "status": event.kind.partition(".")[2]}
    memory.merges_at[event.subject] = event.at


def _told(memory: RunMemory, event: RunEvent) -> None:
    memory.told.add(event.text("about") or event.kind)
    if event.kind == WAITS:
        memory.waits_since = event.at
    if event.kind == RESOLVED:
        memory.resolved_at, memory.leaders_letter = event.at, event.text("letter")


def _slept(memory: RunMemory, event: RunEvent) -> None:
    memory.naps.append((event.at, event.number("seconds")))


_STEPS: dict[str, Callable[[RunMemory, RunEvent], None]] = {
    **dict.fromkeys((STARTED, RESUMED), _started),
    **dict.fromkeys((PAUSED, ENDED), _paused),
    **dict.fromkeys((WORKING, IDLE), _moved),
    **dict.fromkeys((STOPPED, ERROR), _ended),
    **dict.fromkeys((ASKED, ANSWERED), _asked),
    **dict.fromkeys((ADDED, UNBLOCKED, CLAIMED, COMPLETED, FAILED, CANCELLED, UNREACHABLE, RETURNED, REOPENED), _task),
    **dict.fromkeys(MERGES, _merge),
    **dict.fromkeys((APPROVAL_ASKED, APPROVAL_DECIDED), _approval),
    **dict.fromkeys((RESOLVED, NOTHING_CLAIMABLE, WAITS, WARNED, EXCEEDED, COLLIDE), _told),
    SPAWNED: _spawned,
    NOT_STARTED: _not_started,
    CLOSED: _closed,
    REFUSED: _refused,
    SLEPT: _slept,
}
