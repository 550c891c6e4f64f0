"""Texts made to fit: cut with dots, or wrapped by words with their indent. Widths are columns of a terminal."""

from __future__ import annotations

from functools import lru_cache

from atm.domain.untrusted_text import one_line
from atm.ui.views.style import width_of

DRAWN = frozenset("│├└┌┐┘┤┬┴┼╭╮╰╯▌")
"""Signs of a drawing: whoever wraps it breaks it."""

MARKS = frozenset("●○◉◎◌✓✗⊘⊝▲·→$!-*?")


@lru_cache(4096)
def cut(said: str, most: int, dots: str = "…") -> str:
    """At most so many columns; what is left out shows as dots."""
    if width_of(said) <= most:
        return said
    if most <= width_of(dots):
        return dots[: max(0, most)]
    room, kept = most - width_of(dots), []
    for sign in said:
        room -= width_of(sign)
        if room < 0:
            break
        kept.append(sign)
    return "".join(kept).rstrip() + dots


def wrapped_line(said: str, columns: int) -> list[str]:
    """By words; what is longer than a line is broken where it must be."""
    found, now = [], ""
    for word in said.split(" "):
        trial = f"{now} {word}" if now else word
        if width_of(trial) <= columns:
            now = trial
            continue
        if now:
            found.append(now)
        while width_of(word) > columns:
            head = _head(word, columns)
            found.append(head)
            word = word[len(head) :]
        now = word
    return [*found, now]


def _head(word: str, columns: int) -> str:
    room, at = columns, 0
    while at < len(word) and room >= width_of(word[at]):
        room -= width_of(word[at])
        at += 1
    return word[: max(1, at)]


def last_lines(output: str, most: int) -> list[str]:
    """The end of an output, without its colours, and harmless. Of what a program writes over itself, the last state."""
    import re

    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output).replace("\r\n", "\n")
    lines = (line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return [said for line in lines if (said := one_line(line).strip())][-most:]


def fold(line: str, columns: int) -> list[str]:
    """
    A line for people on a terminal: by words, the rest set in as it began or under what it says of a key. What is for
    pasting (a command, a path) stays in one piece, even if that is wider; drawings stay as they are.
    """
    if shown_width(line) <= columns or not DRAWN.isdisjoint(line):
        return [line]
    pieces = _pieces(line)
    inset = " " * _inset(line, columns)
    found, now, used = [], "", 0
    for gap, word in pieces:
        if used and used + len(gap) + shown_width(word) > columns:
            found.append(now)
            now, used, gap = inset, len(inset), ""
        now += gap + word
        used += len(gap) + shown_width(word)
    return [*found, now]


def shown_width(text: str) -> int:
    """Without the colours in it."""
    if "\x1b" not in text:
        return width_of(text)
    import re

    return width_of(re.sub(r"\x1b\[[0-9;]*m", "", text))


def _pieces(line: str) -> list[tuple[str, str]]:
    """Words with the blanks before them; what stands in backquotes, and a command that ends the line, is one word."""
    import re

    command = re.search(r"(?:(?<=: )|(?<=→ )|(?<=\$ )|(?<=^)|(?<=  ))(?:\x1b\[[0-9;]*m)?(?:\w+=\S+ )*atm .*$", line)
    body = line[: command.start()] if command else line
    found = [(one[1], one[2]) for one in re.finditer(r"( *)(\S*`[^`]*`\S*|\S+)", body)]
    if command is None:
        return found
    return [*found, (body[len(body.rstrip(" ")) :], command[0])]


def _inset(line: str, columns: int) -> int:
    """Where the rest of a line begins: under the value of its key, behind its mark, or where it began itself."""
    import re

    plain = re.sub(r"\x1b\[[0-9;]*m", "", line)
    start = len(plain) - len(plain.lstrip(" "))
    key = re.match(r" *\S+(?: \S+)?  +(?=\S)", plain)
    if key and width_of(key[0]) <= columns // 2:
        return width_of(key[0])
    return min(start + 2 * (plain[start : start + 1] in MARKS), columns // 2)
