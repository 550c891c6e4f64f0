"""
Reading mail: what is unread, and who has seen it.

Marking comes first and is the claim: of two readers at once, the one that marked a row shows it (G2). If showing
it then fails, the row is given back.
"""

from __future__ import annotations

from atm.domain.errors import AtmError
from atm.domain.mail.quotas import LARGEST_FOREIGN
from atm.formats.mail.inbox import LARGEST_ROW
from atm.services.mail.bookkeeping import note_drift, record, seen_lately, shown_before

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.mail.messages import Message
    from atm.services.mail.mailroom import Mailroom


TURN_PATIENCE = 5.0
"""Seconds that a reader waits for a hook that is showing mail; longer than any hook lives."""

CHEAP_LOOK = 256 * 1024
"""Bytes up to which looking first costs less than a lock that is not needed."""


class Filter:
    """Which messages a reader wants."""

    __slots__ = ("everything", "limit", "sender", "since")

    def __init__(
        self,
        *,
        everything: bool = False,
        sender: str | None = None,
        since: float | None = None,
        limit: int | None = None,
    ) -> None:
        self.everything = everything
        self.sender = sender
        self.since = since
        self.limit = limit

    def of(self, messages: list[Message]) -> list[Message]:
        kept = [message for message in messages if self._wants(message)]
        return kept if self.limit is None else kept[len(kept) - self.limit :] if self.limit < len(kept) else kept

    def _wants(self, message: Message) -> bool:
        if self.sender is not None and message.sender.casefold() != self.sender.casefold():
            return False
        if self.since is None:
            return True
        from atm.formats.files.times import from_iso

        at = from_iso(message.timestamp)
        return at is None or at > self.since  # a time we cannot read hides nothing


class ShownMail:
    """What a reader is shown."""

    __slots__ = ("malformed", "marked", "messages", "too_large", "warnings")

    def __init__(self, messages: list[Message], *, marked: bool, malformed: int = 0) -> None:
        self.messages = [message for message in messages if len(message.raw) <= LARGEST_ROW]
        self.too_large = [message for message in messages if len(message.raw) > LARGEST_ROW]
        """Rows that no sender of ours can have written. They are neither shown nor marked."""
        self.marked = marked
        self.malformed = malformed
        self.warnings: list[str] = []


def peek(room: Mailroom, team: str, agent: str, wanted: Filter) -> ShownMail:
    """Look without marking anything."""
    if wanted.everything:
        rows = room.inboxes.rows(team, agent)
        note_drift(room, rows)
        known = [row for row in rows if row.understood]
        return ShownMail(wanted.of(known), marked=False, malformed=len(rows) - len(known))
    seen = seen_lately(room, team, agent)
    fresh = [message for message in room.inboxes.unread(team, agent) if message.id not in seen]
    note_drift(room, fresh)
    return ShownMail(wanted.of(fresh), marked=False)


def take(room: Mailroom, team: str, agent: str, wanted: Filter) -> ShownMail:
    """
    Show to the owner: mark exactly what is shown, and enter it in the ledger.

    In turn with hooks and terminals, which put the same mail before the same agent: between marking and entering,
    nobody else may look at the ledger and conclude that a row was not shown.
    """
    is_cut_off = room.surfacings.is_cut_off(team, agent)
    shown = ShownMail([], marked=False)
    if not is_cut_off and (wanted.everything or room.inboxes.size(team, agent) <= CHEAP_LOOK):
        shown = peek(room, team, agent, wanted)
        if all(message.read for message in shown.messages):
            return shown  # without a lock: readers that poll disturb nobody, and need not be able to write
    turn = room.surfacings.turn(team, agent, TURN_PATIENCE)
    with turn as held:
        if held and is_cut_off:
            from atm.services.mail.surfacing import recover_in

            recover_in(room, team, agent, turn)  # what a hook had taken when it was killed is unread again
            shown = peek(room, team, agent, wanted) if wanted.everything else shown
        return _claim(room, team, agent, wanted, shown)


def _claim(room: Mailroom, team: str, agent: str, wanted: Filter, shown: ShownMail) -> ShownMail:
    seen = seen_lately(room, team, agent)
    keys = {message.key for message in shown.messages if not message.read and wanted.everything}

    is_large = room.inboxes.size(team, agent) > LARGEST_FOREIGN

    def choose(unread: list[Message]) -> list[Message]:
        if is_large:  # hooks show urgent mail of such an inbox without marking it
            seen.update(shown_before(room, team, agent, unread))
        # A foreign rewrite may have turned rows back to unread that were shown before: marked again, not shown.
        fresh = ShownMail(wanted.of([message for message in unread if message.id not in seen]), marked=True)
        if not wanted.everything:
            shown.messages, shown.too_large = fresh.messages, fresh.too_large
            keys.update(message.key for message in fresh.messages)
        return [message for message in unread if message.key in keys or message.id in seen]

    claimed = {message.key for message in room.inboxes.claim(team, agent, choose) if message.id not in seen}
    shown.messages = [message for message in shown.messages if message.read or message.key in claimed]
    shown.marked = bool(claimed)
    note_drift(room, shown.messages)
    _enter(room, team, agent, [m for m in shown.messages if m.key in claimed], "read", "marked read and shown", shown)
    return shown


def give_back(room: Mailroom, team: str, agent: str, mail: ShownMail, why: str) -> None:
    """Showing it failed: make the rows unread again."""
    taken = [message for message in mail.messages if not message.read]
    room.inboxes.mark(team, agent, {message.key for message in taken}, False)
    _enter(room, team, agent, taken, "returned", why, mail)


def _enter(
    room: Mailroom, team: str, agent: str, messages: list[Message], state: str, evidence: str, mail: ShownMail
) -> None:
    try:
        record(room, team, agent, [message.id for message in messages if message.id], state, evidence)
    except AtmError as error:
        mail.warnings.append(f"the ledger could not be written: {error}")
