"""
Escalation: who is told, and when, that something waits for an answer.

First the lead, after the time that was asked for; after twice that time, the humans. No answer never means yes (D18):
telling them is all that happens.
"""

from __future__ import annotations

LEAD, HUMANS = 1, 2
DEFAULT_MINUTES = 15.0
MOST_MINUTES = 7 * 24 * 60.0


class Waiting:
    """A message that its recipient has to answer."""

    __slots__ = ("agent", "id", "minutes", "said", "sender", "since", "summary", "team", "told")

    def __init__(
        self, *, team: str, agent: str, id: str, sender: str, summary: str, since: float, minutes: float, told: int = 0
    ) -> None:
        self.team = team
        self.agent = agent
        """Who has to answer."""
        self.id = id
        self.sender = sender
        self.summary = summary
        self.since = since
        self.minutes = minutes
        self.told = told
        """How many steps have been taken."""
        self.said = ""
        """What the ledger says of the last one."""

    def step_at(self, now: float) -> int:
        """The furthest step that is due: 0, LEAD or HUMANS."""
        waited = now - self.since
        return sum(waited >= step * self.minutes * 60 for step in (LEAD, HUMANS))

    def next_at(self) -> float | None:
        """When the next step is due; None after the last one."""
        return None if self.told >= HUMANS else self.since + (self.told + 1) * self.minutes * 60


def minutes_in(evidence: str) -> float:
    """The time in "within 15 min", as the ledger has it."""
    words = evidence.split()
    try:
        minutes = float(words[1]) if len(words) > 1 else DEFAULT_MINUTES
    except ValueError:
        return DEFAULT_MINUTES
    return minutes if 0 < minutes <= MOST_MINUTES else DEFAULT_MINUTES
