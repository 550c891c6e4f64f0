"""What a run was asked to be: its agents, its rules and its limits. Written down before anything is started."""

from __future__ import annotations

from dataclasses import dataclass, field

from atm.runs.rules.limits import Limits

PER_AGENT = 6
"""Tasks for each agent, where nobody says how many agents there shall be: five or six are a good share."""


@dataclass(slots=True, kw_only=True)
class AgentSeat:
    """One agent of a run. Whoever sits there may die and be started again; the name stays."""

    name: str
    runtime: str
    is_script: bool = False
    """Has it no mind, and only runs what tasks say?"""
    backend: str = "auto"
    model: str = ""
    prompt: str = ""
    """What it is told beside its task."""
    command: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    requires_plan: bool = False
    tools: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class RunRules:
    """Numbers that decide, in seconds. Every one is a setting (`runs.*`)."""

    stuck_factor: float = 2.0
    stuck_first: float = 600.0
    """Before three tasks are finished, and nobody knows how long one takes."""
    stuck_least: float = 300.0
    answer: float = 60.0
    human: float = 1800.0
    """For how long a run waits when nothing can go on without a person."""
    restarts: int = 2
    """Of one agent."""
    start: float = 30.0
    overlap: bool = False
    """May two tasks that name the same files be worked on at once?"""


@dataclass(slots=True, kw_only=True)
class RunOrder:
    """All of it."""

    run: str
    team: str
    folder: str
    lead: str = "lead"
    goal: str = ""
    base: str = ""
    """The commit that all work begins with; empty outside of a repository."""
    branch: str = ""
    """What was checked out there."""
    seats: list[AgentSeat] = field(default_factory=list)
    leader: AgentSeat | None = None
    """An agent that leads, if one shall; otherwise the loop does."""
    rules: RunRules = field(default_factory=RunRules)
    limits: Limits = field(default_factory=Limits)
    per_agent: Limits = field(default_factory=Limits)
    per_task: Limits = field(default_factory=Limits)
    done_before: list[str] = field(default_factory=list)
    """Tasks that were over when it began: none of its business."""
    saved_before: list[str] = field(default_factory=list)
    """Work that was saved before it began, by others of that number: nobody goes on with it."""
    plan_file: str = ""
    tick: bool = False
    merge: str = "none"
    """How finished work is merged: rebase, merge, squash; none: it stays on its branches."""
    into: str = ""
    """The branch that it is merged into."""
    merge_at: str = "task"

    @property
    def merges(self) -> bool:
        return self.merge != "none" and bool(self.into)

    @property
    def start(self) -> str:
        """What new work begins with: the target, where it grows while the run goes on."""
        return self.into if self.merges and self.merge_at == "task" else self.base

    def seat(self, name: str) -> AgentSeat | None:
        return next((one for one in self.everybody if one.name == name), None)

    @property
    def everybody(self) -> list[AgentSeat]:
        return [*self.seats, *([self.leader] if self.leader is not None else [])]


def agents_for(tasks: int) -> int:
    """`--agents auto`."""
    return max(1, -(-tasks // PER_AGENT))
