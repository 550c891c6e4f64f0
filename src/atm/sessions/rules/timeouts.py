"""
Who is away, and what becomes of the others (seed 003, sections 3 and 7). Pure: ages in, a verdict out.

A lead that is away makes zombies of its teammates: they go on with their task, their mail to one another waits, and in
the end they are shut down. It never comes to that in a team that has no recorded lead session.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.sessions.rules.policy import SessionPolicy
    from atm.team.rules.lead_session import LeadSession

HERE, AWAY, OVER = "here", "away", "over"

IDLE, IN_PROGRESS, BLOCKED, COMPLETE = "idle", "in_progress", "blocked", "complete"
ZOMBIE, SHUTDOWN = "zombie", "shutdown"
STATUSES = (IDLE, IN_PROGRESS, BLOCKED, COMPLETE, ZOMBIE, SHUTDOWN)


def lead_standing(lead: LeadSession, age: float | None, now: float, policy: SessionPolicy) -> str:
    """
    HERE, AWAY, or OVER when it has been away for longer than its teammates wait.

    `age`: seconds since it was last seen, negative if its stamp lies in the future (it is here then, D16); None if it
    was never seen. The bound counts from the moment at which its absence was noticed.
    """
    if not lead.session or age is None or age <= policy.lead_away:
        return HERE
    if lead.away_since is not None and now - lead.away_since > policy.zombie:
        return OVER
    return AWAY


def teammate_status(
    *,
    is_online: bool,
    lead: str = HERE,
    task: str = "",
    waits: bool = False,
    has_finished: bool = False,
    is_work_left: bool = True,
    is_over: bool = False,
) -> str:
    """One table: from the nine states (`is_over`), the lead, the heartbeat and the board. First row that fits."""
    rows = (
        (is_over or (lead == OVER and is_online), SHUTDOWN),
        (lead == AWAY and is_online, ZOMBIE),
        (bool(task) and waits, BLOCKED),
        (bool(task), IN_PROGRESS),
        (has_finished and not is_work_left, COMPLETE),
        (True, IDLE),
    )
    return next(status for fits, status in rows if fits)


def why_task_returns(*, away: float, waits: bool, idle: float | None, policy: SessionPolicy) -> str:
    """
    Why a zombie loses its task; empty while it keeps it.

    `away`: for how long the lead has been; `idle`: for how long the member has done nothing, None if it works.
    """
    if waits and away > policy.blocked:
        return f"it waits for the lead, who has been away for more than {policy.blocked / 60:g} min"
    if idle is not None and min(idle, away) > policy.zombie_idle:
        return f"idle for more than {policy.zombie_idle / 60:g} min while the lead is away"
    return ""
