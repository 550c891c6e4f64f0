"""Times, colours and messages for people, as their settings want them. Never imported by `atm send`."""

from __future__ import annotations

import sys

from atm.core.untrusted_text import many_lines, one_line
from atm.files.formats.times import from_iso, to_iso
from atm.ui.views.ages import ago
from atm.ui.views.style import BOLD, DIM, GREEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.rules.messages import Message
    from atm.ui.cli.session import Session


class Style:
    """Colour, where the terminal and the user want it."""

    __slots__ = ("on",)

    def __init__(self, session: Session) -> None:
        quiet = session.environment.get("NO_COLOR") or session.environment.get("ATM_NO_COLOR")
        dumb = session.environment.get("TERM") == "dumb"
        self.on = sys.stdout.isatty() and not quiet and not dumb and session.settings.yes("display.color")

    def __call__(self, text: str, *codes: str) -> str:
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if self.on and codes else text


def when(session: Session, timestamp: str) -> str:
    """A time as the settings want it; what cannot be read is shown as it stands."""
    at = from_iso(timestamp) if timestamp else None
    if at is None:
        return one_line(timestamp) or "unknown"
    style = session.settings.text("display.timestamps")
    if style == "iso8601":
        return to_iso(at)
    if style == "absolute":
        from datetime import datetime

        return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    return ago(session.room.clock.now() - at)


def when_epoch(session: Session, at: float | None) -> str:
    return "unknown" if at is None else when(session, to_iso(at))


def message_block(session: Session, style: Style, message: Message) -> list[str]:
    """One message for a person: a head line, then the text indented."""
    mark = " " if message.read else style("●", GREEN)
    identity = style(f"  {one_line(message.id)[:8]}", DIM) if message.id else ""
    meant = f"  {message.intent}" if message.intent != "info" else ""
    at = style(when(session, message.timestamp), DIM)
    head = f"{mark} {style(one_line(message.sender), BOLD)}  {at}{identity}{meant}"
    return [head, *(f"    {line}" for line in many_lines(message.text).split("\n"))]
