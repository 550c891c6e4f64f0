"""What a view needs besides the snapshot: read when it is looked at, and not before."""

from __future__ import annotations

from atm.ui.faces.view_names import (
    AGENT,
    APPROVALS,
    BOARD,
    LOG,
    MAIL,
    MERGE,
    OVERVIEW,
    PROBLEMS,
    REQUEST,
    RUNS,
    SESSIONS,
    SYNC,
    TASK,
    THREAD,
)
from atm.ui.tui.panels.agent import page_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.tui.model import Model

THREADS, ALL_APPROVALS, QUEUE, ALL_RUNS, ALL_SESSIONS, HAPPENINGS, DAEMON = (
    *("threads", "approvals", "merges", "runs", "sessions"),
    *("happenings", "daemon"),
)
OF_VIEW = {
    MAIL: THREADS,
    THREAD: THREADS,
    APPROVALS: ALL_APPROVALS,
    REQUEST: ALL_APPROVALS,
    MERGE: QUEUE,
    RUNS: ALL_RUNS,
    SESSIONS: ALL_SESSIONS,
    LOG: HAPPENINGS,
    PROBLEMS: DAEMON,
}
PAGE_OF_CHOSEN = {
    MERGE: ("merge", "show"),
    RUNS: ("runs", "show"),
    SESSIONS: ("session", "show"),
    SYNC: ("sync", "diagnose"),
}


def parts_needed(model: Model) -> list[str]:
    """Kinds of what is read in one piece."""
    found = [OF_VIEW[model.view]] if model.view in OF_VIEW else []
    return [*found, THREADS] if model.view == AGENT and model.part in ("mail", "receipts") else found


def pages_needed(model: Model, *, is_wide: bool) -> list[tuple[str, ...]]:
    """Commands whose output is shown."""
    if model.view == TASK and model.task:
        return [("tasks", "show", model.task)]
    if model.view == AGENT and model.agent:
        page = page_of(model, model.agent, model.part)
        return [page] if page else []
    if model.view in PAGE_OF_CHOSEN and model.target is not None:
        return [(*PAGE_OF_CHOSEN[model.view], model.target[1])]
    if model.target is not None and model.target[0] == "task" and model.view in (OVERVIEW, BOARD, APPROVALS, PROBLEMS):
        return [("tasks", "show", model.target[1])]
    who = model.chosen_agent
    member = model.seen.member(who) if model.seen is not None and who else None
    if model.view in (OVERVIEW, PROBLEMS) and member is not None and member.agent is not None:
        return [("peek", member.name, "--lines", "200")] if is_wide or model.is_peeking else []
    return []
