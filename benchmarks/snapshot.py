"""A snapshot of a large team: the first, and the next after one message."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from atm import config
from atm.board.services import planning, working
from atm.board.services.new_tasks import NewTask
from atm.files.adapters.machine import find_layout
from atm.mail.rules.quotas import Quota
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.roster.services.members import add_member
from atm.team.rules.team import Member
from atm.wiring.board import build_boardroom
from atm.wiring.mail import build_room
from atm.wiring.snapshot import build_snapshots
from benchmarks.cases import Bench
from benchmarks.rows import Row
from benchmarks.sandboxes import TEAM, TEXT, new_team

LARGE, QUICK_LARGE = (50, 1_000, 100_000), (5, 20, 500)
"""Members, tasks and messages."""

SETTLED = 2.5
"""Seconds after which a file that was just written is believed to stay as it is."""

WHY_FIRST = "every row of every inbox is read once; inboxes of this size are what retention is there to prevent"
WHY_NEXT = "the changed inbox is read whole, and every member's agenda is judged anew for work-sync"


@dataclass(frozen=True, slots=True)
class SnapshotFigures:
    """Seconds."""

    size: tuple[int, int, int]
    first: float
    same: float
    changed: float


def measure_snapshots(bench: Bench) -> SnapshotFigures:
    size = QUICK_LARGE if bench.effort.rounds < 10 else LARGE
    members, tasks, messages = size
    bench.say(f"snapshots: {members} members × {tasks} tasks × {messages} messages")
    sandbox = new_team(bench.new_folder())
    layout = find_layout(sandbox.environment)
    room = build_room(layout)
    room.quota = Quota(0, 0)
    names = [f"member-{number}" for number in range(members)]
    for name in names:
        add_member(room, TEAM, Member(name))
    settings = config.load(layout, sandbox.environment, str(sandbox.home), {})
    board = build_boardroom(layout, settings, room)
    planning.add(board, TEAM, "human", [NewTask(f"task {number}") for number in range(tasks)])
    for name in names:
        working.claim(board, TEAM, name)
    rows = [_row(number) for number in range(messages // members)]
    for name in names:
        Path(layout.inbox(TEAM, name)).write_text(json.dumps(rows, indent=2))
    time.sleep(SETTLED)
    snapshots = build_snapshots(layout, settings, board, sandbox.environment)

    def look() -> float:
        began = time.perf_counter()
        snapshots.of(TEAM)
        return time.perf_counter() - began

    first, same = look(), look()
    send(room, TEAM, names[0], Draft(sender=names[1], text=TEXT))
    return SnapshotFigures(size, first, same, look())


def _row(number: int) -> dict[str, object]:
    id = f"message-{number}"
    said = {"from": "eve", "text": TEXT, "timestamp": "2026-11-16T10:00:00.000Z", "message_id": id}
    return {**said, "msgV": 1, "msg_id": id, "type": "message", "read": True}


def snapshot_targets(found: SnapshotFigures) -> list[Row]:
    members, tasks, messages = found.size
    what = f"snapshot of {members} members × {tasks:,} tasks × {messages:,} messages"
    unchanged = f"{found.same * 1000:.0f} ms if nothing changed"
    return [
        Row(what, f"{found.first:.2f} s", "the first", "≤ 1 s", found.first <= 1, WHY_FIRST),
        Row(
            "the same after one message",
            *(f"{found.changed * 1000:.0f} ms", unchanged, "≤ 20 ms", found.changed <= 0.02, WHY_NEXT),
        ),
    ]
