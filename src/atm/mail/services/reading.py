"""
Reading mail: what is unread, and who has seen it.

Marking comes first and is the claim: of two readers at once, the one that marked a row shows it (G2). What is about to
be shown is written down before, and entered in the ledger afterwards. If showing it fails, or the reader is asked to
end, the row is given back; if the reader is killed, the next one gives it back and says that it may have been shown.
"""

from __future__ import annotations

from atm.core.errors import AtmError, WriteRefused
from atm.mail.formats.inbox import LARGEST_ROW
from atm.mail.rules.quotas import LARGEST_FOREIGN
from atm.mail.rules.receipts import MAYBE_SHOWN, RETURNED
from atm.mail.rules.surfacing import READ, ShowingNote
from atm.mail.services.bookkeeping import enter, note_drift, record, shown_before, sightings_lately

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from atm.mail.ports.surfacing import SurfacingTurn
    from atm.mail.rules.messages import Message
    from atm.mail.services.mailroom import Mailroom


TURN_PATIENCE = 5.0
"""Seconds that a reader waits for a hook that is showing mail; longer than any hook lives."""

CHEAP_LOOK = 256 * 1024
"""Bytes up to which looking first costs less than a lock that is not needed."""


class Filter:
    """Which messages a reader wants."""

    __slots__ = ("everything", "key", "limit", "sender", "since", "types")

    def __init__(
        self,
        *,
        everything: bool = False,
        sender: str | None = None,
        since: float | None = None,
        limit: int | None = None,
        key: object = None,
        types: Collection[str] | None = None,
    ) -> None:
        self.everything = everything
        self.sender = sender
        self.since = since
        self.limit = limit
        self.key = key
        """Only this one."""
        self.types = types
        """Only those of these types."""

    def of(self, messages: list[Message]) -> list[Message]:
        kept = [message for message in messages if self._wants(message)]
        return kept if self.limit is None else kept[len(kept) - self.limit :] if self.limit < len(kept) else kept

    def _wants(self, message: Message) -> bool:
        if self.key is not None and message.key != self.key:
            return False
        if self.sender is not None and message.sender.casefold() != self.sender.casefold():
            return False
        if self.types is not None:
            from atm.mail.formats.typed_message import type_of

            if type_of(message) not in self.types:
                return False
        if self.since is None:
            return True
        from atm.files.formats.times import from_iso

        at = from_iso(message.timestamp)
        return at is None or at > self.since  # a time we cannot read hides nothing


class ShownMail:
    """What a reader is shown."""

    __slots__ = ("begun", "doubted", "malformed", "marked", "messages", "too_large", "warnings")

    def __init__(self, messages: list[Message], *, marked: bool, malformed: int = 0) -> None:
        self.messages = [message for message in messages if len(message.raw) <= LARGEST_ROW]
        self.too_large = [message for message in messages if len(message.raw) > LARGEST_ROW]
        """Rows that no sender of ours can have written. They are neither shown nor marked."""
        self.marked = marked
        self.malformed = malformed
        self.doubted: set[object] = set()
        """Keys of what may have been shown before, by a reader that did not come to its end."""
        self.begun: list[Message] = []
        """For whoever shows it: what was begun to be written. If that is cut off, somebody may have seen it."""
        self.warnings: list[str] = []

    def is_doubted(self, message: Message) -> bool:
        """May it have been shown before? What was read before has been, and needs no such words."""
        return not message.read and message.key in self.doubted


def peek(room: Mailroom, team: str, agent: str, wanted: Filter) -> ShownMail:
    """Look without marking anything."""
    if wanted.everything:
        rows = room.inboxes.rows(team, agent)
        note_drift(room, rows)
        known = [row for row in rows if row.understood]
        return ShownMail(wanted.of(known), marked=False, malformed=len(rows) - len(known))
    sightings = sightings_lately(room, team, agent)
    fresh = [message for message in room.inboxes.unread(team, agent) if message.id not in sightings.shown]
    note_drift(room, fresh)
    shown = ShownMail(wanted.of(fresh), marked=False)
    shown.doubted.update(sightings.doubted)
    return shown


class Reading:
    """
    Showing mail to its owner: `with Reading(room, team, agent, wanted) as reading:` and then `take`, show, and `shown`.

    Exactly what is shown is marked. What was taken and is not `shown` when the block ends is given back.

    In turn with hooks and terminals, which put the same mail before the same agent: from marking to entering, nobody
    else may look at the ledger and conclude that a row was not shown.
    """

    __slots__ = (
        "_agent",
        "_evidence",
        "_has_chosen",
        "_is_noted",
        "_mail",
        "_room",
        "_taken",
        "_team",
        "_turn",
        "_wanted",
    )

    def __init__(
        self, room: Mailroom, team: str, agent: str, wanted: Filter, evidence: str = "marked read and shown"
    ) -> None:
        self._room = room
        self._team = team
        self._agent = agent
        self._wanted = wanted
        self._evidence = evidence
        self._turn: SurfacingTurn | None = None
        self._is_noted = self._has_chosen = False
        self._mail = ShownMail([], marked=False)
        self._taken: list[Message] = []
        """Marked by us, and neither entered nor given back yet."""

    def __enter__(self) -> Reading:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if self._taken:
                self._give_back(_why(kind))
        finally:
            self._let_go()

    def take(self) -> ShownMail:
        """What there is to show. Without a lock if that is nothing: readers that poll disturb nobody."""
        room, team, agent, wanted = self._room, self._team, self._agent, self._wanted
        is_cut_off = room.surfacings.is_cut_off(team, agent)
        self._mail = ShownMail([], marked=False)
        if not is_cut_off and (wanted.everything or room.inboxes.size(team, agent) <= CHEAP_LOOK):
            self._mail = peek(room, team, agent, wanted)
            if all(message.read for message in self._mail.messages):
                return self._mail
        turn = room.surfacings.turn(team, agent, TURN_PATIENCE)
        if turn.__enter__():
            self._turn = turn
        try:
            if is_cut_off and self._turn is not None:
                self._recover(turn)
            self._claim()
        except WriteRefused as error:
            if self._has_chosen:  # it may have come after the rows were marked: then only the note knows of them
                raise
            self._leave_unread(error)
        if not self._taken:
            self._settle()
        return self._mail

    def shown(self) -> None:
        """It was written, all of it: now it counts as read."""
        taken, self._taken = self._taken, []
        ids = [message.id for message in taken if message.id]
        try:
            record(self._room, self._team, self._agent, ids, "read", self._evidence)
        except AtmError as error:
            self._mail.warnings.append(f"the ledger could not be written: {error}")
        self._settle()

    def _recover(self, turn: SurfacingTurn) -> None:
        """What somebody had taken who was killed is unread again."""
        from atm.mail.services.surfacing import recover_in

        left = recover_in(self._room, self._team, self._agent, turn)
        if self._wanted.everything:
            self._mail = peek(self._room, self._team, self._agent, self._wanted)
        self._mail.doubted.update(left.doubted)

    def _claim(self) -> None:
        room, team, agent, wanted, mail = self._room, self._team, self._agent, self._wanted, self._mail
        known = sightings_lately(room, team, agent)
        seen = known.shown
        keys = {message.key for message in mail.messages if not message.read and wanted.everything}

        is_large = room.inboxes.size(team, agent) > LARGEST_FOREIGN

        def choose(unread: list[Message]) -> list[Message]:
            if is_large:  # hooks show urgent mail of such an inbox without marking it
                seen.update(shown_before(room, team, agent, unread))
            # A foreign rewrite may have turned rows back to unread that were shown before: marked again, not shown.
            fresh = ShownMail(wanted.of([message for message in unread if message.id not in seen]), marked=True)
            if not wanted.everything:
                mail.messages, mail.too_large = fresh.messages, fresh.too_large
                keys.update(message.key for message in fresh.messages)
            self._note([message.key for message in unread if message.key in keys and message.id not in seen])
            return [message for message in unread if message.key in keys or message.id in seen]

        claimed = {message.key for message in room.inboxes.claim(team, agent, choose) if message.id not in seen}
        self._taken = [message for message in mail.messages if not message.read and message.key in claimed]
        mail.messages = [message for message in mail.messages if message.read or message.key in claimed]
        mail.marked = bool(claimed)
        mail.doubted.update(known.doubted)
        note_drift(room, mail.messages)

    def _leave_unread(self, error: WriteRefused) -> None:
        """A lock of root's, a full disk: the mail itself can be read, so it is shown, and again by the next one."""
        doubted = self._mail.doubted
        self._mail = peek(self._room, self._team, self._agent, self._wanted)
        self._mail.doubted |= doubted
        if any(not message.read for message in self._mail.messages):
            what = "this mail cannot be marked as read, so it will be shown again"
            self._mail.warnings.append(f"{what}: {error}; `atm doctor` says which command mends that")

    def _note(self, keys: list[object]) -> None:
        """
        Before anything is marked: if we are killed, the next one finds the note, and gives the rows back.

        Not where somebody else has the turn, whose note may lie there.
        """
        self._has_chosen = True
        if self._turn is not None and keys:
            self._turn.begin(ShowingNote(keys=keys, channel=READ, at=self._room.clock.now()))
            self._is_noted = True

    def _give_back(self, why: str) -> None:
        """Nobody saw it, or not all of it: unread again. If that cannot be done, the note stays for the next one."""
        taken, self._taken = self._taken, []
        begun = {message.key for message in self._mail.begun}
        self._room.inboxes.mark(self._team, self._agent, {message.key for message in taken}, False)
        for is_begun, evidence in ((True, f"{why}: it {MAYBE_SHOWN}"), (False, f"{why} before it was shown")):
            ids = [message.id for message in taken if message.id and (message.key in begun) == is_begun]
            enter(self._room, self._team, self._agent, ids, RETURNED, evidence)
        self._settle()

    def _settle(self) -> None:
        """There is nothing left to give back: no note is needed, and others may come."""
        if self._turn is not None and self._is_noted:
            self._turn.end()
            self._is_noted = False
        self._let_go()

    def _let_go(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None:
            turn.__exit__()


def _why(kind: type[BaseException] | None) -> str:
    if kind is not None and issubclass(kind, KeyboardInterrupt):
        return "the reader was interrupted"
    is_output = kind is not None and issubclass(kind, OSError | ValueError)
    return "the output could not be written" if is_output else "the reader failed"


def take(room: Mailroom, team: str, agent: str, wanted: Filter) -> ShownMail:
    """Read, for whoever has the mail the moment that this returns."""
    with Reading(room, team, agent, wanted) as reading:
        mail = reading.take()
        reading.shown()
    return mail
