"""Mail as people see it in a terminal: newest last, idle notices folded into one line a sender."""

from __future__ import annotations

from atm.core.plain import counted
from atm.core.untrusted_text import one_line
from atm.mail.formats.protocol_message import idle_sender
from atm.mail.rules.messages import INFO, PLAIN
from atm.mail.rules.receipts import MAYBE_SHOWN
from atm.ui.cli.render import Style, message_block, when
from atm.ui.views.fitting import glimpse
from atm.ui.views.letters import sentence
from atm.ui.views.style import DIM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.rules.messages import Message
    from atm.mail.services.mailroom import Recipient
    from atm.mail.services.reading import ShownMail
    from atm.ui.cli.session import Session


def show_mail(session: Session, owner: Recipient, mail: ShownMail) -> None:
    shown = mail.messages
    style = Style(session)
    where = one_line(f"{owner.agent}@{owner.team_name}")
    if not shown:
        session.print(f"No new messages for {where}.")
    idle: dict[str, list[Message]] = {}
    for message in shown:
        sender = idle_sender(message)
        if sender is not None:
            idle.setdefault(sender, []).append(message)
            continue
        block = "\n".join(_block(session, style, message, in_doubt=mail.is_doubted(message)))
        session.heed()  # each by itself: of what was interrupted, what came before has been shown, and this may be
        mail.begun.append(message)
        session.print(block + "\n")
        session.flush()
    for sender, notices in idle.items():
        mail.begun += notices
        times = "notice" if len(notices) == 1 else "notices"
        last = when(session, notices[-1].timestamp)
        session.print(style(f"  {one_line(sender)} is idle: {len(notices)} {times}, last {last}", DIM))
    if mail.malformed:
        session.print(
            style(f"  {counted(mail.malformed, 'row is no message', 'rows are not messages')}: left alone", DIM)
        )
    if shown and not mail.marked and not mail.warnings and any(not message.read for message in shown):
        session.print(style("  (not marked as read: this is not your inbox, or --no-mark)", DIM))


def _block(session: Session, style: Style, message: Message, *, in_doubt: bool) -> list[str]:
    lines = message_block(session, style, message)
    if in_doubt:
        lines[0] += style(f"  ({MAYBE_SHOWN})", DIM)
    if message.type != PLAIN:
        carried = "".join(f"  {one_line(key)}={glimpse(value, 60)}" for key, value in _beside_text(message).items())
        lines[0] += style(f"  [{message.type}]{carried}", DIM)
    said = sentence(message.text)
    return lines if said is None else [lines[0], *(f"    {line}" for line in said)]


def message_json(message: Message, *, in_doubt: bool = False) -> dict[str, object]:
    """`in_doubt`: a reader that did not come to its end may have shown it before."""
    fields: dict[str, object] = {
        "message_id": message.id,
        "from": message.sender,
        "text": message.text,
        "timestamp": message.timestamp,
        "summary": message.summary,
        "read": message.read,
    }
    if message.intent != INFO:
        fields["kind"] = message.intent
    fields["type"], fields["metadata"] = _typed(message)
    return {**fields, "may_have_been_shown": True} if in_doubt else fields


def _typed(message: Message) -> tuple[str, dict[str, str]]:
    """What it is and what it carries; without a look at more where it is plain words."""
    if message.type == PLAIN and not message.text.lstrip().startswith(("{", "\ufeff")):
        return PLAIN, {}
    from atm.mail.formats.typed_message import typed

    found = typed(message)
    return found.type, found.metadata


def _beside_text(message: Message) -> dict[str, str]:
    """The metadata, without what the text says already."""
    return {key: value for key, value in message.metadata.items() if value not in message.text}
