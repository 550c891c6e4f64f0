"""Texts made to fit: cut with dots, or wrapped by words with their indent. Widths are columns of a terminal."""

from __future__ import annotations

from functools import lru_cache

from atm.core.untrusted_text import one_line
from atm.ui.views.style import width_of

DRAWN = frozenset("│├└┌┐┘┤┬┴┼╭╮╰╯▌")
"""Signs of a drawing: whoever wraps it breaks it."""

COMMAND = (
    "ack|approvals|attach|broadcast|cleanup|completion|config|daemon|deliver|demo|doctor|down|help|hook|inbox|init|kill|"
    "logs|mcp|members|merge|peek|permit|plugins|prime|read|receipts|request|run|runs|runtimes|salvage|send|session|"
    "snapshot|spawn|spool|status|stop|sync|tasks|teams|top|trust|up|version|watch|web"
)
"""What may follow `atm` in a command. In a sentence, it is a name like others."""

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


def glimpse(said: str, most: int = 100) -> str:
    """The beginning of what somebody wrote, in one line."""
    return cut(one_line(said[: 4 * most]), most)


def wrapped_line(said: str, columns: int, *, whole_paths: bool = False) -> list[str]:
    """By words; what is longer than a line is broken where it must be, unless it is a path to be copied."""
    found, now = [], ""
    for word in said.split(" "):
        trial = f"{now} {word}" if now else word
        if width_of(trial) <= columns:
            now = trial
            continue
        if now:
            found.append(now)
        parts = [word] if whole_paths and "/" in word else _broken(word, columns)
        found += parts[:-1]
        now = parts[-1]
    return [*found, now]


def _broken(word: str, columns: int) -> list[str]:
    """In parts of so many columns; colours take none."""
    import re

    parts, room = [""], columns
    for sign in re.findall(r"\x1b\[[0-9;]*m|.", word):
        wide = 0 if len(sign) > 1 else width_of(sign)
        if wide > room and parts[-1]:
            parts.append("")
            room = columns
        parts[-1] += sign
        room -= wide
    return parts


def last_lines(output: str, most: int) -> list[str]:
    """The end of an output, without its colours, and harmless. Of what a program writes over itself, the last state."""
    from atm.crew.rules.output import as_seen

    return [said for line in as_seen(output).split("\n") if (said := one_line(line).strip())][-most:]


def fold(line: str, columns: int) -> list[str]:
    """
    A line for people on a terminal: by words, the rest set in as it began or under what it says of a key. What is for
    pasting (a command, a path, an id) stays in one piece, even if that is wider; drawings stay as they are.
    """
    if shown_width(line) <= columns or not DRAWN.isdisjoint(line):
        return [line]
    inset, start = _inset(line, columns), len(line) - len(line.lstrip(" "))
    found, now, used = [], "", 0
    for gap, whole in _pieces(line, columns):
        parts = [whole] if _is_for_pasting(whole) else _broken(whole, max(1, columns - inset))
        for word in parts:
            width = shown_width(word)
            if used and used + len(gap) + width > columns:
                found.append(now)
                used, gap = min(inset, max(start, columns - width)), ""
                now = " " * used
            now += gap + word
            used, gap = used + len(gap) + width, ""
    return [*found, now]


def _is_for_pasting(word: str) -> bool:
    """A name of what others wrote with wide signs is text, which has no gaps between its words."""
    return word.isascii() or "/" in word or "`" in word


def shown_width(text: str) -> int:
    """Without the colours in it."""
    if "\x1b" not in text:
        return width_of(text)
    import re

    return width_of(re.sub(r"\x1b\[[0-9;]*m", "", text))


def _pieces(line: str, columns: int) -> list[tuple[str, str]]:
    """
    Words with the blanks before them. One word is a command of ours up to the next gap, and what stands in backquotes,
    unless it is somebody else's and wider than a line.
    """
    import re

    where = r"(?:(?<=: )|(?<=→ )|(?<=\$ )|(?<=^)|(?<=  ))"
    found = re.search(rf"{where}(?:\x1b\[[0-9;]*m)?(?:\w+=\S+ )*atm (?:-|({COMMAND})\b)(?:(?!  ).)*", line)
    if found is None:
        return _words(line, columns)
    before = line[: found.start()]
    gap = before[len(before.rstrip(" ")) :]
    return [*_words(before, columns), (gap, found[0]), *_words(line[found.end() :], columns)]


def _words(text: str, columns: int) -> list[tuple[str, str]]:
    import re

    found = [(one[1], one[2]) for one in re.finditer(r"( *)(\S*`[^`]*`\S*|\S+)", text)]
    return [
        part
        for gap, word in found
        for part in (
            [(gap, word)]
            if shown_width(word) <= columns or "`atm " in word
            else [(one[1] or gap, one[2]) for one in re.finditer(r"( *)(\S+)", word)]
        )
    ]


def _inset(line: str, columns: int) -> int:
    """Where the rest of a line begins: under the value of its key, behind its mark, or where it began itself."""
    import re

    plain = re.sub(r"\x1b\[[0-9;]*m", "", line)
    start = len(plain) - len(plain.lstrip(" "))
    key = re.match(r" *\S+(?: \S+)?  +(?=\S)", plain)
    if key and width_of(key[0]) <= columns // 2:
        return width_of(key[0])
    return min(start + 2 * (plain[start : start + 1] in MARKS), columns // 2)
