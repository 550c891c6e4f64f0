"""How a team stands: who has how much mail. Every state carries its source and age (G10)."""

from __future__ import annotations

from dataclasses import dataclass

from atm.domain.errors import AtmError
from atm.formats.mail.protocol_message import idle_sender
from atm.services.mail.bookkeeping import note_drift

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.mail.messages import Message
    from atm.domain.team.team import Team
    from atm.services.mail.mailroom import Mailroom


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


def sum_up(agent: str, rows: list[Message], size: int) -> InboxFacts:
    """Idle notices are counted apart: they say nothing that the owner must read."""
    messages = [row for row in rows if row.understood]
    idle = [row for row in messages if idle_sender(row) is not None]
    unread = sum(not row.read for row in messages) - sum(not row.read for row in idle)
    spoken = [row.timestamp for row in messages if row not in idle] or [row.timestamp for row in messages]
    return InboxFacts(
        agent=agent,
        unread=unread,
        total=len(messages),
        latest=max(spoken, default=""),
        malformed=len(rows) - len(messages),
        idle=len(idle),
        size=size,
    )


def inbox_facts(room: Mailroom, team: Team) -> list[InboxFacts | InboxProblem]:
    """One line for each member, then for inboxes whose owner is not in the roster."""
    owners = room.inboxes.owners(team.name)
    folded = {name.casefold() for name in team.names}
    strangers = [name for name in owners if name.casefold() not in folded]
    return [facts_of_inbox(room, team.name, name) for name in [*team.names, *strangers]]


def facts_of_inbox(room: Mailroom, team: str, agent: str) -> InboxFacts | InboxProblem:
    try:
        rows = room.inboxes.rows(team, agent)
        note_drift(room, rows)
        return sum_up(agent, rows, room.inboxes.size(team, agent))
    except AtmError as error:
        return InboxProblem(agent, error)
