"""
What a program wrote to a terminal or a log, as the text that a person would have seen there.

Colours, titles and cursor movements say nothing in a list of lines, so they are removed. A carriage return begins the
line anew, as on a terminal: of a progress line the last state stays. Pure; whatever is left and could still act on a
terminal becomes a visible mark.
"""

from __future__ import annotations

import re

from atm.core.untrusted_text import many_lines

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, movements, modes
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x80-\x9f]*+(?:\x07|\x1b\\|\x9c)"  # OSC: titles, links
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x80-\x9f]*+(?:\x1b\\|\x9c)"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]+[0-~]"  # character sets
    r"|\x1b[0-OQ-WYZ\\`-~]"  # keypad modes, save and restore
)
"""
Whole escape sequences, with either spelling of their introducer. The text of a sequence holds no introducer, so that
many beginnings without an end are read once and not once each.
"""

_CUT_SIGN = " …"
"""How a driver ends a text that it cut."""


def as_seen(text: str) -> str:
    """Harmless text: no sequence, no control character, and one state of each line."""
    plain = _SEQUENCE.sub("", text).replace("\r\n", "\n")
    if "\r" in plain or "\b" in plain:
        plain = "\n".join(_last_state(line) for line in plain.split("\n"))
    return many_lines(plain)


def _last_state(line: str) -> str:
    """What is left of a line that was written over: a shorter text leaves the end of a longer one."""
    shown: list[str] = []
    for part in line.split("\r"):
        part = _without_erased(part)
        shown[: len(part)] = part
    return "".join(shown)


def _without_erased(part: str) -> str:
    """A backspace takes back one character; progress wheels turn by it."""
    if "\b" not in part:
        return part
    kept: list[str] = []
    for sign in part:
        if sign != "\b":
            kept.append(sign)
        elif kept:
            kept.pop()
    return "".join(kept)


def untold(words: str, told: list[str]) -> str:
    """
    Of the words that ended a turn, what `told` does not hold yet. A driver tells what its agent says while the turn
    runs, and the last of it once more with the turn's end; a log has room for it once.
    """
    wanted = _letters(words)
    if not wanted or wanted in _letters("".join(told)):
        return ""
    for part in told:
        cut = part.removesuffix(_CUT_SIGN)
        if cut and cut != part and words.startswith(cut):
            return words[len(cut) :]
    return words


def _letters(text: str) -> str:
    return "".join(text.split())
