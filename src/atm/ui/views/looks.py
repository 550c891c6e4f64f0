"""How each state of a task looks, everywhere: in lists, in drawings, while it is watched."""

from __future__ import annotations

from atm.core.untrusted_text import one_line
from atm.merges.rules.shown_state import SHOWN, shown
from atm.ui.views.style import BLUE, BOLD, DIM, GREEN, RED, YELLOW

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.core.plain import Plain


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
    "planning": Look("✎", (BLUE,), "#dcebff", "#12294a", "#2f7de1"),
    "plan_waits": Look("✎", (YELLOW,), "#fff4cc", "#352b0d", "#c99700"),
    "question": Look("◆", (YELLOW,), "#fff4cc", "#352b0d", "#c99700"),
    "pending": Look("○", (), "#eef2f7", "#1c2530", "#8093a8"),
    "to_retry": Look("▲", (RED,), "#ffe0de", "#431412", "#d1242f"),
    "blocked": Look("◌", (DIM,), "#f6f1e9", "#29241c", "#b09a78"),
    "completed": Look("✓", (GREEN,), "#dff5e3", "#12301b", "#2da44e"),
    "to_merge": Look("▣", (GREEN,), "#dff5e3", "#12301b", "#2da44e"),
    "merging": Look("▣", (BOLD, BLUE), "#dcebff", "#12294a", "#2f7de1"),
    "merged": Look("✓", (GREEN,), "#dff5e3", "#12301b", "#2da44e"),
    "conflict": Look("≠", (BOLD, RED), "#ffe0de", "#431412", "#d1242f"),
    "not_merged": Look("✗", (RED,), "#ffe0de", "#431412", "#d1242f"),
    "left_out": Look("·", (DIM,), "#f0f0f0", "#232323", "#949494"),
    "failed": Look("✗", (BOLD, RED), "#ffe0de", "#431412", "#d1242f"),
    "cancelled": Look("⊘", (DIM,), "#f0f0f0", "#232323", "#949494"),
    "unreachable": Look("⊝", (RED,), "#ffe9f1", "#3b1526", "#bf3989"),
    "unreadable": Look("?", (RED,), "#ffe0de", "#431412", "#d1242f"),
}
STATES = (
    *("in_progress", "review", "planning", "pending", "blocked", "completed", "failed", "cancelled", "unreachable"),
    "unreadable",
)
"""States of the board, as files and programs know them."""
UNKNOWN = Look("?", (), "#ffffff", "#161616", "#949494")


def word_of(state: str) -> str:
    """The word for people of a task's state, the same on every surface."""
    return shown(state).word


def counts_in_words(counts: Mapping[str, Plain]) -> str:
    """How many tasks are in each shown state; the three that everybody knows come first."""
    found = {"pending": 0, "in_progress": 0, "completed": 0, **counts}
    return one_line(", ".join(f"{count} {word_of(state)}" for state, count in found.items()))


def spelled(state: str) -> str:
    """Any name of a program, for people. States of tasks have words of their own (`word_of`)."""
    return state.replace("_", " ")


def meant(word: str) -> str:
    """The state that the caller names, by its name in any spelling or by its word."""
    by_word = next((one.state for one in SHOWN.values() if one.word == word.casefold()), "")
    return by_word or word.casefold().replace(" ", "_").replace("-", "_")


def look(state: str) -> Look:
    return LOOKS.get(state, UNKNOWN)
