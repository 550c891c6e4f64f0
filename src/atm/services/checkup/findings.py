"""A finding of the check-up: what is wrong, why it matters, and the command that mends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

PROBLEM, WARNING, NOTE = "problem", "warning", "note"
FIX = "atm doctor --fix"

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-/@:,=%")


def shell_word(text: str) -> str:
    """A path or name as one word of a command that people paste."""
    return text if text and set(text) <= _PLAIN else "'" + text.replace("'", "'\\''") + "'"


@dataclass(slots=True)
class Finding:
    """Something that is not as it should be."""

    code: str
    severity: str
    message: str
    command: str
    path: str = ""
    mend: Callable[[], object] | None = field(default=None, repr=False)
    mended: bool = False
