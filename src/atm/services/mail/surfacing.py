"""
Putting mail before an agent, once, whichever channel wins (G2), and never half (G1).

A turn holds one agent's mail exclusively. What is about to be shown is written down, then marked read in the inbox,
then shown, then entered in the ledger. Whoever dies on the way leaves the note; the next turn gives the mail back to
the unread, unless it finds that it was shown.
"""

from __future__ import annotations

from atm.domain.mail.receipts import RETURNED, already_read
from atm.domain.mail.surfacing import INBOX, ShowingNote
from atm.formats.mail.inbox import LARGEST_ROW
from atm.formats.mail.journal import histories
from atm.services.mail.bookkeeping import enter, note_drift, seen_lately, shown_before

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from atm.domain.mail.messages import Message
    from atm.domain.mail.surfacing import Glance
    from atm.ports.mail.surfacing import SurfacingTurn
    from atm.services.mail.mailroom import Mailroom

    class Finder(Protocol):
        """Looks whether mail of a turn that was cut off was shown after all; None if nobody can tell."""

        def __call__(self, note: ShowingNote, /) -> str | None: ...


class Surfacing:
    """
    `with Surfacing(room, team, member, channel) as unread:` and then `take`, show, and `shown` or `failed`.

    Entering gives what is unread, oldest first; None if another channel is at it right now. What was taken and
    neither shown nor failed when the block ends is given back.

    With `people`, who says which senders are persons, only what should be shown first is looked at, for a bounded
    price. An inbox that is too large even for that stays as it is: what is shown of it is entered in the ledger alone.
    """

    __slots__ = (
        *("_room", "_turn", "channel", "is_marking", "left", "member", "more", "people", "taken", "team", "was_shown"),
        "where",
    )

    def __init__(
        self,
        room: Mailroom,
        team: str,
        member: str,
        channel: str,
        *,
        where: str = "",
        patience: float = 0.0,
        was_shown: Finder | None = None,
        people: Callable[[str], bool] | None = None,
    ) -> None:
        self._room = room
        self.team = team
        self.member = member
        self.channel = channel
        self.where = where
        self.was_shown = was_shown
        self.people = people
        self.more = 0
        """Unread messages beyond those that were looked at."""
        self.is_marking = True
        """False in an inbox that is too large to be written in time."""
        self.taken: list[Message] = []
        self.left: list[object] = []
        """What a dead process had taken: given back, and best shown in the same way again."""
        self._turn: SurfacingTurn = room.surfacings.turn(team, member, patience)

    def __enter__(self) -> list[Message] | None:
        if not self._turn.__enter__():
            return None
        try:
            if self.people is not None:
                return self._glance(self.people)
            self._recover()
            return self._not_shown(unread_for(self._room, self.team, self.member))
        except BaseException:  # also Ctrl-C: a turn that stays held would keep every other channel waiting
            self._turn.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        try:
            if self.taken:
                self.failed("it was not shown")
        finally:
            self._turn.__exit__()

    def _glance(self, people: Callable[[str], bool]) -> list[Message]:
        seen = glance_for(self._room, self.team, self.member, people)
        if seen.is_whole and self._room.surfacings.is_cut_off(self.team, self.member):
            self._recover()
            seen = glance_for(self._room, self.team, self.member, people)
        unread = self._not_shown(seen.messages)
        if not unread and seen.left:  # those were shown before, and another program turned them back
            seen = glance_for(self._room, self.team, self.member, people, most_rows=seen.left + GLANCED)
            unread = self._not_shown(seen.messages)
        self.more, self.is_marking = seen.left, seen.is_whole
        return unread

    def _not_shown(self, unread: list[Message]) -> list[Message]:
        """Without what was shown long ago: a stale rewrite may turn a row back to unread at any time."""
        shown = shown_before(self._room, self.team, self.member, unread)
        return [message for message in unread if message.id not in shown]

    def take(self, messages: list[Message]) -> list[Message]:
        """Make these ours to show; those that another reader has marked meanwhile are left out."""
        if not self.is_marking:
            self.taken = messages
            return messages
        note = ShowingNote(
            keys=[message.key for message in messages],
            channel=self.channel,
            at=self._room.clock.now(),
            where=self.where,
        )
        self._turn.begin(note)
        claimed = self._room.inboxes.claim_named(self.team, self.member, set(note.keys))
        self.taken = claimed
        note_drift(self._room, claimed)
        if not claimed:
            self._turn.end()
        return claimed

    def shown(self, evidence: str, state: str = "surfaced") -> None:
        """It is in the agent's context."""
        taken, self.taken = self.taken, []
        enter(self._room, self.team, self.member, [m.id for m in taken if m.id], state, evidence)
        if self.is_marking:
            self._turn.end()

    def failed(self, why: str) -> None:
        """It could not be shown: unread again, for the next channel."""
        taken, self.taken = self.taken, []
        if self.is_marking:
            self._give_back([message.key for message in taken], why)

    def kept_unread(self, state: str, evidence: str) -> None:
        """Something happened to it, but nobody can say that it was seen: entered, and unread again."""
        ids = [message.id for message in self.taken if message.id]
        self.failed(evidence)
        enter(self._room, self.team, self.member, ids, state, evidence)

    def _give_back(self, keys: list[object], why: str) -> None:
        self._room.inboxes.mark(self.team, self.member, set(keys), False)
        enter(self._room, self.team, self.member, [key for key in keys if isinstance(key, str)], RETURNED, why)
        self._turn.end()

    def _recover(self) -> None:
        self.left = recover_in(self._room, self.team, self.member, self._turn, self.was_shown)


def recover_in(
    room: Mailroom, team: str, member: str, turn: SurfacingTurn, was_shown: Finder | None = None
) -> list[object]:
    """In a turn: if a process died here while it showed mail, give back what nobody saw. The keys of that."""
    note = turn.abandoned()
    if note is None:
        return []
    past = histories(room.ledger.about(team, [key for key in note.keys if isinstance(key, str)]))
    unseen = [key for key in note.keys if not (isinstance(key, str) and already_read(past.get((key, member), [])))]
    evidence = was_shown(note) if unseen and was_shown else None
    ids = [key for key in unseen if isinstance(key, str)]
    if evidence:
        enter(room, team, member, ids, "surfaced", evidence)
        unseen = []
    elif unseen:
        room.inboxes.mark(team, member, set(unseen), False)
        why = f"the process that showed it ({note.channel}) ended before it could say so"
        enter(room, team, member, ids, RETURNED, why)
    turn.end()
    return unseen


def recover(room: Mailroom, team: str, member: str, people: Callable[[str], bool] | None = None) -> None:
    """Give back what a process that died had taken out of the unread: whoever reads must find it."""
    with Surfacing(room, team, member, INBOX, people=people):
        return


def unread_for(room: Mailroom, team: str, member: str) -> list[Message]:
    """What lies unread and has not been shown: oldest first, as it lies in the inbox."""
    unread = [one for one in room.inboxes.unread(team, member) if one.understood and len(one.raw) <= LARGEST_ROW]
    if not unread:
        return []  # most calls of a hook: the ledger need not be read
    seen = seen_lately(room, team, member)
    return [message for message in unread if message.id not in seen]


GLANCED = 50
"""Messages that a hook looks at: as many as fit into a context, and few enough to be searched for in the ledger."""


def glance_for(
    room: Mailroom, team: str, member: str, people: Callable[[str], bool], *, most_rows: int = GLANCED
) -> Glance:
    """The same for a bounded price: what should be shown first, and how many more there are."""
    found = room.inboxes.glance(team, member, people, most_rows)
    found.messages = [one for one in found.messages if one.understood and len(one.raw) <= LARGEST_ROW]
    if found.messages:
        seen = seen_lately(room, team, member)
        found.messages = [message for message in found.messages if message.id not in seen]
    return found
