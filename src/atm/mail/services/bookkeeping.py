"""What is entered in the ledger, and what the ledger says was seen."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.files.formats.times import from_iso, to_iso
from atm.mail.formats.journal import MESSAGE, RECEIPT, Line, histories
from atm.mail.rules.receipts import RETURNED, already_read, leaves_doubt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.formats.journal import Entry
    from atm.mail.rules.messages import Message
    from atm.mail.services.mailroom import Mailroom


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
    note_unknown(room, {name for row in rows for name in row.unknown})


def note_unknown(room: Mailroom, unknown: set[str]) -> None:
    if unknown:
        room.drift.note("inbox", sorted(unknown))


def all_told(room: Mailroom, team: str) -> list[Entry]:
    """Everything that the ledger tells; nothing if it cannot be read, which whoever asked is told."""
    try:
        return room.ledger.entries(team)[0]
    except AtmError as error:
        room.troubles.note(f"the ledger cannot be read, so what it tells is missing: {error}")
        return []


class Sightings:
    """What the ledger tells of an agent's mail: the ids of what was shown to it, and of what may have been."""

    __slots__ = ("doubted", "shown")

    def __init__(self, entries: list[Entry], agent: str) -> None:
        past = histories(entries)
        self.shown = {id for (id, owner), states in past.items() if owner == agent and already_read(states)}
        mine = [entry for entry in entries if entry.agent == agent and leaves_doubt(entry.state, entry.evidence)]
        self.doubted = {id for entry in mine for id in entry.ids}


def told_of(room: Mailroom, team: str, ids: list[str] | None = None) -> list[Entry]:
    """
    What the ledger tells of some messages, or else of the last minutes; nothing if it cannot be read.

    It is a book about the mail and not the mail: what lies in an inbox is shown all the same, perhaps a second time,
    and whoever asked is told why (G1 before G2).
    """
    try:
        return room.ledger.recent(team) if ids is None else room.ledger.about(team, ids)
    except AtmError as error:
        room.troubles.note(f"the ledger cannot be read, so mail that was shown before may be shown again: {error}")
        return []


def sightings_lately(room: Mailroom, team: str, agent: str) -> Sightings:
    """As far as the end of the ledger tells."""
    return Sightings(told_of(room, team), agent)


def sightings_of(room: Mailroom, team: str, agent: str, messages: list[Message]) -> Sightings:
    """Those of these messages, at any time, by the whole ledger."""
    return Sightings(told_of(room, team, [message.id for message in messages if message.id]), agent)


def seen_lately(room: Mailroom, team: str, agent: str) -> set[str]:
    """The ids of what this agent has read or was shown, as far as the end of the ledger tells."""
    return sightings_lately(room, team, agent).shown


def shown_before(room: Mailroom, team: str, agent: str, messages: list[Message]) -> set[str]:
    """Those of these messages that this agent has read or was shown at any time, by the whole ledger."""
    return sightings_of(room, team, agent, messages).shown


def shown_at(room: Mailroom, team: str, agent: str, id: str) -> float:
    """When this message came into the agent's context; 0 if it has not, or was given back since."""
    at = 0.0
    for entry in told_of(room, team, [id]):
        if entry.agent == agent and already_read([entry.state]):
            at = at or from_iso(entry.at) or 0.0
        elif entry.agent == agent and entry.state == RETURNED:
            at = 0.0
    return at
