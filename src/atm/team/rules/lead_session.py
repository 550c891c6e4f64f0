"""Which session leads a team, when it was last seen, and whether it counts as away (D17)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, kw_only=True)
class LeadSession:
    """As `state.json` says. Times are seconds since 1970."""

    session: str = ""
    """Empty: nobody ever said that they lead it. Such a team is never held up."""
    former: str = ""
    last_seen: float | None = None
    away_since: float | None = None
    """When the daemon noticed that the lead is away; None while it is not."""
    is_untold: bool = False
    """Its teammates have not been told yet that it is there again."""
    pid: int = 0
    began: str = ""
    boot: str = ""
    """The terminal that the lead sits at, if it is one: while that is open, the lead is not away."""
    folder: str = ""
    """Where the lead works."""
    common: str = ""
    """The git folder of the repository there; empty if there is none."""


REATTACHED, TAKEN_OVER, FORCED = "reattached", "taken_over", "forced"
PRESENT = "present"


def may_attach(recorded: str, mine: str, age: float | None, *, longest: float, force: bool = False) -> str:
    """
    How a session may become the lead, or PRESENT if it may not.

    `age`: seconds since the recorded one was last seen, None if never. Exactly `longest` is not yet longer (D17).
    """
    if recorded == mine:
        return REATTACHED
    if not recorded or age is None or age > longest:
        return TAKEN_OVER
    return FORCED if force else PRESENT
