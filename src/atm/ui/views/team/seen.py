"""
The snapshot with types, as faces read it. What a snapshot does not say is None, which faces show as unknown.

Texts are as they were written, by whomever: each face makes them harmless when it shows them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from atm.files.formats.dataclass_record import made_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.core.plain import Plain


@dataclass(frozen=True, slots=True)
class MailSeen:
    """How much mail a member has; None for what cannot be counted."""

    unread: int | None = None
    total: int | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class SyncSeen:
    """Whether a member knows its work."""

    state: str = "unknown"
    label: str = "Unknown"
    why: str = ""


@dataclass(frozen=True, slots=True)
class AgentSeen:
    """What atm knows of an agent because it started it."""

    runtime: str = ""
    backend: str = ""
    state: str = ""
    asks: str | None = None
    """What its program asks a person, in its window."""
    continue_command: str | None = None
    """What continues its processes, if a signal has suspended them."""
    error: str | None = None
    pid: int | None = None
    pane: str | None = None
    task: str | None = None
    worktree: str | None = None
    branch: str | None = None
    run: str | None = None
    tokens: int | None = None
    cost: float | None = None
    cost_estimate: dict[str, Any] | None = None
    turns: int | None = None


@dataclass(frozen=True, slots=True)
class MemberSeen:
    """A member: what it does and whether it is there, each with source and age."""

    name: str
    kind: str = "agent"
    type: str | None = None
    model: str | None = None
    backend: str | None = None
    state: str = "unknown"
    state_source: str = ""
    state_age_seconds: float | None = None
    liveness: str = "unknown"
    liveness_source: str = ""
    liveness_age_seconds: float | None = None
    liveness_warning: str | None = None
    is_lead: bool = False
    mail: MailSeen = MailSeen()
    tasks: list[str] = field(default_factory=list)
    sync: SyncSeen | None = None
    task_since: str | None = None
    output_at: str | None = None
    task_limit: float | None = None
    agent: AgentSeen | None = None

    @property
    def is_human(self) -> bool:
        return self.kind == "human"

    @property
    def question(self) -> str:
        """What its program asks a person; empty if it asks nothing, or is not there any more."""
        is_there = self.agent is not None and self.agent.state == "waiting" and self.liveness != "offline"
        return (self.agent.asks or "") if self.agent is not None and is_there else ""

    @property
    def agent_state(self) -> str:
        return self.agent.state if self.agent is not None else ""


@dataclass(frozen=True, slots=True)
class ReviewSeen:
    """Where a review stands."""

    state: str | None = None
    reviewer: str | None = None


@dataclass(frozen=True, slots=True)
class ShownSeen:
    """The one state of a task that every surface shows (`merges/rules/shown_state.py`)."""

    state: str = "unknown"
    word: str = "unknown"
    tone: str = "rest"
    column: str = "not_done"


@dataclass(frozen=True, slots=True)
class TaskSeen:
    """A task as the board lists it."""

    id: str
    subject: str = ""
    state: str = "unknown"
    owner: str | None = None
    blocked_by: list[str] = field(default_factory=list)
    blocked_by_open: list[str] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    priority: str = "normal"
    files: list[str] = field(default_factory=list)
    failures: int = 0
    max_retries: int = 0
    review: ReviewSeen = ReviewSeen()
    plan: str | None = None
    needs: str | None = None
    problem: str | None = None
    unreachable_because: str | None = None
    failed_because: str | None = None
    """The last line of the reason, of a task that failed for good."""
    runtime: str | None = None
    shown: ShownSeen = ShownSeen()


@dataclass(frozen=True, slots=True)
class ApprovalSeen:
    """A request that waits for an answer."""

    id: str
    requester: str
    tier: str = "human"
    operation: str = ""
    tool: str = ""
    command: str = ""
    folder: str = ""
    paths: list[str] = field(default_factory=list)
    diff: str | None = None
    task: str | None = None
    asked_at: str = ""
    expires_at: str = ""
    state: str = ""
    why: str = ""
    reason: str = ""
    decided_by: str | None = None
    decided_at: str | None = None

    @property
    def what(self) -> str:
        return self.command or ", ".join(self.paths) or self.operation


@dataclass(frozen=True, slots=True)
class OpenMerge:
    """A task in the merge queue that is not over."""

    task: str
    status: str
    reason: str = ""
    shown: ShownSeen = ShownSeen()


@dataclass(frozen=True, slots=True)
class CollisionSeen:
    """Two who change the same files just now."""

    tasks: list[str] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MergesSeen:
    """The merge queue in figures."""

    target: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    needs_human: list[str] = field(default_factory=list)
    open: list[OpenMerge] = field(default_factory=list)
    collisions: list[CollisionSeen] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AskedSeen:
    """A plan or a question that somebody has to answer."""

    task: str
    kind: str = "question"
    whom: str = "lead"
    by: str = ""
    at: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class StalledSeen:
    """A task without progress, about which its holder was told."""

    task: str
    member: str
    since: str = ""
    told: str = ""


@dataclass(frozen=True, slots=True)
class LateSeen:
    """A message whose sender wants to know that it arrived, and does not yet."""

    id: str
    to: str = ""
    sender: str = ""
    summary: str = ""
    since: str = ""
    told: str | None = None


@dataclass(frozen=True, slots=True)
class LeadSeen:
    """Who leads, and whether that session is there."""

    member: str = ""
    session: str | None = None
    state: str = "unknown"
    seconds_unseen: float | None = None
    mail_held: bool = False


@dataclass(frozen=True, slots=True)
class SpoolSeen:
    """Mail that waits for delivery."""

    pending: int = 0
    held: int = 0


@dataclass(frozen=True, slots=True)
class RunSeen:
    """The last run of the team, while it is not over."""

    run: str
    state: str = "unknown"
    since: str | None = None
    resume: str | None = None
    """The command that a person types next."""
    resumable: bool = False
    """Is that command the one that resumes the run?"""
    goal: str | None = None
    why: str | None = None
    done: int = 0
    tasks: int = 0
    alive: list[str] = field(default_factory=list)
    """Agents of a died run that still run."""


@dataclass(frozen=True, slots=True)
class TeamSeen:
    """A team at one moment."""

    team: str
    version: int = 0
    taken_at: str = ""
    created_at: str | None = None
    status: str = "unknown"
    status_since: str | None = None
    lead: LeadSeen = LeadSeen()
    runs: list[RunSeen] = field(default_factory=list)
    members: list[MemberSeen] = field(default_factory=list)
    tasks: list[TaskSeen] = field(default_factory=list)
    approvals: list[ApprovalSeen] = field(default_factory=list)
    asked: list[AskedSeen] = field(default_factory=list)
    stalled: list[StalledSeen] = field(default_factory=list)
    unacknowledged: list[LateSeen] = field(default_factory=list)
    merges: MergesSeen | None = None
    spool: SpoolSeen = SpoolSeen()
    cost_estimate: dict[str, Any] | None = None
    troubles: list[str] = field(default_factory=list)

    def task(self, id: str) -> TaskSeen | None:
        return next((one for one in self.tasks if one.id == id), None)

    def run(self, id: str) -> RunSeen | None:
        return next((one for one in self.runs if one.run == id), None)

    def member(self, name: str) -> MemberSeen | None:
        return next((one for one in self.members if one.name.casefold() == name.casefold()), None)


class Eyes:
    """Turns snapshots of teams into what faces read. Tasks that are the same as last time are not looked at again."""

    def __init__(self) -> None:
        self._tasks: dict[str, tuple[object, list[TaskSeen]]] = {}

    def see(self, fields: Mapping[str, Plain]) -> TeamSeen:
        team = str(fields["team"])
        said: dict[str, Any] = {key: value for key, value in fields.items() if key != "tasks"}
        late = said.get("unacknowledged")
        if isinstance(late, list):  # `from` is a word of Python's
            said["unacknowledged"] = [{**one, "sender": one.get("from")} for one in late if isinstance(one, dict)]
        rows, known = fields.get("tasks"), self._tasks.get(team)
        if known is None or known[0] is not rows:
            found = (
                [made_from(TaskSeen, one) for one in rows if isinstance(one, dict)] if isinstance(rows, list) else []
            )
            known = rows, [one for one in found if one is not None]
            self._tasks[team] = known
        seen: TeamSeen = made_from(TeamSeen, said)
        return replace(seen, tasks=known[1])
