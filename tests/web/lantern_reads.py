"""What views of the made-up team read besides its snapshot: mail, output, requests, merges, its past, the daemon."""

from __future__ import annotations

from typing import Any

from tests.tui.lantern import LANTERN, NOW, ago

from atm.crew.rules.costs import CostEstimate
from atm.files.formats.times import to_iso
from atm.merges.rules.items import MergeItem
from atm.merges.rules.shown_state import shown_merge

GOAL = "0.4: check only what changed, and say it in machine-readable reports"
COSTS = {"heron": 2.02, "kite": 1.92, "wren": 1.34, "rook": 1.14}
FOLDER = "/home/ann/code/lantern"

JOURNEY = ("queued", "written", "surfaced", "read", "answered")
EVIDENCE = {
    "written": "durable in the inbox, seq 171",
    "surfaced": "OpenCode plugin, session s-tern-2: proof about the context, not about the mind",
    "read": "the session went on with it in its context",
    "answered": "reply e4770c1a",
}


def _message(id: str, sender: str, to: str, before: float, text: str, stop: str, summary: str = "") -> dict[str, Any]:
    reached = JOURNEY[1 : JOURNEY.index(stop) + 1]
    events = {one: {"at": ago(before - 3 * at), "evidence": EVIDENCE[one]} for at, one in enumerate(reached)}
    stands = {one: "yes" if one in reached else "no" for one in JOURNEY} | {"queued": "unneeded"}
    return {
        "id": id,
        "sender": sender,
        "at": ago(before),
        "text": text,
        "summary": summary,
        "journeys": {to: events},
        "stands": stands,
    }


def _thread(*messages: dict[str, Any]) -> dict[str, Any]:
    people = sorted({one["sender"] for one in messages} | {to for one in messages for to in one["journeys"]})
    return {"key": "\n".join(people), "people": people, "messages": [*messages]}


THREADS = [
    _thread(
        _message(
            "9c41aa02",
            "finch",
            "ann",
            360,
            "Should a link to a missing #anchor fail the run, or only warn? 41 of our own links would fail today.",
            "surfaced",
            "#13: anchors",
        )
    ),
    _thread(
        _message(
            "b20e91d4",
            "tern",
            "heron",
            2950,
            "Does SARIF count columns from 0 or from 1? The tests I found do both.",
            "answered",
        ),
        _message(
            "e4770c1a",
            "heron",
            "tern",
            2850,
            "From 1, and in UTF-16 units. See section 3.30.6 of the standard.\n"
            "A line with an emoji in front of the link is the test that tells both apart.",
            "read",
        ),
        _message(
            "7c19f0a2",
            "heron",
            "tern",
            1020,
            "Did you see the note about columns? #12 and #14 wait for #7. If the schema is in your way, "
            "write the exporter first and leave the check to me.",
            "read",
            "Columns in SARIF",
        ),
    ),
    _thread(
        _message(
            "51d0be77",
            "wren",
            "ann",
            1320,
            "Second version of the plan for #10, with a way back.",
            "surfaced",
            "Plan for #10",
        )
    ),
    _thread(
        _message(
            "aa17c0de",
            "heron",
            "rook",
            240,
            "Round 2: print both, the count last. wren agrees for #9.",
            "read",
            "#8 and #9 collide in cli.py",
        )
    ),
    _thread(
        _message(
            "0be19f44",
            "wren",
            "tern",
            1860,
            "Exit codes are merged; report.py may import them.",
            "answered",
            "Exit codes are merged",
        )
    ),
]

OUTPUT = """● I will check the SARIF schema again before I write the exporter.

  Read src/lantern/report.py (212 lines)
  Read tests/data/sarif-2.1.0.json (3,389 lines)
  Bash python -m pytest tests/test_report.py -q
  │ FAILED tests/test_report.py::test_sarif_has_a_rule_for_each_kind
  │ FAILED tests/test_report.py::test_sarif_columns_count_from_one
  │ 2 failed, 17 passed in 3.42s

● The column must count UTF-16 units, not characters. Let me look at the schema again.

  Read tests/data/sarif-2.1.0.json (3,389 lines)
  Read tests/data/sarif-2.1.0.json (3,389 lines)"""

DIFF = """diff --git a/src/lantern/report.py b/src/lantern/report.py
index 1111111..2222222 100644
--- a/src/lantern/report.py
+++ b/src/lantern/report.py
@@ -88,3 +88,3 @@ def to_sarif
 def to_sarif(results):
-    column = link.column
+    column = utf16_units(link.line, link.column) + 1
     return {"ruleId": link.kind, "locations": [...]}
diff --git a/tests/test_report.py b/tests/test_report.py
--- a/tests/test_report.py
+++ b/tests/test_report.py
@@ -1,2 +1,5 @@
 import json
+
+def test_sarif_columns_count_from_one():
+    assert to_sarif([link(column=0)])["column"] == 1
"""

PAST: list[dict[str, Any]] = [
    {
        "id": "a3f0",
        "requester": "wren",
        "tier": "human",
        "operation": "packages.install",
        "tool": "Bash",
        "command": "pip install httpx==0.27.2",
        "folder": FOLDER,
        "paths": [],
        "diff": None,
        "task": "9",
        "asked_at": ago(2700),
        "expires_at": ago(1500),
        "state": "approved",
        "decided_by": "ann",
        "decided_at": ago(2460),
        "reason": "pinned, fine",
        "why": "rule 4 of .atm.toml",
    },
    {
        "id": "a2c9",
        "requester": "tern",
        "tier": "human",
        "operation": "delete",
        "tool": "Bash",
        "command": "rm -rf tests/data/cache",
        "folder": FOLDER,
        "paths": [],
        "diff": None,
        "task": "7",
        "asked_at": ago(4400),
        "expires_at": ago(3200),
        "state": "denied",
        "decided_by": "rule",
        "decided_at": ago(4320),
        "reason": "",
        "why": "rule 1 of .atm.toml: delete = deny",
    },
    {
        "id": "a1b7",
        "requester": "finch",
        "tier": "human",
        "operation": "network",
        "tool": "Bash",
        "command": "curl -s status.example.org/feed",
        "folder": FOLDER,
        "paths": [],
        "diff": None,
        "task": "13",
        "asked_at": ago(7600),
        "expires_at": ago(6400),
        "state": "expired",
        "decided_by": None,
        "decided_at": None,
        "reason": "",
        "why": "no rule is about it",
    },
]

CHECKS = [{"command": "python -m pytest -q", "ok": True, "code": 0, "output": "84 passed in 6.1s\n"}]


def _merge(task: int, agent: str, subject: str, status: str, before: float, **more: Any) -> dict[str, Any]:
    checks = [] if status in ("pending", "conflict_detected") else CHECKS
    return {
        "task": str(task),
        "agent": agent,
        "branch": f"lantern/{task}-{agent}",
        "subject": subject,
        "done_at": NOW - before,
        "files": ["src/lantern/cli.py", "tests/test_cli.py"],
        "status": status,
        "shown": shown_merge(MergeItem(task=str(task), status=status)).fields(),
        "checks": checks,
        "needs_human": False,
        "skipped": False,
        "reason": "",
        "attempts": 1,
        "sent_back": 0,
        "conflict": None,
        "commit": "c0ffee12" * 5,
        "salvage": "",
        "resolution": "",
        **more,
    }


QUEUE = [
    _merge(4, "finch", "Read settings from pyproject.toml", "merging", 41),
    _merge(
        8,
        "rook",
        "Progress line, and colours that can be off",
        "conflict_detected",
        1560,
        sent_back=1,
        reason="Both changed how the last line is printed; heron negotiates, round 2 of 3.",
        conflict={
            "files": ["src/lantern/cli.py"],
            "with": [{"task": "9", "agent": "wren", "subject": "Exit codes a script can rely on"}],
        },
    ),
    _merge(5, "rook", "Retry with back-off, respect Retry-After", "pending", 1140),
    _merge(9, "wren", "Exit codes a script can rely on", "merged", 1860),
    _merge(3, "rook", "Check links over HTTP, at most 4 at once", "merged", 3720),
    _merge(2, "kite", "Cache results in one file, with the time", "merged", 4800),
    _merge(1, "wren", "Find links in Markdown, with line numbers", "merged", 7080),
]
TARGET = {"branch": "atm/result/lantern", "head": "c0ffee12" * 5, "strategy": "rebase"}

SAID = (
    "cache hits are counted now",
    "the schema wants columns from one",
    "cli.py is free again",
    "84 tests pass here",
    "who reads the last line of the output?",
    "#3 is merged; take the new client",
    "I wait for #6",
)
CREW = ("heron", "wren", "kite", "rook", "finch", "tern")
CLAIMS = ("wren", "kite", "rook", "finch", "rook", "kite", "tern", "rook", "wren", "wren", "finch", "finch", "finch")


def _mark(before: float, kind: str, who: str, what: str, about: str) -> dict[str, Any]:
    return {"at": NOW - before, "kind": kind, "who": who, "what": what, "about": about}


def _letters() -> list[dict[str, Any]]:
    """So that no two members write at the same time."""
    found = []
    for at in range(96):
        who, to = CREW[(at * 5 + at // 7) % 6], CREW[(at * 5 + at // 7 + 1 + at % 4) % 6]
        found.append(_mark(9500 - at * 97 - at % 5 * 13, "mail", who, f"wrote to {to}: “{SAID[at % 7]}”", f"m{at}"))
    return found


LIFE: list[dict[str, Any]] = sorted(
    [
        *_letters(),
        *(
            _mark(9300 - 640 * at, "task", who, f"#{at + 1} status changed in_progress; claimed", str(at + 1))
            for at, who in enumerate(CLAIMS)
        ),
        *(
            _mark(2100 + 1900 * at, "approval", "ann", "approved request a3f0: “pinned, fine”", "a3f0")
            for at in range(4)
        ),
        *(
            _mark(before, "merge", "rook" if id == 3 else "wren", f"#{id} merged", str(id))
            for id, before in ((9, 1860), (3, 3720), (2, 4800), (1, 7080))
        ),
        _mark(1540, "merge", "rook", "#8 conflict with #9; in src/lantern/cli.py", "8"),
    ],
    key=lambda one: one["at"],
)
HAPPENINGS = [{**one, "at": to_iso(one["at"])} for one in LIFE]

BARS = [3, 5, 9, 7, 4, 6, 8, 12, 9, 5, 4, 3, 6, 11, 14, 9, 6, 4, 3, 5, 7, 6, 4, 2]
ACTIVITY = {
    "from": NOW - 9600,
    "step": 400,
    "mail": BARS,
    "tasks": [1 if at in (3, 7, 10, 15, 18, 21) else 0 for at in range(24)],
    "approvals": [1 if at in (2, 9, 12, 19) else 0 for at in range(24)],
    "turns": [one // 2 for one in BARS],
    "coordination": [None if at < 2 else 0.015 + 0.001 * one for at, one in enumerate(BARS)],
    "tokens": [40_000 + 6_000 * one for one in BARS],
    "cost": [None if at < 2 else 0.08 + 0.02 * one for at, one in enumerate(BARS)],
    "cost_estimate": CostEstimate(sum(COSTS.values()), is_complete=False).fields(),
}

LOOPS = [
    {"name": name, "state": "running", "beats": 480, "late_seconds": 0.1}
    for name in ("delivery", "sync", "merge", "watch", "stalls", "approvals", "plugins", "web", "spool")
]
DAEMON = {
    "running": True,
    "pid": 4242,
    "version": "1.2",
    "uptime_seconds": 9840.0,
    "socket": "/home/ann/.local/state/atm/daemon/socket",
    "loops": LOOPS,
    "plugins": [
        {"name": "digest", "state": "running", "description": "mails a summary of each team, once a period"},
        {"name": "webhook", "state": "stopped", "description": "posts team events to a web server"},
    ],
}
LOGS = [
    {"at": ago(60 * at), "level": "info", "event": f"loop delivery: {at} messages put before their agents"}
    for at in range(40)
]

RUNS = [
    {
        "run": "20260921-105300-77aa",
        "team": "lantern",
        "state": "running",
        "goal": GOAL,
        "started_at": ago(9660),
        "seconds": 9660.0,
        "done": 6,
        "tasks": 14,
        "agents": ["heron", "wren", "kite", "rook", "finch", "tern"],
    }
]
RUN = {
    "run": RUNS[0]["run"],
    "team": "lantern",
    "goal": GOAL,
    "outcome": "running",
    "why": None,
    "tasks": {
        "completed": ["1", "2", "3", "4", "8", "9"],
        "open": ["5", "6", "7", "10", "11", "12", "13", "14"],
        "failed": [],
    },
    "agents": [
        {
            "name": one.name,
            "restarts": int(one.name == "tern"),
            "turns": 14,
            "seconds": 9600.0,
            "tokens": 310_000 if one.name in COSTS else None,
            "cost": COSTS.get(one.name),
            "cost_estimate": CostEstimate(COSTS.get(one.name), is_complete=True).fields(),
        }
        for one in LANTERN.members
        if one.agent
    ],
    "approvals": {"asked": 4, "approved": 2},
    "tokens": 1_900_000,
    "tokens_known": False,
    "cost": None,
    "cost_estimate": CostEstimate(sum(COSTS.values()), is_complete=False).fields(),
    "seconds": 9660.0,
    "overhead": {"seconds": 240.0},
    "into": {"branch": TARGET["branch"]},
    "report": f"{FOLDER}/.atm/report.md",
}
SESSIONS = [{"team": "beacon", "state": "stopped", "lead": "owl", "open_tasks": 3, "last_seen": ago(86_000)}]
