"""
The last words of an agent's turn, as far as they say how its task stands.

Any program of any vendor can say them, with no tool of ours set up. What they claim is the agent's own claim and no
more: a task with checks is done when its checks pass.
"""

from __future__ import annotations

import re

DONE, FAILED, QUESTION = "done", "failed", "question"

_LAST_LINES = 12
_WORD = re.compile(r"[\s>*_#`]*(DONE|FAILED|QUESTION)[*_`]*(?::[*_`]*\s*(.*)|\s*)")
"""With a colon, or alone on its line: `FAILED tests/x.py` is what a test runner says, and `- DONE parser` a list."""


class LastWords:
    """What an agent says of its task; an empty kind if it says nothing."""

    __slots__ = ("kind", "text")

    def __init__(self, kind: str = "", text: str = "") -> None:
        self.kind = kind
        self.text = text


def last_words(text: str) -> LastWords:
    """The last line that begins with one of the words, and what follows it."""
    lines = [line for line in text.splitlines() if line.strip()][-_LAST_LINES:]
    for at in range(len(lines) - 1, -1, -1):
        found = _WORD.fullmatch(lines[at])
        if found:
            said = " ".join(
                [(found[2] or "").strip().rstrip("*_`"), *(line.strip() for line in lines[at + 1 :])]
            ).strip()
            return LastWords(found[1].lower(), said)
    return LastWords()
