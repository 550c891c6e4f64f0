"""How a team stands: who has how much mail. Every state carries its source and age (G10)."""

from __future__ import annotations

from dataclasses import dataclass

from atm.domain.errors import AtmError
from atm.formats.protocol_message import idle_sender
from atm.services import presence
from atm.services.bookkeeping import note_drift

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.liveness import Liveness
    from atm.domain.messages import Message
    from atm.domain.team import Member, Team
    from atm.services.mailroom import Mailroom


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
    """Idle notices are counted apart: they say nothing that anybody must read."""
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
    return [_facts(room, team.name, name) for name in [*team.names, *strangers]]


def _facts(room: Mailroom, team: str, agent: str) -> InboxFacts | InboxProblem:
    try:
        rows = room.inboxes.rows(team, agent)
        note_drift(room, rows)
        return sum_up(agent, rows, room.inboxes.size(team, agent))
    except AtmError as error:
        return InboxProblem(agent, error)


class Activity:
    """What is known of a member: what it was doing, and whether it is there; each with source and age (G10)."""

    __slots__ = ("liveness", "state", "state_age", "state_source")

    def __init__(self, state: str, source: str, age: float | None, liveness: Liveness) -> None:
        self.state = state
        self.state_source = source
        self.state_age = age
        self.liveness = liveness

    def as_fields(self) -> dict[str, object]:
        known = self.liveness
        warning = {"liveness_warning": known.warning} if known.warning else {}
        return {
            "state": self.state,
            "state_source": self.state_source,
            "state_age_seconds": _rounded(self.state_age),
            "liveness": known.value,
            "liveness_source": known.source,
            "liveness_age_seconds": _rounded(known.age),
            **warning,
        }


def activity(room: Mailroom, team: Team, member: Member) -> Activity:
    """The heartbeat says what a member does; without one, `isActive` in the roster is a hint, as old as the file."""
    now = room.clock.now()
    known = presence.liveness(room.presence, team.name, member.name, now)
    beat = room.presence.last(team.name, member.name)
    if beat is not None and beat.state:
        return Activity(beat.state, f"heartbeat ({beat.source})", max(0.0, now - beat.at), known)
    if member.is_active is None:
        return Activity(member.state, "no source", None, known)
    age = None if team.written_at is None else max(0.0, now - team.written_at)
    return Activity(member.state, "config.json isActive (a hint)", age, known)


def _rounded(age: float | None) -> float | None:
    return None if age is None else round(age, 1)
