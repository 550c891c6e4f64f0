"""
Text that somebody else wrote, made safe to show on a terminal (D22).

Control characters, escape sequences and direction overrides become visible marks: nothing in a name or a
message can move the cursor, set a title, hide text or ring the bell.
"""

from __future__ import annotations

_DIRECTIONS = {0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
_ALWAYS = {
    **{c: 0x2400 + c for c in range(32)},  # the visible pictures of the C0 controls
    0x7F: 0x2421,
    **dict.fromkeys(range(128, 160), 65533),  # C1: some terminals take 0x9b for ESC [
    **dict.fromkeys(_DIRECTIONS, 65533),
    **dict.fromkeys(range(55296, 57344), 65533),  # lone surrogates cannot be printed at all
    **dict.fromkeys((8203, 8288, 65279, *range(917504, 917632)), 65533),  # invisible; hides words in words
    0x2028: 0x20,
    0x2029: 0x20,
}
_IN_TEXT = {key: value for key, value in _ALWAYS.items() if key not in (0x09, 0x0A)}


def one_line(text: str) -> str:
    """For names, summaries and table cells."""
    if text.isascii() and text.isprintable():
        return text
    return text.replace("\n", " ").replace("\t", " ").translate(_ALWAYS)


def many_lines(text: str) -> str:
    """For message bodies: newlines and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return text.replace("\r\n", "\n").translate(_IN_TEXT)
