"""
What happens in teams, as the daemon tells it: to those who watch, to plugins, and to its own loops.

An event is a hint, never the truth: whoever acts on one reads the files again. Events are not kept; what must not
be lost is in the ledger and in the history of tasks.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

MESSAGE_WRITTEN, MESSAGE_READ, MESSAGE_GONE = "message.written", "message.read", "message.gone"
MESSAGE_SURFACED, MESSAGE_ESCALATED, MESSAGE_FAILED = "message.surfaced", "message.escalated", "message.failed"
TASK_CREATED, TASK_CHANGED, TASK_GONE = "task.created", "task.changed", "task.gone"
MEMBER_JOINED, MEMBER_LEFT, MEMBER_CHANGED = "member.joined", "member.left", "member.changed"
MEMBER_SILENT, MEMBER_BACK = "member.silent", "member.back"
TEAM_CREATED, TEAM_GONE, TEAM_COMPLETED = "team.created", "team.gone", "team.completed"
APPROVAL_ASKED, APPROVAL_DECIDED = "approval.asked", "approval.decided"
PLUGIN_STATE, SETTINGS_RELOADED = "plugin.state", "settings.reloaded"

RUN_KINDS = (
    *("run.started", "run.resumed", "run.paused", "run.ended", "run.resolved", "run.nothing_claimable"),
    "run.slept",
    *("run.waits_for_people", "agent.spawned", "agent.working", "agent.idle", "agent.stopped", "agent.error"),
    *("agent.asked", "agent.answered", "agent.closed", "agent.message", "agent.not_started", "run.cleared"),
    *("task.added", "task.unblocked", "task.claimed", "task.completed", "task.failed", "task.cancelled"),
    *("task.unreachable", "task.returned", "task.refused", "task.reopened", "budget.warned", "budget.exceeded"),
    *("run.collision", "merge.pending", "merge.queued", "merge.merging", "merge.merged"),
    *("merge.conflict_detected", "merge.resolved", "merge.failed"),
)
"""What the loop of a run writes down, and the daemon tells on."""

KINDS = (
    *(MESSAGE_WRITTEN, MESSAGE_READ, MESSAGE_GONE, MESSAGE_SURFACED, MESSAGE_ESCALATED, MESSAGE_FAILED),
    *(TASK_CREATED, TASK_CHANGED, TASK_GONE),
    *(MEMBER_JOINED, MEMBER_LEFT, MEMBER_CHANGED, MEMBER_SILENT, MEMBER_BACK),
    *(TEAM_CREATED, TEAM_GONE, TEAM_COMPLETED, APPROVAL_ASKED, APPROVAL_DECIDED, PLUGIN_STATE, SETTINGS_RELOADED),
    *RUN_KINDS,
)


class TeamEvent:
    """One thing that happened."""

    __slots__ = ("at", "detail", "kind", "subject", "team")

    def __init__(self, kind: str, team: str, subject: str, at: float, detail: dict[str, Plain] | None = None) -> None:
        self.kind = kind
        self.team = team
        """Empty for events of the whole machine."""
        self.subject = subject
        """The member, task, team or plugin that it is about."""
        self.at = at
        self.detail: dict[str, Plain] = detail or {}

    def fields(self) -> dict[str, Plain]:
        """As plain data, for a line of JSON."""
        return {"kind": self.kind, "team": self.team, "subject": self.subject, "at": self.at, "detail": self.detail}

    def __repr__(self) -> str:
        return f"TeamEvent({self.kind}, {self.subject}@{self.team}, {self.detail})"


def event_from(fields: dict[str, Plain]) -> TeamEvent | None:
    """The event that `fields` made; None if that is not what it is."""
    kind, team, subject, at, detail = (fields.get(key) for key in ("kind", "team", "subject", "at", "detail"))
    if not (isinstance(kind, str) and isinstance(team, str) and isinstance(subject, str)):
        return None
    if not isinstance(at, int | float) or not isinstance(detail, dict):
        return None
    return TeamEvent(kind, team, subject, float(at), detail)
