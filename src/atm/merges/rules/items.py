"""What waits to be merged, and how each of it stands."""

from __future__ import annotations

from dataclasses import dataclass, field

PENDING, QUEUED, MERGING, MERGED = "pending", "queued", "merging", "merged"
CONFLICT, RESOLVED, FAILED = "conflict_detected", "resolved", "failed"
STATUSES = (PENDING, QUEUED, MERGING, MERGED, CONFLICT, RESOLVED, FAILED)

REBASE, MERGE, SQUASH, NONE = "rebase", "merge", "squash", "none"
STRATEGIES = (REBASE, MERGE, SQUASH)

AT_TASK = "task"
"""A run merges as soon as a task is done; otherwise all at the end."""


@dataclass(slots=True, kw_only=True)
class MergeRival:
    """A task that a conflict is with, and who did it."""

    task: str
    agent: str
    subject: str = ""


@dataclass(slots=True, kw_only=True)
class MergeCheck:
    """A check that ran on merged work."""

    command: str
    ok: bool
    code: int | None = None
    output: str = ""
    """The end of what it said, if it failed."""


@dataclass(slots=True, kw_only=True)
class MergeItem:
    """The work of one task on its way to the target."""

    task: str
    agent: str = ""
    branch: str = ""
    head: str = ""
    base: str = ""
    """The commit that the work began with: what came after it is the task's own."""
    subject: str = ""
    done_at: float = 0.0
    files: list[str] = field(default_factory=list)
    """What it changed."""
    status: str = PENDING
    waits_for: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    rivals: list[MergeRival] = field(default_factory=list)
    conflict_at: float = 0.0
    """When its last conflict was found: it may be resolved before a run looks again, which tells of it all the same."""
    made: str = ""
    """What it became, noted before the target is moved: whoever goes on sees whether that happened."""
    commit: str = ""
    """What it is on the target."""
    merged_at: float = 0.0
    """When it came there; 0 if whoever brought it was killed before he said so."""
    resolution: str = ""
    resolved_onto: str = ""
    """A commit in which its conflicts are resolved, and the target on which that stands."""
    checks: list[MergeCheck] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """What of it is not in the target, because it did not go together with what was merged before."""
    salvage: str = ""
    """Where all of it is kept, if not all of it is on the target."""
    needs_human: bool = False
    skipped: bool = False
    reason: str = ""
    attempts: int = 0
    sent_back: int = 0
    """How often its task was opened again because of it."""

    @property
    def is_over(self) -> bool:
        return self.status == MERGED or self.skipped

    @property
    def is_moving(self) -> bool:
        """Can it still go on by itself?"""
        return not self.is_over and not self.needs_human and self.status != FAILED

    @property
    def is_ready(self) -> bool:
        return self.is_moving and self.status in (QUEUED, RESOLVED)

    def flag(self, status: str, reason: str) -> None:
        """For a person. Others go on."""
        self.status, self.reason, self.needs_human, self.made = status, reason, True, ""


@dataclass(slots=True, kw_only=True)
class MergeQueue:
    """All of a team."""

    team: str
    branch: str = ""
    """The target."""
    base: str = ""
    """Where it begins, if it is not there yet."""
    folder: str = ""
    """A folder of the repository."""
    strategy: str = REBASE
    resolver: str = ""
    model: str = ""
    """The runtime that resolves conflicts, and its model."""
    run: str = ""
    before: list[str] = field(default_factory=list)
    """Tasks that were over when the run began: merged only if something of it builds on them."""
    green: str = ""
    """The commit of the target on which all checks were green."""
    items: list[MergeItem] = field(default_factory=list)

    def item(self, task: str) -> MergeItem | None:
        return next((one for one in self.items if one.task == task), None)
