"""Receipts: where a message is, and how that is known. What was not observed is called unknown (D7)."""

from __future__ import annotations

from atm.core.errors import AtmError, NoSuchMessage
from atm.files.formats.times import to_iso
from atm.mail.formats.journal import MESSAGE
from atm.mail.rules.receipts import JOURNEY, standing
from atm.mail.services.bookkeeping import all_told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.mail.formats.spool_entry import Spooled
    from atm.mail.rules.messages import Message
    from atm.mail.rules.receipts import Event
    from atm.mail.services.mailroom import Mailroom


IN_CONTEXT = "in its context, not yet read"
"""Marked in the inbox because it was put before the agent, which has given no sign since of going on with it."""

_SHOWN = "in the inbox, read"


class Trace:
    """One message and one recipient."""

    __slots__ = ("agent", "events", "message", "message_id", "now", "seq", "team")

    def __init__(self, team: str, agent: str, message_id: str) -> None:
        self.team = team
        self.agent = agent
        self.message_id = message_id
        self.message: Message | None = None
        self.seq: int | None = None
        self.events: list[Event] = []
        self.now = ""
        """Where it lies at this moment."""

    @property
    def standing(self) -> str:
        return standing([event.state for event in self.events])

    def journey(self) -> list[tuple[str, Event | None]]:
        """Each state of the journey with the last event that shows it, or None: not observed."""
        last = {event.state: event for event in self.events}
        return [(state, last.get(state)) for state in JOURNEY]


def trace(room: Mailroom, message_id: str, teams: list[str]) -> list[Trace]:
    """Everything known of a message, by its id or the beginning of it, in some teams."""
    found: dict[tuple[str, str, str], Trace] = {}
    if not message_id:
        raise NoSuchMessage("the id is empty", "give the id of a message, or the beginning of it")
    for team in teams:
        _from_ledger(room, team, message_id, found)
        _from_inboxes(room, team, message_id, found)
    _from_spool(room, message_id, found)
    for one in found.values():
        if one.standing == "surfaced" and one.now == _SHOWN:
            one.now = IN_CONTEXT
    ids = {id for _, _, id in found}
    if message_id in ids:
        found = {key: value for key, value in found.items() if key[2] == message_id}
    elif len(ids) > 1:
        raise NoSuchMessage(f"{len(ids)} messages begin with {message_id!r}", "give more of the id")
    if not found:
        raise NoSuchMessage(f"no team here knows a message {message_id!r}", "see the ids with `atm read --all --json`")
    return list(found.values())


def _trace(found: dict[tuple[str, str, str], Trace], team: str, agent: str, id: str) -> Trace:
    return found.setdefault((team, agent, id), Trace(team, agent, id))


def _from_ledger(room: Mailroom, team: str, message_id: str, found: dict[tuple[str, str, str], Trace]) -> None:
    for entry in all_told(room, team):
        for event in entry.events():
            if event.id.startswith(message_id):
                one = _trace(found, team, event.agent, event.id)
                one.events.append(event)
                if entry.kind == MESSAGE and one.seq is None:
                    one.message, one.seq = entry.message, entry.seq


def _from_inboxes(room: Mailroom, team: str, message_id: str, found: dict[tuple[str, str, str], Trace]) -> None:
    """What lies in inboxes now: also messages of others, and of ours that were killed before the ledger."""
    for agent in room.inboxes.owners(team):
        try:
            rows = room.inboxes.rows(team, agent)
        except AtmError as error:
            for (where, whose, _), one in found.items():
                if (where, whose) == (team, agent):
                    one.now = f"unknown: {error}"
            continue
        for row in rows:
            if row.id is not None and row.id.startswith(message_id):
                one = _trace(found, team, agent, row.id)
                one.message = one.message or row
                one.now = _SHOWN if row.read else "in the inbox, unread"
    for one in found.values():
        if one.team == team and not one.now:
            one.now = "not in the inbox"


def _from_spool(room: Mailroom, message_id: str, found: dict[tuple[str, str, str], Trace]) -> None:
    for folder, look in (("pending", room.spool.pending), ("failed", room.spool.failed)):
        for item in _looked_at(room, look):
            entry = item.entry
            if entry.message_id.startswith(message_id):
                again = f", next try {to_iso(entry.next_attempt)}" if entry.next_attempt else ""
                one = _trace(found, entry.team, entry.agent, entry.message_id)
                one.now = f"in the spool ({folder}, {entry.tries} tries{again}): {entry.reason}"


def _looked_at(room: Mailroom, look: Callable[[], list[Spooled]]) -> list[Spooled]:
    """What is known from elsewhere is told all the same."""
    try:
        return look()
    except AtmError as error:
        room.troubles.note(f"the spool cannot be read, so what waits there is not told: {error}")
        return []
