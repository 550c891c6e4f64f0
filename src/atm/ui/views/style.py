"""Colours and widths of a terminal."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

USUAL = 80
BOLD, DIM, RED, GREEN, YELLOW, BLUE = "1", "2", "31", "32", "33", "34"


def width_of(text: str) -> int:
    """Columns on a terminal: wide characters take two, marks that combine take none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def terminal_columns(stream: TextIO) -> int:
    """How wide the terminal is that a stream ends in; 0 if it ends elsewhere, where nothing has to fit."""
    try:
        return (os.get_terminal_size(stream.fileno()).columns or USUAL) if stream.isatty() else 0
    except (OSError, ValueError):
        return 0
