"""
Putting mail before an agent, once, whichever channel wins (G2), and never half (G1).

A turn holds one agent's mail exclusively. What is about to be shown is written down, then marked read in the inbox,
then shown, then entered in the ledger. Whoever dies on the way leaves the note; the next turn gives the mail back to
the unread, unless it finds that it was shown.
"""

from __future__ import annotations

from atm.mail.formats.inbox import LARGEST_ROW
from atm.mail.formats.journal import histories
from atm.mail.rules.receipts import MAYBE_SHOWN, RETURNED, already_read
from atm.mail.rules.surfacing import GLANCED, INBOX, ShowingNote
from atm.mail.services.bookkeeping import enter, note_drift, seen_lately, sightings_of, told_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Protocol

    from atm.mail.ports.surfacing import SurfacingTurn
    from atm.mail.rules.messages import Message
    from atm.mail.rules.surfacing import Glance
    from atm.mail.services.mailroom import Mailroom

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
    Who has `seen` it a moment ago need not look again: which of it was shown before is asked in the turn, and what
    another reader has marked meanwhile cannot be taken.
    """

    __slots__ = (
        *("_doubted", "_room", "_seen", "_turn", "channel", "is_marking", "left", "member", "more", "people", "taken"),
        *("team", "too_large", "was_shown", "where"),
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
        seen: Glance | None = None,
    ) -> None:
        self._room = room
        self.team = team
        self.member = member
        self.channel = channel
        self.where = where
        self.was_shown = was_shown
        self.people = people
        self._seen = seen
        self.too_large = 0
        """Unread rows that no sender of ours can have written, if all were looked at. They are never shown."""
        self.more = 0
        """Unread messages beyond those that were looked at."""
        self.is_marking = True
        """False in an inbox that is too large to be written in time."""
        self.taken: list[Message] = []
        self.left: list[object] = []
        """What a dead process had taken: given back, and best shown in the same way again."""
        self._doubted: set[object] = set()
        self._turn: SurfacingTurn = room.surfacings.turn(team, member, patience)

    def __enter__(self) -> list[Message] | None:
        if not self._turn.__enter__():
            return None
        try:
            if self.people is not None:
                return self._glance(self.people)
            self._recover()
            rows = self._room.inboxes.unread(self.team, self.member)
            self.too_large = sum(len(row.raw) > LARGEST_ROW for row in rows)
            return self._not_shown(_to_show(self._room, self.team, self.member, rows))
        except BaseException:  # also Ctrl-C: a turn that stays held would keep every other channel waiting
            self._turn.__exit__()
            raise

    def __exit__(self, kind: type[BaseException] | None = None, *_: object) -> None:
        """Who was interrupted where it can be found out later whether it was shown leaves that to the next turn."""
        is_cut_off = kind is not None and issubclass(kind, KeyboardInterrupt) and self.was_shown is not None
        try:
            if self.taken and not is_cut_off:
                self.failed("it was not shown")
        finally:
            self._turn.__exit__()

    def _glance(self, people: Callable[[str], bool]) -> list[Message]:
        seen = self._seen or glance_for(self._room, self.team, self.member, people)
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
        known = sightings_of(self._room, self.team, self.member, unread)
        self._doubted |= known.doubted
        return [message for message in unread if message.id not in known.shown]

    def doubts(self, message: Message) -> bool:
        """May it have been shown before? Whoever shows it again should say so."""
        return message.key in self._doubted

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
        given_back = recover_in(self._room, self.team, self.member, self._turn, self.was_shown)
        self.left = given_back.keys
        self._doubted |= given_back.doubted


class GivenBack:
    """What a dead process had taken, by its keys; and what of that may have been shown: the rows that were marked."""

    __slots__ = ("doubted", "keys")

    def __init__(self, keys: list[object], doubted: set[object]) -> None:
        self.keys = keys
        self.doubted = doubted


def recover_in(
    room: Mailroom, team: str, member: str, turn: SurfacingTurn, was_shown: Finder | None = None
) -> GivenBack:
    """In a turn: if a process died here while it showed mail, give back what nobody is known to have seen."""
    note = turn.abandoned()
    if note is None:
        return GivenBack([], set())
    past = histories(told_of(room, team, [key for key in note.keys if isinstance(key, str)]))
    unseen = [key for key in note.keys if not (isinstance(key, str) and already_read(past.get((key, member), [])))]
    evidence = was_shown(note) if unseen and was_shown else None
    doubted: set[object] = set()
    if evidence:
        enter(room, team, member, [key for key in unseen if isinstance(key, str)], "surfaced", evidence)
        unseen = []
    elif unseen:
        doubted = set(unseen) - {message.key for message in room.inboxes.unread(team, member)}
        if doubted:
            room.inboxes.mark(team, member, doubted, False)
        _enter_return(room, team, member, note.channel, unseen, doubted)
    turn.end()
    return GivenBack(unseen, doubted)


def _enter_return(
    room: Mailroom, team: str, member: str, channel: str, keys: list[object], doubted: set[object]
) -> None:
    """Whoever was killed before it had marked anything showed nothing."""
    for is_doubted, what in (
        (True, f"the process that showed it ({channel}) ended before it could say so: it {MAYBE_SHOWN}"),
        (False, f"the process that was about to show it ({channel}) ended before it did"),
    ):
        ids = [key for key in keys if isinstance(key, str) and (key in doubted) == is_doubted]
        enter(room, team, member, ids, RETURNED, what)


def recover(room: Mailroom, team: str, member: str) -> None:
    """Give back what a process that died had taken out of the unread: whoever reads must find it."""
    with Surfacing(room, team, member, INBOX):
        return


def half_shown(room: Mailroom, team: str, members: Iterable[str]) -> Iterator[tuple[str, ShowingNote]]:
    """
    For the check-up: whose mail was being shown by a process that died, and has not been given back since.

    Writes nothing; a lock is taken for a moment where a note lies, because a live process may be at it.
    """
    for member in members:
        if room.surfacings.is_cut_off(team, member):
            turn = room.surfacings.turn(team, member)
            with turn as held:
                note = turn.abandoned() if held else None
            if note is not None:
                yield member, note


def unread_for(room: Mailroom, team: str, member: str) -> list[Message]:
    """What lies unread and has not been shown: oldest first, as it lies in the inbox."""
    return _to_show(room, team, member, room.inboxes.unread(team, member))


def _to_show(room: Mailroom, team: str, member: str, rows: list[Message]) -> list[Message]:
    unread = [one for one in rows if one.understood and len(one.raw) <= LARGEST_ROW]
    if not unread:
        return []  # most calls of a hook: the ledger need not be read
    seen = seen_lately(room, team, member)
    return [message for message in unread if message.id not in seen]


def glance_for(
    room: Mailroom, team: str, member: str, people: Callable[[str], bool], *, most_rows: int = GLANCED
) -> Glance:
    """The same for a bounded price: what should be shown first, and how many more there are."""
    return not_shown(room, team, member, room.inboxes.glance(team, member, people, most_rows))


def not_shown(room: Mailroom, team: str, member: str, found: Glance) -> Glance:
    """What of it can be shown and was not yet."""
    found.messages = [one for one in found.messages if one.understood and len(one.raw) <= LARGEST_ROW]
    if found.messages:
        seen = seen_lately(room, team, member)
        found.messages = [message for message in found.messages if message.id not in seen]
    return found
