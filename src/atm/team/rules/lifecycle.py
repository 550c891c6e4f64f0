"""
The life of a team, as a table: which state may follow which.

A team is made (*init*), gets members (*pending*), works (*active*), brings its work together (*consolidating*) and
is done (*complete*). Complete is final: such a team can be looked at, and nothing in it changes any more. A team can
be *stopped* anywhere before that, and taken up again.
"""

from __future__ import annotations

from atm.core.work_errors import BadMove

INIT, PENDING, ACTIVE = "init", "pending", "active"
CONSOLIDATING, COMPLETE, STOPPED = "consolidating", "complete", "stopped"
UNKNOWN = "unknown"
"""Shown where nobody can know: teams of Claude Code, and a state file that cannot be read. Never written."""

MOVES: dict[str, tuple[str, ...]] = {
    INIT: (PENDING, STOPPED),
    PENDING: (ACTIVE, STOPPED),
    ACTIVE: (CONSOLIDATING, STOPPED),
    CONSOLIDATING: (COMPLETE, ACTIVE, STOPPED),  # back to active when the consolidation was interrupted
    STOPPED: (PENDING, ACTIVE),
    COMPLETE: (),
}
STATES = tuple(MOVES)

MOST_REMEMBERED = 20
"""Moves that the state file keeps."""


class Move:
    """One step in a team's life."""

    __slots__ = ("after", "at", "before", "by")

    def __init__(self, before: str, after: str, at: str, by: str) -> None:
        self.before = before
        self.after = after
        self.at = at
        self.by = by


class TeamStanding:
    """Where a team stands, since when, through whom, and how that is known (G10)."""

    __slots__ = ("by", "history", "since", "source", "status")

    def __init__(
        self, status: str, source: str, *, since: str = "", by: str = "", history: list[Move] | None = None
    ) -> None:
        self.status = status
        self.source = source
        self.since = since
        self.by = by
        self.history = history or []


def may_move(before: str, after: str) -> bool:
    return after in MOVES.get(before, ())


def check_move(team: str, before: str, after: str) -> None:
    """Raise, naming what is allowed, unless the table has this move."""
    if after not in MOVES:
        raise BadMove(f"{after!r} is no state of a team", f"choose one of {', '.join(STATES)}")
    if may_move(before, after):
        return
    if before not in MOVES:
        raise BadMove(f"nobody knows where team {team!r} stands", "mend its state.json, or remove that file")
    allowed = MOVES.get(before, ())
    if not allowed:
        raise BadMove(f"team {team!r} is {before} and stays so", "make a new team for new work")
    raise BadMove(f"team {team!r} cannot go from {before} to {after}", f"from {before} it may go to {_or(allowed)}")


def way_to(before: str, after: str) -> list[str]:
    """The shortest way through the table, without stopping on it; empty if there is none."""
    ways: list[list[str]] = [[before]]
    seen = {before}
    while ways:
        way = ways.pop(0)
        if way[-1] == after:
            return way[1:]
        for step in MOVES.get(way[-1], ()):
            if step not in seen and (step != STOPPED or step == after):
                seen.add(step)
                ways.append([*way, step])
    return []


def _or(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
