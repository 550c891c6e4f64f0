"""Colours and widths of a terminal."""

from __future__ import annotations

BOLD, DIM, RED, GREEN, YELLOW, BLUE = "1", "2", "31", "32", "33", "34"


def width_of(text: str) -> int:
    """Columns on a terminal: wide characters take two, marks that combine take none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)
