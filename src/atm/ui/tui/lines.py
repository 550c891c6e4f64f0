"""
Lines of the screen: pieces of text, each with what it means. Widths are columns of a terminal.

No markup anywhere: a piece is text and a meaning, so nothing that an agent wrote can become a colour or a link.
"""

from __future__ import annotations

from atm.core.untrusted_text import many_lines, one_line
from atm.ui.views.fitting import cut, wrapped_line
from atm.ui.views.style import width_of

Piece = tuple[str, str]
Line = list[Piece]

PLAIN, DIM, BOLD, CHOSEN = "", "dim", "bold", "chosen"


def text(said: str, meaning: str = PLAIN) -> Piece:
    """A piece of somebody else's text, harmless and on one line."""
    return one_line(said), meaning


def harmless(line: Line) -> Line:
    """A last net over everything that is drawn: nothing in it moves a cursor or turns letters round."""
    return [(said if said.isprintable() else _printable(said), meaning) for said, meaning in line]


def _printable(said: str) -> str:
    return "".join(sign if sign.isprintable() else " " if sign == "\t" else "�" for sign in one_line(said))


def width(line: Line) -> int:
    return sum(width_of(said) for said, _ in line)


def padded(said: str, columns: int) -> str:
    """Exactly so many columns."""
    shown = cut(said, columns)
    return shown + " " * (columns - width_of(shown))


def fitted(line: Line, columns: int) -> Line:
    """The line cut to so many columns, and filled up to them."""
    found: Line = []
    room = columns
    for said, meaning in line:
        if room <= 0:
            break
        shown = cut(said, room) if width_of(said) > room else said
        found.append((shown, meaning))
        room -= width_of(shown)
    return [*found, (" " * room, PLAIN)] if room > 0 else found


def ends(start: Line, end: Line, columns: int) -> Line:
    """One at the left, the other at the right; what is too much goes from the left one."""
    room = columns - width(end)
    if room < 8:
        return fitted(start, columns)
    return [*fitted([*fitted(start, room - 1), (" ", PLAIN)], room), *end]


def wrapped(said: str, columns: int, indent: str = "", most: int | None = None) -> list[str]:
    """By words, all lines set in; what is longer than a line is broken where it must be. Harmless."""
    found: list[str] = []
    for paragraph in many_lines(said).split("\n"):
        found += wrapped_line(paragraph.rstrip(), max(1, columns - width_of(indent)))
        if most is not None and len(found) > most:
            found = [
                *found[: most - 1],
                cut(f"{found[most - 1]} {found[most]}", max(1, columns - width_of(indent) - 1)),
            ]
            break
    return [f"{indent}{one}" for one in found]


def rule(columns: int) -> Line:
    return [("─" * columns, DIM)]


def as_ascii(said: str) -> str:
    """For terminals without Unicode. What has no likeness is a question mark."""
    return said if said.isascii() else "".join(_ASCII.get(sign, "?" * width_of(sign)) for sign in said)


_ASCII = {
    **dict.fromkeys("◆✎✉", "*"),
    **dict.fromkeys("▲≠", "!"),
    **dict.fromkeys("◉◎●", ">"),
    **dict.fromkeys("○┄", "-"),
    **dict.fromkeys("◌·⊘", "."),
    **dict.fromkeys("✓■", "+"),
    **dict.fromkeys("✗⊝", "x"),
    **dict.fromkeys("▌│┃┬┴┼├┤", "|"),
    **dict.fromkeys("─━", "-"),
    **dict.fromkeys("▓█▇▆▅", "#"),
    **dict.fromkeys("░▁▂▃▄", "."),
    **dict.fromkeys("▣", "%"),
    **{chr(code): chr(code) for code in range(128)},
    "…": "~",
    "−": "-",
    "→": ">",
    "←": "<",
    "∅": "0",
    "“": '"',
    "”": '"',
    "’": "'",
}
