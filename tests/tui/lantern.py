"""A made-up team, as the mock screens show it: fourteen tasks, six agents, one of everything that can happen."""

from __future__ import annotations

from typing import Any

from atm.files.formats.times import to_iso
from atm.merges.rules.shown_state import shown
from atm.ui.tui.model import Model
from atm.ui.views.team.seen import (
    AgentSeen,
    ApprovalSeen,
    AskedSeen,
    LeadSeen,
    MailSeen,
    MemberSeen,
    MergesSeen,
    OpenMerge,
    ReviewSeen,
    ShownSeen,
    StalledSeen,
    SyncSeen,
    TaskSeen,
    TeamSeen,
)

NOW = 1_790_000_000.0


def ago(seconds: float) -> str:
    return to_iso(NOW - seconds)


def member(
    name: str,
    runtime: str = "",
    state: str = "working",
    *,
    liveness: str = "online",
    tasks: tuple[str, ...] = (),
    unread: int = 0,
    age: float = 3.0,
    kind: str = "agent",
    error: str | None = None,
    cost: float | None = None,
    pane: str | None = None,
) -> MemberSeen:
    started = (
        AgentSeen(runtime=runtime, state=state, task=tasks[0] if tasks else None, error=error, cost=cost, pane=pane)
        if runtime
        else None
    )
    return MemberSeen(
        name,
        kind=kind,
        state=state,
        state_source="heartbeat (hook)",
        state_age_seconds=age,
        liveness=liveness,
        liveness_source="heartbeat",
        liveness_age_seconds=age,
        mail=MailSeen(unread, 5),
        tasks=[*tasks],
        sync=SyncSeen("needs_sync", "Needs sync", "2 actionable tasks changed since last member report."),
        agent=started,
    )


def task(id: int, subject: str, state: str, owner: str | None = None, after: str = "", **more: Any) -> TaskSeen:
    waits = after.split()
    still = waits if state == "blocked" else []
    name = "question" if more.get("needs") else "plan_waits" if more.get("plan") == "submitted" else state
    if state == "pending" and more.get("failures") and owner is None:
        name = "to_retry"
    merged = more.pop("shown", None) or shown_seen(name)
    return TaskSeen(str(id), subject, state, owner, blocked_by=waits, blocked_by_open=still, shown=merged, **more)


def shown_seen(state: str) -> ShownSeen:
    """A state as the server says it."""
    return ShownSeen(**shown(state).fields())  # type: ignore[arg-type]


def open_merge(task: str, status: str, reason: str = "") -> OpenMerge:
    return OpenMerge(task, status, reason, shown_seen(status))


PUSH = ApprovalSeen(
    "a41c",
    "kite",
    "human",
    "git_push",
    "Bash",
    "git push -u origin lantern/6-only-changed",
    "/home/ann/lantern/.atm/worktrees/6-kite",
    task="6",
    asked_at=ago(480),
    expires_at=to_iso(NOW + 702),
    state="waiting",
    why="git_push is for a person to grant, and no rule says otherwise",
)

LANTERN = TeamSeen(
    "lantern",
    version=1,
    taken_at=ago(0),
    created_at=ago(9700),
    status="active",
    status_since=ago(9660),
    lead=LeadSeen("heron"),
    members=[
        member("ann", kind="human", unread=2),
        member("heron", "claude", tasks=("8",), cost=6.42),
        member("kite", "codex", tasks=("6",)),
        member("wren", "claude", "planning", tasks=("10",)),
        member("finch", "gemini", tasks=("13",)),
        member("tern", "opencode", tasks=("7",), age=20),
        member("rook", "codex", "idle", age=720),
    ],
    tasks=[
        task(1, "Find links in Markdown, with line numbers", "completed", "wren", shown=shown_seen("merged")),
        task(2, "Cache results in one file, with the time", "completed", "kite", shown=shown_seen("merged")),
        task(3, "Check links over HTTP, at most 4 at once", "completed", "rook", shown=shown_seen("merged")),
        task(4, "Read settings from pyproject.toml", "completed", "finch", shown=shown_seen("merging")),
        task(5, "Retry with back-off, respect Retry-After", "review", "rook", review=ReviewSeen("review", "heron")),
        task(6, "Check only files changed since a commit", "in_progress", "kite"),
        task(7, "Reports as JSON and SARIF", "in_progress", "tern"),
        task(8, "Progress line, and colours that can be off", "completed", "rook", shown=shown_seen("conflict")),
        task(9, "Exit codes a script can rely on", "completed", "wren", shown=shown_seen("merged")),
        task(10, "One connection pool for all hosts", "planning", "wren", plan="submitted"),
        task(11, "Ignore list: links that may be broken", "pending", "finch"),
        task(12, "Manual: incremental runs in CI", "blocked", None, "6 7"),
        task(13, "Check #anchors inside pages", "in_progress", "finch", needs="user"),
        task(14, "Release 0.4.0", "blocked", None, "5 12 10 11"),
    ],
    approvals=[PUSH],
    asked=[
        AskedSeen("10", "plan", "lead", "wren", ago(1320), "1. one pool\n2. for all hosts"),
        AskedSeen("13", "question", "user", "finch", ago(360), "Should a missing #anchor fail the run?"),
    ],
    stalled=[StalledSeen("7", "tern", ago(2820), "owner")],
    merges=MergesSeen(
        "atm/result/lantern",
        {"merged": 4, "merging": 1, "conflict": 1},
        open=[open_merge("8", "conflict", "with #9 in src/lantern/cli.py; round 2 of 3"), open_merge("4", "merging")],
    ),
)


def lantern(seen: TeamSeen = LANTERN) -> Model:
    return Model("lantern", ["lantern"], seen, NOW - 0.4, now=NOW)
