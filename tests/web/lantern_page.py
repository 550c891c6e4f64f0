"""The made-up team of the mock pages, in the shape of the page's API: what tests of looks and pictures show."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from tests.tui.lantern import LANTERN, NOW, ago, open_merge, shown_seen
from tests.web.lantern_reads import COSTS, FOLDER, GOAL, LIFE

from atm.crew.rules.costs import CostEstimate, total_cost
from atm.files.formats.times import to_iso
from atm.merges.rules.shown_state import shown
from atm.ui.views.team.seen import (
    AgentSeen,
    CollisionSeen,
    MemberSeen,
    MergesSeen,
    SyncSeen,
    TaskSeen,
    TeamSeen,
)
from atm.ui.web.whole import whole_of as composed

AFTER = {6: "1 2", 7: "1", 13: "1", 9: "1", 5: "3", 8: "3", 10: "3", 11: "4", 12: "6 7", 14: "5 8 10 11 12 13"}


def _task(task: TaskSeen) -> TaskSeen:
    waits = AFTER.get(int(task.id), "").split()
    still = [id for id in waits if task.state == "blocked"]
    blocks = [str(id) for id, after in AFTER.items() if task.id in after.split()]
    return replace(task, blocked_by=waits, blocked_by_open=still, blocks=blocks)


def _member(one: MemberSeen) -> MemberSeen:
    state, label, why = {
        "heron": ("working", "Working", "reported “still working” on #8, 4 min ago"),
        "rook": ("synced", "Synced", "knows that nothing is free"),
        "tern": ("needs_sync", "Needs sync", "1 item changed since its last report"),
        "finch": ("blocked", "Blocked", "reported that it waits for an answer on #13"),
    }.get(one.name, ("synced", "Synced", "reported the current agenda"))
    agent = one.agent
    if agent is not None:
        task = one.tasks[0] if one.tasks else "5"
        agent = replace(
            agent,
            backend="headless",
            cost=COSTS.get(one.name),
            cost_estimate=CostEstimate(COSTS.get(one.name), is_complete=True).fields(),
            tokens=310_000 if one.name in COSTS else None,
            turns=14,
            branch=f"lantern/{task}-{one.name}",
            worktree=f"{FOLDER}/.atm/worktrees/{task}-{one.name}",
        )
    return replace(one, sync=None if one.is_human else SyncSeen(state, label, why), agent=agent)


SEEN = replace(
    LANTERN,
    members=[_member(one) for one in LANTERN.members],
    tasks=[_task(one) for one in LANTERN.tasks],
    asked=[
        replace(
            LANTERN.asked[0],
            whom="user",
            text=(
                "1. Put one client in http.py, closed at the end of the run\n"
                "2. Keep 4 connections for each host, 20 in all\n"
                "3. Keep the old code behind --no-pool until 0.5\n"
                "4. Measure 500 links before and after; write both numbers into #10\n"
                "5. If it is not faster by 20 %, leave --no-pool as the default and say so"
            ),
        ),
        replace(LANTERN.asked[1], text="Should a link to a missing #anchor fail the run, or only warn?"),
    ],
    merges=MergesSeen(
        "atm/result/lantern",
        {"merged": 4, "merging": 1, "conflict_detected": 1},
        open=[open_merge("8", "conflict", "with #9 in src/lantern/cli.py; round 2 of 3"), open_merge("4", "merging")],
        collisions=[CollisionSeen(["5", "10"], ["rook", "wren"], ["src/lantern/http.py"], [])],
    ),
)


def snapshot_of(seen: TeamSeen, description: str | None = GOAL) -> dict[str, Any]:
    fields = {**asdict(seen), "description": description, "status_source": "state.json"}
    agents = [one.agent for one in seen.members if one.agent is not None]
    fields["cost_estimate"] = total_cost((one.runtime, one.cost) for one in agents).fields() if agents else None
    for late in fields["unacknowledged"]:
        late["from"] = late.pop("sender")
    return fields


def whole_of(seen: TeamSeen, now: float = NOW) -> dict[str, Any]:
    """As the server composes it."""
    return composed(snapshot_of(seen), seen, now)


def detail_of(task: TaskSeen) -> dict[str, Any]:
    """What `tasks show` says beyond the list."""
    events = [
        {"id": "e1", "type": "task_created", "at": ago(9600), "actor": "heron", "subject": task.subject},
        {
            "id": "e2",
            "type": "status_changed",
            "at": ago(5460),
            "actor": task.owner or "heron",
            "from": "pending",
            "to": "in_progress",
            "reason": "claimed",
        },
        {
            "id": "e3",
            "type": "commented",
            "at": ago(2820),
            "actor": task.owner or "heron",
            "text": "JSON is written, 17 tests pass",
        },
        {"id": "e4", "type": "reminded", "at": ago(1020), "actor": "atm", "reason": "no progress for 30 min"},
    ]
    if task.id == "11":
        answer = {"id": "e6", "type": "clarification_answered", "at": ago(3000), "actor": "ann", "whom": "user"}
        events += [
            {
                "id": "e5",
                "type": "clarification_requested",
                "at": ago(3100),
                "actor": "finch",
                "note": "Names or patterns?",
            },
            {**answer, "note": "Patterns, one in a line."},
        ]
    more = {
        "description": "One writer for each format. SARIF as GitHub reads it: columns count from one, in UTF-16 units.",
        "acceptance": [
            {"kind": "command", "command": "pytest tests/test_report.py", "by": "human"},
            {"kind": "command", "command": "lantern --format sarif docs | schema-check", "by": "human"},
        ],
        "evidence": [
            {
                "kind": "command",
                "command": "pytest tests/test_report.py",
                "ok": False,
                "code": 1,
                "seconds": 3.42,
                "output": "2 failed, 17 passed in 3.42s\n",
            }
        ]
        if task.id == "7"
        else [],
        "comments": [{"by": task.owner or "heron", "at": ago(2820), "text": "JSON is written, 17 tests pass"}],
        "createdBy": "heron",
        "createdAt": ago(9600),
        "events": events,
    }
    return {**asdict(task), **more}


AGENT_NAMES = [f"agent-{at:02}" for at in range(50)]


def crowd(agents: int = 50, tasks: int = 1000) -> TeamSeen:
    """As large as the page must stay quick with."""
    states = ("completed", "in_progress", "blocked", "pending", "review", "completed")
    names = AGENT_NAMES[:agents]
    made = [
        TaskSeen(
            str(at + 1),
            f"Task number {at + 1} of a long board",
            states[at % 6],
            names[at % agents] if at % 6 != 3 else None,
            blocked_by=[str(at)] if at % 6 == 2 else [],
            blocked_by_open=[str(at)] if at % 6 == 2 else [],
            shown=shown_seen(states[at % 6]),
        )
        for at in range(tasks)
    ]
    held: dict[str, list[str]] = {name: [] for name in names}
    for task in made:
        if task.owner and task.state == "in_progress":
            held[task.owner].append(task.id)
    members = [
        MemberSeen(
            name,
            state="working",
            state_source="hook",
            state_age_seconds=2.0,
            liveness="online",
            liveness_source="heartbeat",
            liveness_age_seconds=2.0,
            tasks=held[name][:3],
            sync=SyncSeen("synced", "Synced", ""),
            agent=AgentSeen(runtime="codex", state="working", task=next(iter(held[name]), None), cost=0.5),
        )
        for name in names
    ]
    return TeamSeen("crowd", 1, ago(0), ago(9000), "active", ago(9000), members=members, tasks=made)


def at_moment(seen: TeamSeen, moment: float) -> dict[str, Any]:
    """The team as it would have been: tasks were claimed one after the other."""
    share = min(1.0, max(0.0, (moment - (NOW - 9600)) / 9600))
    known = int(share * 14)

    def state(at: int, task: TaskSeen) -> str:
        return (
            task.state if share >= 1 else "completed" if at < known - 3 else "in_progress" if at < known else "blocked"
        )

    merges = {"8": "conflict", "9": "merged"} if share > 0.8 else {}

    def as_shown(state: str) -> dict[str, str]:
        found = shown(state)
        return {"state": found.state, "word": found.word, "tone": found.tone, "column": found.column}

    tasks = [
        {
            "id": one.id,
            "subject": one.subject,
            "state": state(at, one),
            "shown": as_shown(merges.get(one.id) or state(at, one)),
            "owner": one.owner,
            "blocked_by": one.blocked_by,
        }
        for at, one in enumerate(seen.tasks, 1)
    ]
    members = [{"name": one.name, "unread": 0, "state": one.state} for one in seen.members]
    return {
        "moment": moment,
        "tasks": tasks,
        "members": members,
        "approvals": [],
        "merges": [{"task": "8", "status": "conflict_detected"}, {"task": "9", "status": "merged"}]
        if share > 0.8
        else [],
        "happened": [one for one in LIFE if one["at"] <= moment][-30:],
    }


def iso(epoch: float) -> str:
    return to_iso(epoch)
