"""The views, by the same names and digits on every face; and what a row of one stands for."""

from __future__ import annotations

OVERVIEW, BOARD, AGENT, MAIL, APPROVALS = "overview", "board", "agent", "mail", "approvals"
MERGE, SYNC, LOG, PROBLEMS = "merge", "sync", "log", "problems"
NUMBERED = (OVERVIEW, BOARD, AGENT, MAIL, APPROVALS, MERGE, SYNC, LOG, PROBLEMS)
"""By their digits, the same on every face."""

TASK, THREAD, REQUEST = "task", "thread", "request"
RUNS, SESSIONS, TEAMS, KEYS = "runs", "sessions", "teams", "keys"
VIEWS = (*NUMBERED, TASK, THREAD, REQUEST, RUNS, SESSIONS, TEAMS, KEYS)

TABS = {
    BOARD: ("list", "columns", "graph"),
    AGENT: ("output", "mail", "task", "diff", "receipts", "sync"),
}
"""Parts of a view, gone through with Tab."""

Target = tuple[str, str]
"""What a row stands for: its kind, and its id."""
