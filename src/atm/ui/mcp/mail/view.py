"""Messages as tools show them: whole if they are short, else by their beginning and how to get the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.core.identifiers import id_of_key
from atm.mail.formats.protocol_message import idle_sender
from atm.mail.formats.typed_message import type_of, typed
from atm.mail.rules.messages import PLAIN, summarize
from atm.ui.mcp.schema import count, gives, text
from atm.ui.mcp.wording import known, line, piece

if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.mail.rules.messages import Message

LONGEST_PIECE = 5_000
"""Characters of one message that are shown when the reader asks for this one."""

LONGEST_SHOWN = 3_000
"""Characters of a message among others."""

LONGEST_CARRIED = 200
"""Characters of each piece of metadata: the text has all of it."""

MESSAGE = gives({"id": text(), "from": text(), "text": text()}, {"next_offset": count()})


def handle_of(message: Message) -> str:
    """What to call a message by, also one that another program wrote without an id."""
    return message.id or id_of_key(message.key)


def message_fields(
    message: Message, *, offset: int = 0, most: int = LONGEST_SHOWN, in_doubt: bool = False
) -> dict[str, Plain]:
    """`in_doubt`: somebody who did not come to its end may have shown it before."""
    shown = piece(message.text, offset, most)
    if idle_sender(message) is not None:
        shown = {"text": f"{line(message.sender, 64)} is idle"}  # the notice itself says no more than that
    elif "next_offset" not in shown and not offset:
        del shown["length"]
    return {
        "id": line(handle_of(message), 64),
        "from": line(message.sender, 128),
        **known({"at": line(message.timestamp, 40)}),
        **({"kind": message.intent} if message.intent != "info" else {}),
        **_typed(message),
        **({"may_have_been_shown": True} if in_doubt else {}),
        **shown,
    }


def _typed(message: Message) -> dict[str, Plain]:
    """What it is and what it carries, unless that is plain words."""
    found = typed(message)
    if found.type == PLAIN:
        return {}
    carried: dict[str, Plain] = {line(key, 64): line(value, LONGEST_CARRIED) for key, value in found.metadata.items()}
    return {"type": found.type, **({"metadata": carried} if carried else {})}


def summary_fields(message: Message) -> dict[str, Plain]:
    """One line of an inbox."""
    said = summarize(message.summary or message.text[:400])
    kind = type_of(message)
    about = "idle" if idle_sender(message) is not None else line(said, 100)
    return {
        "id": line(handle_of(message), 64),
        "from": line(message.sender, 128),
        "summary": about,
        "read": message.read,
        **({"type": kind} if kind != PLAIN else {}),
        **known({"at": line(message.timestamp, 40)}),
    }
