"""How a team stands: who has how much mail. Every state carries its source and age (G10)."""

from __future__ import annotations

from dataclasses import dataclass

from atm.core.errors import AtmError
from atm.mail.services.bookkeeping import note_unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.services.mailroom import Mailroom
    from atm.team.rules.team import Team


@dataclass(frozen=True, slots=True)
class InboxFacts:
    """One inbox in numbers."""

    agent: str
    unread: int
    total: int
    latest: str
    malformed: int
    idle: int
    size: int


class InboxProblem:
    """An inbox that cannot be summed up, and why."""

    __slots__ = ("agent", "error")

    def __init__(self, agent: str, error: AtmError) -> None:
        self.agent = agent
        self.error = error


def inbox_facts(room: Mailroom, team: Team) -> list[InboxFacts | InboxProblem]:
    """One line for each member, then for inboxes whose owner is not in the roster."""
    owners = room.inboxes.owners(team.name)
    folded = {name.casefold() for name in team.names}
    strangers = [name for name in owners if name.casefold() not in folded]
    return [facts_of_inbox(room, team.name, name) for name in [*team.names, *strangers]]


def facts_of_inbox(room: Mailroom, team: str, agent: str) -> InboxFacts | InboxProblem:
    try:
        counts = room.inboxes.counts(team, agent)
        note_unknown(room, counts.unknown)
        size = room.inboxes.size(team, agent)
        return InboxFacts(agent, counts.unread, counts.total, counts.latest, counts.malformed, counts.idle, size)
    except AtmError as error:
        return InboxProblem(agent, error)
