"""One message as an agent sees it."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.core.identifiers import id_of_key
from atm.delivery.rules.briefing import LONG_ONE, LONGEST_CONTEXT, framed, framed_beginning, is_long, mail_in_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.rules.messages import Message
    from atm.mail.services.mailroom import Mailroom


def show_one(
    room: Mailroom, team: str, me: str, message: Message, space: int = LONGEST_CONTEXT, *, in_doubt: bool = False
) -> str:
    """One message in its frame; of a long one the beginning, and the file that holds all of it."""
    if not is_long(message) and not is_long(message, space):
        return framed(message, message.text, in_doubt=in_doubt)
    try:
        whole = mail_in_words(me, team, [framed(message, message.text)], 0)
        path = room.surfacings.keep_text(team, me, message.id or id_of_key(message.key), whole)
    except AtmError:
        path = "the inbox (`atm read --all`)"
    return framed_beginning(message, path, min(LONG_ONE, space), in_doubt=in_doubt)
