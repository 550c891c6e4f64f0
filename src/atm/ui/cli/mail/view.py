"""Mail as people see it in a terminal: newest last, idle notices folded into one line a sender."""

from __future__ import annotations

from atm.domain.untrusted_text import one_line
from atm.formats.mail.protocol_message import idle_sender, parse
from atm.ui.cli.render import Style, message_block, when
from atm.ui.views.style import DIM

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.mail.messages import Message
    from atm.services.mail.mailroom import Recipient
    from atm.services.mail.reading import ShownMail
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
        session.print("\n".join(_block(session, style, message)) + "\n")
    for sender, notices in idle.items():
        times = "notice" if len(notices) == 1 else "notices"
        last = when(session, notices[-1].timestamp)
        session.print(style(f"  {one_line(sender)} is idle: {len(notices)} {times}, last {last}", DIM))
    if mail.malformed:
        session.print(style(f"  {mail.malformed} rows are not messages and were left as they are", DIM))
    if shown and not mail.marked and any(not message.read for message in shown):
        session.print(style("  (not marked as read: this is not your inbox, or --no-mark)", DIM))


def _block(session: Session, style: Style, message: Message) -> list[str]:
    structured = parse(message.text)
    lines = message_block(session, style, message)
    if structured is None:
        return lines
    fields = [
        f"    {one_line(key)}: {one_line(str(value))}" for key, value in structured.fields.items() if key != "type"
    ]
    return [lines[0] + style(f"  [{structured.kind}]", DIM), *fields]


def message_json(message: Message) -> dict[str, object]:
    return {
        "message_id": message.id,
        "from": message.sender,
        "text": message.text,
        "timestamp": message.timestamp,
        "summary": message.summary,
        "read": message.read,
    }
