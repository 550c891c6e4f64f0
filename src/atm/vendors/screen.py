"""
What windows of one agent program show: words by which a question, a composer or a turn is recognised.

Vendors change their words from version to version: each program's part has what was seen.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PERMISSION = "to allow a step of its work"
SIGN_IN = "to sign in"
TRUST = "whether to trust this folder"
PASSWORD = "for a password"

BOX = "".join(map(chr, range(0x2500, 0x25A0))) + "|"
WITHOUT_BOX = str.maketrans("", "", BOX)
"""What terminals draw frames with."""

BY_NOTE, BY_SCREEN = "note", "screen"
"""How one learns that a turn is over of which no hook tells."""


class Screen:
    """What one program's window shows. Words are compared without regard to case and white space."""

    __slots__ = ("asking", "asking_near", "questions", "running", "signed_out", "suggestions", "turn_ends", "working")

    def __init__(
        self,
        *,
        asking: Sequence[str] = (),
        asking_near: Sequence[str] = (),
        running: Sequence[str] = (),
        working: Sequence[str] = (),
        suggestions: Sequence[str] = (),
        questions: Sequence[tuple[str, str]] = (),
        signed_out: Sequence[str] = (),
        turn_ends: str = "",
    ) -> None:
        self.asking = asking
        """Below a composer, or where there is none: a question is in front."""
        self.asking_near = asking_near
        """The same, and also just above a composer."""
        self.running = running
        """The composer is switched to run what is typed."""
        self.working = working
        """Shown beside a composer for as long as a turn runs."""
        self.suggestions = suggestions
        """What stands in an empty composer."""
        self.questions = questions
        """Words of a question, and what it asks, to be read after `it asks`."""
        self.signed_out = signed_out
        """Words of a status line, below a composer that takes text and can do nothing with it."""
        self.turn_ends = turn_ends
        """BY_NOTE or BY_SCREEN where turns end without a hook; empty where a hook always tells."""


def squeezed(text: str) -> str:
    """Without white space and frames, which each program and terminal draws in its own way."""
    return "".join(text.split()).translate(WITHOUT_BOX)
