"""What is known of an agent that atm started: one record for each, from before its first process to after its last."""

from __future__ import annotations

from dataclasses import dataclass, field

from atm.crew.rules.costs import CostEstimate
from atm.crew.rules.states import IDLE, OVER, PLANNING, READY, SHUTTING_DOWN, SPAWNING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

FINISHING, ACCEPTED, REFUSED = "finishing", "accepted", "refused"
"""What an agent answers when it is asked to end."""


WAITING = "waiting"
"""Shown instead of its state while its program asks a person."""
KILLED_BY = "killed by "


def killed_in_words(by: str, reader: str = "") -> str:
    """What is said of an agent that `by` ended at once, to a reader of this name."""
    return f"{KILLED_BY}{'you' if reader and by.casefold() == reader.casefold() else by}"


@dataclass(slots=True, kw_only=True)
class AgentRecord:
    """Written before each step that makes something, so that whoever finds it knows what may have been made."""

    team: str
    member: str
    generation: int
    mark: str
    runtime: str
    backend: str
    folder: str
    """Where it was started for: the user's folder."""
    at: float
    state: str = SPAWNING
    since: float = 0.0
    command: list[str] = field(default_factory=list)
    """What its program is started with."""
    model: str = ""
    prompt: str = ""
    instructions: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    """What the user gave on top."""
    requires_plan: bool = False
    tools: list[str] = field(default_factory=list)
    """The only ones that it may use; empty for all."""
    spawner: int = 0
    spawner_began: str = ""
    is_enrolled: bool = False
    """Was its place in the roster made for it? Then it goes with it."""
    pid: int = 0
    """Of its host."""
    began: str = ""
    boot: str = ""
    program_pid: int = 0
    server: str = ""
    pane: str = ""
    """Socket of the tmux server, and the pane on it."""
    slot: int = -1
    run: str = ""
    """The run that it was started by; empty for one that somebody started by hand."""
    start: str = ""
    """The commit that work of its run begins with."""
    task: str = ""
    claim: str = ""
    """The claim under which it works on its task."""
    common: str = ""
    worktree: str = ""
    branch: str = ""
    base: str = ""
    session: str = ""
    """The vendor's own id of its conversation, as soon as that is known."""
    resumes: str = ""
    """The one that it goes on with, if it was asked to."""
    asked_at: float = 0.0
    asked_by: str = ""
    answer: str = ""
    reason: str = ""
    tokens: int | None = None
    cost: float | None = None
    tokens_before: int = 0
    cost_before: float = 0.0
    """Of the conversation that it goes on with: vendors count over all of it."""
    turns: int = 0
    heard_at: float = 0.0
    """When its program last said or did anything."""
    task_since: float = 0.0
    """When it began with its task, moved on by the time in which the machine slept or a person was waited for."""
    task_limit: float = 0.0
    """Seconds that this attempt may take; 0 for no limit."""
    output_at: float = 0.0
    """When its program or command last wrote something, moved on in the same way; 0 before it began."""
    injected: int = 0
    """Characters that atm has said to it."""
    asks: str = ""
    """What its program asks a person in its window, in words of ours; empty if it asks nothing there."""
    said: str = ""
    """Its last words, if somebody waits for them."""
    error: str = ""
    ended_by: str = ""
    """The member or person who ended it at once, with `kill` or `stop`; that is no crash."""

    @property
    def is_over(self) -> bool:
        return self.state in OVER

    @property
    def has_task_for_life(self) -> bool:
        """Was it started for one task, with which it ends?"""
        return bool(self.run and self.claim)

    @property
    def is_asked(self) -> bool:
        """To end, and it has not refused."""
        return self.asked_at > 0 and self.answer != REFUSED

    @property
    def may_end_now(self) -> bool:
        """Nothing is under way that its end would cut off."""
        return self.state == PLANNING or (self.state in (READY, IDLE, SHUTTING_DOWN) and not self.task)

    @property
    def shown_state(self) -> str:
        """An agent that sits before a question is neither idle nor at work."""
        return WAITING if self.asks and not self.is_over else self.state

    def facts(self) -> dict[str, Plain]:
        """What programs may know of it; what the user gave it stays between them."""
        return {
            "name": self.member,
            "runtime": self.runtime,
            "backend": self.backend,
            "pid": self.pid or None,
            "pane": self.pane or None,
            "state": self.shown_state,
            "asks": self.asks or None,
            "error": self.error or None,
            "ended_by": self.ended_by or None,
            "generation": self.generation,
            "task": self.task or None,
            "worktree": self.worktree or None,
            "branch": self.branch or None,
            "session": self.session or None,
            "tokens": self.tokens,
            "cost": self.cost,
            "cost_estimate": CostEstimate(self.cost, is_complete=True).fields(),
            "turns": self.turns,
            "run": self.run or None,
        }
