"""A run as it stands at one moment: what the loop looked at before it decides."""

from __future__ import annotations

from dataclasses import dataclass, field

from atm.board.rules.tasks import CANCELLED, COMPLETED, FAILED, UNREACHABLE
from atm.crew.rules.states import CLAIMING, ERROR, IDLE, OVER, PLANNING, READY, SPAWNING, WORKING
from atm.merges.rules.ordering import unsettled
from atm.runs.rules.limits import Spent, spent_in_life

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Card
    from atm.core.plain import Plain
    from atm.merges.rules.items import MergeItem, MergeQueue
    from atm.runs.rules.orders import AgentSeat, RunOrder

TRY_AGAIN = 30.0
"""Seconds after which a task that could not be begun is given out again."""

CLOSED_STATES = (COMPLETED, FAILED, CANCELLED, UNREACHABLE)


@dataclass(slots=True, kw_only=True)
class AgentView:
    """One agent: what its record and its processes say."""

    name: str
    generation: int
    state: str
    is_alive: bool
    """Does its host run, or is it being started?"""
    is_left: bool = False
    """Is something of it still there, though it is over?"""
    task: str = ""
    began_at: float = 0.0
    heard_at: float = 0.0
    """When its program last said or did anything."""
    turns: int = 0
    tokens: int | None = None
    cost: float | None = None
    injected: int = 0
    task_since: float = 0.0
    task_limit: float = 0.0
    output_at: float = 0.0
    """As its record says: since when it works on its task, its limit, and when it last wrote something."""
    waits: bool = False
    """For somebody's answer: an approval."""
    error: str = ""

    @property
    def is_over(self) -> bool:
        return self.state in OVER

    @property
    def has_failed(self) -> bool:
        return self.state == ERROR

    @property
    def is_lost(self) -> bool:
        """It should live, and does not; or it is over, and something of it is left."""
        return self.is_left if self.is_over else not self.is_alive

    @property
    def has_lost_host(self) -> bool:
        """Its host is gone without a word: nothing says that the work itself failed (D35)."""
        return not self.is_over and not self.is_alive

    @property
    def is_at_work(self) -> bool:
        return self.state in (CLAIMING, WORKING, PLANNING)

    @property
    def is_moving(self) -> bool:
        """Comes, works or goes: what it does next is not known yet."""
        return self.state not in (*OVER, READY, IDLE)

    @property
    def is_starting(self) -> bool:
        return self.state == SPAWNING

    def spent(self, now: float) -> Spent:
        """In this life."""
        return spent_in_life(
            max(0.0, now - self.began_at),
            turns=self.turns,
            tokens=self.tokens,
            cost=self.cost,
            injected=self.injected,
        )


@dataclass(slots=True, kw_only=True)
class TaskFacts:
    """What the loop has to know of a task beside its card."""

    runtime: str = ""
    has_commands: bool = False
    """Does it say what to run?"""
    untrusted: str = ""
    """A command of it to which nobody has said yes."""
    work: dict[str, Plain] = field(default_factory=dict)
    error: str = ""
    by: str = ""
    """Who finished it."""
    finished_at: float = 0.0
    claimed_at: float = 0.0
    refused: str = ""
    """Why its last claimant could not begin it."""
    refused_at: float = 0.0


@dataclass(slots=True, kw_only=True)
class RunView:
    """Everything at once."""

    now: float
    board: Board
    agents: dict[str, AgentView]
    facts: Mapping[str, TaskFacts]
    """Of tasks that are not over, or have just come to an end."""
    said_at: dict[str, float] = field(default_factory=dict)
    """When each agent last said something: a message, a word on the board."""
    approvals: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By id: who asks, and how it stands."""
    stopped: str = ""
    """Who has stopped the team."""
    merges: MergeQueue | None = None
    """None where nothing is merged."""
    lead_knows_at: float = 0.0
    """When a leading agent was shown that all is resolved; 0 until then."""
    touched: dict[str, list[str]] = field(default_factory=dict)
    """By task: what its agent has changed so far, as far as that was looked at."""
    is_merging: bool = False
    merging_fails: str = ""
    """Why nothing can be merged, however often it is tried."""

    def cards(self, order: RunOrder) -> list[Card]:
        """Those that are the run's business."""
        before = {*order.done_before}
        return [one for one in self.board.sorted() if not one.is_hidden and one.id not in before]

    @property
    def unmerged(self) -> set[str]:
        """Tasks that are done, and on their way to the target."""
        return {one.task for one in unsettled(self.merges)} if self.merges is not None else set()

    @property
    def held_up(self) -> dict[str, MergeItem]:
        """Completed work that cannot reach the target before a person helps, by task."""
        moving = self.unmerged
        items = self.merges.items if self.merges is not None else ()
        return {one.task: one for one in items if not one.is_over and one.task not in moving}

    def held_up_by(self, card: Card) -> list[MergeItem]:
        """Completed work that the task builds on and that cannot reach the target before a person helps."""
        held = self.held_up
        return [held[id] for id in self.board.blockers(card) if id in held] if held else []

    def fact(self, id: str) -> TaskFacts:
        return self.facts.get(id) or TaskFacts()


def can_do(seat: AgentSeat, facts: TaskFacts, has_scripts: bool) -> bool:
    """A task that names a runtime is for that one. What says what to run is for scripts, where there are any."""
    if facts.runtime:
        return facts.runtime == seat.runtime
    return facts.has_commands if seat.is_script else not (facts.has_commands and has_scripts)
