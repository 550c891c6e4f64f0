"""
Mail that a program acts on: the messages of some types, taken out of an inbox, and nothing else touched.

At least once. A message counts as read when whoever took it has come to the end of what it does with it. If that one is
killed before, the next who takes finds it again, and `is_doubted` says that it may have been acted on. Where not even
the inbox's lock can be had they come unmarked, and again. So whoever must not act twice remembers the `key`
of each: its id. What is of another type keeps waiting for whoever reads that.
"""

from __future__ import annotations

from contextlib import contextmanager

from atm.mail.formats.typed_message import typed
from atm.mail.services.reading import Filter, Reading, peek

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from atm.mail.formats.typed_message import TypedMessage
    from atm.mail.services.mailroom import Mailroom
    from atm.mail.services.reading import ShownMail

EVIDENCE = "taken by a program that acts on it"


@contextmanager
def consuming(
    room: Mailroom, team: str, member: str, types: Collection[str], evidence: str = EVIDENCE
) -> Iterator[list[TypedMessage]]:
    """
    `with consuming(room, team, member, types) as taken:` and act on each, oldest first, inside of the block.

    They are marked on entering, so that no other reader acts on them too, and entered as read when the block ends. If
    it raises, all of them are unread again. Other readers of this inbox wait meanwhile: what takes long is begun here
    and done elsewhere. Senders wait for nobody.
    """
    with Reading(room, team, member, Filter(types=frozenset(types)), evidence) as reading:
        mail = reading.take()
        mail.begun = mail.messages  # from here on, any of them may have been acted on
        yield _typed(mail)
        reading.shown()


def take(
    room: Mailroom, team: str, member: str, types: Collection[str], evidence: str = EVIDENCE
) -> list[TypedMessage]:
    """
    The same for whoever has them the moment that this returns.

    Killed before that: they come again. Killed afterwards: they do not, so whoever cannot lose one uses `consuming`.
    """
    with consuming(room, team, member, types, evidence) as taken:
        return taken


def waiting_of(room: Mailroom, team: str, member: str, types: Collection[str] | None = None) -> list[TypedMessage]:
    """What lies unread, of these types or of all, oldest first. Marks nothing, and takes no lock."""
    return _typed(peek(room, team, member, Filter(types=None if types is None else frozenset(types))))


def _typed(mail: ShownMail) -> list[TypedMessage]:
    return [typed(message, is_doubted=mail.is_doubted(message)) for message in mail.messages]
