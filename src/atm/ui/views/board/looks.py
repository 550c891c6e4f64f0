"""How each state of a task looks, everywhere: in lists, in drawings, while it is watched."""

from __future__ import annotations

from atm.ui.views.style import BLUE, BOLD, DIM, GREEN, RED, YELLOW


class Look:
    """How a state is shown: its symbol, its colour codes on a terminal, its fills on white and on dark, its border."""

    __slots__ = ("border", "codes", "dark", "light", "symbol")

    def __init__(self, symbol: str, codes: tuple[str, ...], light: str, dark: str, border: str) -> None:
        self.symbol = symbol
        self.codes = codes
        self.light = light
        self.dark = dark
        self.border = border


LOOKS = {
    "in_progress": Look("◉", (BOLD, BLUE), "#dcebff", "#12294a", "#2f7de1"),
    "review": Look("◎", (BLUE,), "#ece3ff", "#2a1d47", "#8250df"),
    "planning": Look("✎", (YELLOW,), "#fff4cc", "#352b0d", "#c99700"),
    "pending": Look("○", (), "#eef2f7", "#1c2530", "#8093a8"),
    "blocked": Look("◌", (DIM,), "#f6f1e9", "#29241c", "#b09a78"),
    "completed": Look("✓", (GREEN,), "#dff5e3", "#12301b", "#2da44e"),
    "failed": Look("✗", (BOLD, RED), "#ffe0de", "#431412", "#d1242f"),
    "cancelled": Look("⊘", (DIM,), "#f0f0f0", "#232323", "#949494"),
    "unreachable": Look("⊝", (RED,), "#ffe9f1", "#3b1526", "#bf3989"),
    "unreadable": Look("?", (RED,), "#ffe0de", "#431412", "#d1242f"),
}
STATES = tuple(LOOKS)
UNKNOWN = Look("?", (), "#ffffff", "#161616", "#949494")


def spelled(state: str) -> str:
    """A state for people. Programs know it as it is in files: `in_progress`."""
    return state.replace("_", " ")


def meant(word: str) -> str:
    """The state that somebody names, in whatever spelling."""
    return word.casefold().replace(" ", "_").replace("-", "_")


def look(state: str) -> Look:
    return LOOKS.get(state, UNKNOWN)
