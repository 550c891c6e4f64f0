"""
One sign, one word and one of five meanings for each state, the same on every face. Never colour alone.

`you` waits for the person who looks, `broken` needs somebody, `moving` gets on, `proven` is done, `rest` is at rest or
unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

from atm.merges.rules.shown_state import BROKEN, MOVING, PROVEN, REST, SHOWN, YOU
from atm.ui.views.looks import LOOKS
from atm.vendors.known import every, of_word

__all__ = ["BROKEN", "MOVING", "PROVEN", "REST", "YOU", "sign", "titles", "vendor"]


@dataclass(frozen=True, slots=True)
class Sign:
    """How a state looks, with and without Unicode, and what it means."""

    mark: str
    ascii: str
    meaning: str


_ASCII = {"◉": ">", "◎": ">", "✎": "*", "◆": "*", "○": "-", "▲": "!", "◌": ".", "✓": "+", "▣": "%", "≠": "!"}
_ASCII |= {"·": ".", "✗": "x", "⊘": ".", "⊝": "x", "?": "?"}

SIGNS = {
    **dict.fromkeys(("command", "question", "mail", "merge", "late", "suspended"), Sign("◆", "*", YOU)),
    **dict.fromkeys(("run paused", "run held", "run stopped", "run suspended"), Sign("◆", "*", YOU)),
    "run died": Sign("▲", "!", BROKEN),
    "plan": Sign("✎", "*", YOU),
    **dict.fromkeys(
        ("stalled", "gone", "crashed", "died", "given up", "trouble", "unreadable"), Sign("▲", "!", BROKEN)
    ),
    "collides": Sign("≠", "!", BROKEN),
    **dict.fromkeys(("denied", "expired"), Sign("✗", "x", BROKEN)),
    **dict.fromkeys(("working", "starting"), Sign("◉", ">", MOVING)),
    **dict.fromkeys(("idle", "ready", "queued", "online"), Sign("○", "-", REST)),
    **dict.fromkeys(("done", "approved"), Sign("✓", "+", PROVEN)),
    **dict.fromkeys(("stopped", "offline", "skipped"), Sign("·", ".", REST)),
    **{state: Sign(one.symbol, _ASCII[one.symbol], SHOWN[state].tone) for state, one in LOOKS.items()},
}
"""Signs of rows that are about members, requests and mail; and of every state of a task."""
UNKNOWN = Sign("?", "?", REST)

_FULL = Sign("■", "#", PROVEN)
CELLS = {
    "completed": _FULL,
    "merged": _FULL,
    **{state: SIGNS[state] for state in SHOWN if state not in ("completed", "merged")},
    **dict.fromkeys(("approval", "plan_waits"), Sign("◆", "*", YOU)),
    "stalled": SIGNS["stalled"],
}
"""One cell for each task, in the strip at the top: its state, or what holds it up besides the board."""


def cell_sign(cell: str) -> Sign:
    return CELLS.get(cell, UNKNOWN)


def sign(state: str) -> Sign:
    return SIGNS.get(state, UNKNOWN)


PERSON = ("··", "a person")


def titles() -> dict[str, str]:
    """What the two letters of each kind of member mean."""
    of_vendors = {known.letters: known.title for known in every() if known.letters}
    return dict([*of_vendors.items(), PERSON])


def vendor(*known: str | None) -> tuple[str, str]:
    """Two letters and a name, from what is known best: its runtime, its backend, its model."""
    for one in known:
        name = (one or "").partition(":")[0].casefold()
        if name == "human":
            return PERSON
        found = of_word(name) if name else None
        if found is not None:
            return found.letters, found.title
    return "", "an agent of an unknown kind"
