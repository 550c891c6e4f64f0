"""What is entered in the ledger, and what the ledger says was seen."""

from __future__ import annotations

from atm.domain.errors import AtmError
from atm.domain.mail.receipts import already_read
from atm.formats.files.times import to_iso
from atm.formats.mail.journal import MESSAGE, RECEIPT, Line, histories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.mail.messages import Message
    from atm.services.mail.mailroom import Mailroom


def record(room: Mailroom, team: str, agent: str, ids: list[str], state: str, evidence: str, raw: str = "") -> None:
    """Enter what happened to messages. Raises if the ledger cannot be written."""
    if ids:
        kind, at = MESSAGE if raw else RECEIPT, to_iso(room.clock.now())
        line = Line(kind=kind, ids=ids, agent=agent, state=state, at=at, evidence=evidence, raw=raw)
        room.ledger.append(team, [line])


def enter(room: Mailroom, team: str, agent: str, ids: list[str], state: str, evidence: str) -> bool:
    """
    The same; False if it could not be done.

    What happened has happened all the same, so no command fails because of it.
    """
    try:
        record(room, team, agent, ids, state, evidence)
    except AtmError:
        return False
    return True


def note_drift(room: Mailroom, rows: list[Message]) -> None:
    """Fields that we do not know are kept, and entered once in a log: the format may have moved on."""
    unknown = {name for row in rows for name in row.unknown}
    if unknown:
        room.drift.note("inbox", sorted(unknown))


def seen_lately(room: Mailroom, team: str, agent: str) -> set[str]:
    """The ids of what this agent has read or was shown, as far as the end of the ledger tells."""
    past = histories(room.ledger.recent(team))
    return {id for (id, owner), states in past.items() if owner == agent and already_read(states)}


def shown_before(room: Mailroom, team: str, agent: str, messages: list[Message]) -> set[str]:
    """Those of these messages that this agent has read or was shown at any time, by the whole ledger."""
    past = histories(room.ledger.about(team, [message.id for message in messages if message.id]))
    return {id for (id, owner), states in past.items() if owner == agent and already_read(states)}
