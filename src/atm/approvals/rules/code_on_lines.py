"""
Programs to which the line itself gives a program: `python -c`, `awk`, `sed`, shells, and builtins that evaluate words.

A program in a file has a name that rules can be about. One that stands on the line, or comes through a pipe, is not
read here: what it does is unclear. Only of `sed` and `awk` the harmless kinds are known, for they are typed all day.
"""

from __future__ import annotations

from atm.approvals.rules.programs import CODE_FLAGS, FLAGS_WITHOUT_VALUE, SHELL_FLAGS, SHELL_VALUES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/I?)"
PART = r"(?:(?!\1)[^\\\n]|\\.)*"
LONGEST_SCRIPT = 500
"""Characters of a script that is read: a longer one is a program."""

HARMLESS_SED = (
    rf"[ \n{{}};]*(?:{ADDRESS}(?: ?, ?[+~]?{ADDRESS})?)? ?(?:! ?)?(?:{{ ?)?"
    rf"(?:[pdqQ=lnNDPhHgGx]\s*\d*|s([/|#,:@!%_])(?:{PART})\1(?:{PART})\1[gpiI\d]*|(?=[}};\s]|$))\s*(?:[;}}\n]|$)"
)
"""Prints, deletes, replaces. Not `e`, which runs a command, nor `w`, which writes a file."""


def doubt_about(name: str, words: Sequence[str]) -> str:
    """Why what an interpreter would run cannot be seen; empty if it is a file that has a name."""
    flags, before = CODE_FLAGS[name], ""
    for word in words[1:]:
        if any(
            word == flag
            or word.startswith(f"{flag}=")
            or (len(flag) == 2 and flag[0] == "-" and word.startswith("-") and word[1:2] != "-" and flag[1] in word)
            for flag in flags
        ):
            return f"{name} runs a program that stands on the line"
        if name.startswith(("python", "pypy")) and before == "-m":
            return ""
        if word.startswith(("/dev/", "/proc/")):
            break
        if not word.startswith("-") and (not before.startswith("-") or before in FLAGS_WITHOUT_VALUE):
            return ""
        before = word
    is_fed = not words[1:] or words[-1] == "-" or words[-1].startswith(("-", "/dev/", "/proc/"))
    is_asked = len(words) == 2 and words[1] in ("--version", "-V", "--help", "-h", "-v")
    return f"{name} takes its program from elsewhere" if is_fed and not is_asked else ""


class ShellWords:
    """What a shell is told to run: a line, a file, or whatever comes."""

    __slots__ = ("doubt", "line", "own", "script")

    def __init__(self, line: str | None = None, doubt: str = "", script: str = "", own: int = 0) -> None:
        self.line = line
        self.own = own
        """Words before the line: the shell's name and its options."""
        self.doubt = doubt
        self.script = script
        """The file with commands."""


def shell_words(words: Sequence[str]) -> ShellWords:
    """All options come first, also those behind `-c`; some take a word of their own."""
    at, letters = 1, ""
    while at < len(words) and words[at][:1] in ("-", "+") and words[at] not in ("-", "--"):
        word = words[at]
        at += 1
        if word in SHELL_VALUES:
            at += 1
        elif word.startswith("--") and word not in SHELL_FLAGS:
            return ShellWords(doubt=f"what a shell does with {word} is not known")
        elif not word.startswith("--"):
            letters += word[1:]
            at += word.lower().count("o")
    rest = words[at + 1 :] if words[at : at + 1] in (["-"], ["--"]) else words[at:]
    if "C" in letters and words[0].endswith("fish"):
        return ShellWords(doubt="fish runs two lines")
    if "c" in letters and rest:
        return ShellWords(rest[0], own=len(words) - len(rest))
    if "c" in letters or "s" in letters or not rest or rest[0].startswith(("/dev/", "/proc/")):
        return ShellWords(doubt="a shell takes its commands from elsewhere")
    return ShellWords(script=rest[0])


# Builtins that evaluate.


def is_evaluated(words: Sequence[str]) -> bool:
    """
    `printf -v 'a[$(x)]'` and `test -v` run what is in the brackets. Zsh evaluates numbers as arithmetic, which assigns.
    """
    rest = words[1:-1] if words[0] == "[" else words[1:]
    if words[0] == "printf" and rest[:1] == ["--"]:
        rest = rest[1:]
    if words[0] == "printf" and rest and not rest[0].startswith("-"):
        kinds, rest = _conversions(rest[0]), rest[1:]
        if "n" in kinds:
            return True  # stores a number in the variable that a word names
        if kinds <= {"s", "b", "q"}:
            return False
        return any(sign.isalpha() or sign in "_[$`(=+-" for word in rest for sign in word.lstrip("-"))
    operators = ("=", "==", "!=")
    return any(
        word[:2] in ("-v", "-R") or (word not in operators and any(sign in word for sign in "[$`(=+")) for word in rest
    )


def _conversions(template: str) -> set[str]:
    """The letters of printf's conversions; `*` is one, for it wants a number."""
    found: set[str] = set()
    for part in template.replace("%%", "").split("%")[1:]:
        plain = part.lstrip("-+ #'0123456789.*hlLqjzt")
        found.add(plain[:1] or part[-1:])
        if "*" in part[: len(part) - len(plain)]:
            found.add("*")
        if part[:1] == "q":
            found.add("q")
    return found


# Sed and awk.


def awk_doubt(words: Sequence[str]) -> str:
    is_more = any(sign in word for word in words[1:] for sign in ("system", "|", "getline", ">", "@", "-E", "--exec"))
    return "awk can run other programs, and write files" if is_more else ""


def sed_scripts(words: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """Scripts, and files; None if that cannot be told."""
    scripts: list[str] = []
    rest: list[str] = []
    taken = iter(words[1:])
    for word in taken:
        if word in ("-e", "--expression") or (_is_cluster(word) and word.endswith("e")):
            scripts += [*_next(taken)]
        elif word.startswith("--expression="):
            scripts.append(word.partition("=")[2])
        elif word in ("-l", "--line-length"):
            next(taken, None)
        elif word.startswith(("-f", "--f", "--e")) or set(_letters(word)) - _PLAIN_SED or not _is_plain_suffix(word):
            return None
        elif not word.startswith("-") or word == "-":
            rest.append(word)
    if not scripts and rest:
        scripts.append(rest.pop(0))
    return scripts, rest


_PLAIN_SED = frozenset("nErszu")
"""Options of sed that take no value."""


def _is_plain_suffix(word: str) -> bool:
    """The suffix of `-i` may hold `*` and `/`, and then it names another place for the file as it was."""
    suffix = word.partition("=")[2] if word.startswith("--in") else ""
    suffix = word[1:].partition("i")[2] if word.startswith("-") and not word.startswith("--") else suffix
    return "/" not in suffix and "*" not in suffix


def _letters(word: str) -> str:
    """Options of a cluster, up to `-i`, whose suffix is the rest."""
    return word[1:].partition("i")[0] if word.startswith("-") and not word.startswith("--") else ""


def _is_cluster(word: str) -> bool:
    return word.startswith("-") and not word.startswith(("--", "-i", "-l")) and "i" not in word[:-1]


def _next(taken: Iterator[str]) -> list[str]:
    following = next(taken, None)
    return [] if following is None else [following]


def _has_odd_bracket(script: str) -> bool:
    """Where a `[…]` ends, and whether a delimiter in it counts, depends on the program."""
    at = script.find("[")
    while at >= 0:
        end = script.find("]", at + 2)
        if end < 0 or any(sign == "/" or f"s{sign}" in script for sign in script[at + 1 : end] if sign in "/|#,:@!%_"):
            return True
        at = script.find("[", end)
    return False


def is_harmless_sed(script: str) -> bool:
    import re

    if len(script) > LONGEST_SCRIPT or _has_odd_bracket(script):
        return False
    known, at = re.compile(HARMLESS_SED), 0
    while at < len(script):
        found = known.match(script, at)
        if found is None or found.end() == at:
            return False
        at = found.end()
    return True


def edits_in_place(words: Sequence[str]) -> bool:
    return any(
        word.startswith("--in-place") or (word.startswith("-") and not word.startswith("--") and "i" in word)
        for word in words[1:]
    )
