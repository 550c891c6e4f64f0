"""Questions to a person at a terminal. Without one nobody is there to say yes, and the answer is no."""

from __future__ import annotations

import sys

from atm.domain.untrusted_text import one_line
from atm.wiring.files import interruptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ui.cli.session import Session


def can_ask(session: Session) -> bool:
    return not session.as_json and bool(sys.stdin) and sys.stdin.isatty() and sys.stderr.isatty()


def said_yes_to(words: str) -> bool:
    """What it is about, and the question. Whoever says anything else has said no."""
    sys.stderr.write(f"{words} [y/N] ")
    sys.stderr.flush()
    interruptions.until_readable(sys.stdin)
    with interruptions:
        said = sys.stdin.readline()
    return said.strip().casefold() in ("y", "yes")


def as_it_is(value: object) -> str:
    """All that is said yes to: a character that does not show itself, or that we would take out, is spelled."""
    text = value if isinstance(value, str) else str(value)
    return text if one_line(text) == text else ascii(value)
