"""
Grammars of rules that allow: what is listed may stand there, and nothing else.

`git diff [--stat|--name-only|REV|PATH]*` is the program, a verb, and any number of four things. Words in capitals are
placeholders; `[…]` may be missing, `(…)` is needed, `*` behind it means any number, `+` one or more. An alternative
may be several words (`-n NUMBER`), and a placeholder may follow a beginning (`--format=TEXT`).
"""

from __future__ import annotations

from atm.approvals.rules.shell import GlobWord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from atm.approvals.rules.act import CallPlace

_REVISION = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./@^~{}-+=")
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:@%+,/-")
REST = "COMMAND"
"""All words that are left: what a wrapper starts, which is a layer of its own and needs a rule of its own."""
MOST_WORDS, MOST_TRIED = 400, 200_000


def _is_path(word: str, place: CallPlace) -> bool:
    """A file of the worktree, or the worktree; no pattern that could become an option."""
    if not word or word.startswith("-") or (isinstance(word, GlobWord) and word[:1] in ("*", "?", "[")):
        return False
    root = place.real(place.root)
    return all(place.holds(path) or place.real(path) == root for path in place.every(word))


def _is_target(word: str, _place: CallPlace) -> bool:
    is_elsewhere = word.startswith(("/", "-", "~")) or ".." in word.split("/")
    return bool(word) and not is_elsewhere and _NAME.issuperset(word)


def _is_duration(word: str) -> bool:
    number = word[:-1] if word[-1:] in ("s", "m", "h", "d") else word
    return bool(number) and number.replace(".", "", 1).isdecimal() and word.isascii()


PLACEHOLDERS: dict[str, Callable[[str, CallPlace], bool]] = {
    "PATH": _is_path,
    "REV": lambda word, _: bool(word) and word[0] not in "-/.~" and _REVISION.issuperset(word) and "/../" not in word,
    "NUMBER": lambda word, _: word.isascii() and word.isdecimal(),
    "NAME": _is_target,
    "TARGET": _is_target,
    "TEXT": lambda word, _: not word.startswith("-"),
    "DURATION": lambda word, _: _is_duration(word),
}
"""What may stand in the place of a word in capitals."""


class Group:
    """Words of which one alternative is meant, perhaps repeated."""

    __slots__ = ("alternatives", "is_needed", "repeats")

    def __init__(self, alternatives: list[list[str]], *, is_needed: bool, repeats: bool) -> None:
        self.alternatives = alternatives
        self.is_needed = is_needed
        self.repeats = repeats


class Grammar:
    """One grammar, ready to be compared with words."""

    __slots__ = ("groups", "program")

    def __init__(self, groups: list[Group]) -> None:
        self.groups = groups
        self.program = groups[0].alternatives[0][0]

    def matches(self, words: Sequence[str], place: CallPlace, *, takes_patterns: bool = False) -> bool:
        """`takes_patterns`: may a pattern stand for a PATH? It may become several, and links."""
        if not takes_patterns and any(isinstance(word, GlobWord) for word in words):
            return False
        if not words or words[0] != self.program or len(words) > MOST_WORDS:
            return False
        reached, tried = {0}, [0]
        for group in self.groups:
            reached = _after(group, words, reached, place, tried)
            if not reached or tried[0] > MOST_TRIED:
                return False
        return len(words) in reached


def _after(group: Group, words: Sequence[str], starts: set[int], place: CallPlace, tried: list[int]) -> set[int]:
    """Where the words behind a group may begin."""
    found: set[int] = set() if group.is_needed else {*starts}
    open_starts, seen = [*starts], {*starts}
    while open_starts:
        at = open_starts.pop()
        for alternative in group.alternatives:
            tried[0] += 1
            end = _end(alternative, words, at, place)
            if end is None:
                continue
            found.add(end)
            if group.repeats and end not in seen:
                seen.add(end)
                open_starts.append(end)
    return found


def _end(alternative: list[str], words: Sequence[str], at: int, place: CallPlace) -> int | None:
    for part in alternative:
        if part == REST:
            return len(words) if at < len(words) else None
        if at >= len(words) or not _is(part, words[at], place):
            return None
        at += 1
    return at


def _is(part: str, word: str, place: CallPlace) -> bool:
    for name, fits in PLACEHOLDERS.items():
        beginning = part.removesuffix(name)
        if beginning != part and (not beginning or beginning[-1] in "=-:"):
            is_path = name == "PATH" or not isinstance(word, GlobWord)
            return is_path and word.startswith(beginning) and fits(_rest(word, beginning), place)
    return word == part and not isinstance(word, GlobWord)


def _rest(word: str, beginning: str) -> str:
    rest = word[len(beginning) :]
    return GlobWord(rest) if isinstance(word, GlobWord) else rest


def read_grammar(text: str) -> Grammar | str:
    """The grammar, or what is wrong with it."""
    groups: list[Group] = []
    at = 0
    while at < len(text):
        sign = text[at]
        if sign == " ":
            at += 1
        elif sign in "[(":
            closing = text.find("]" if sign == "[" else ")", at)
            if closing < 0:
                return f"{sign} is not closed"
            alternatives = [one.split() for one in text[at + 1 : closing].split("|")]
            if not all(alternatives) or any(mark in text[at + 1 : closing] for mark in "[("):
                return "an alternative is empty, or brackets stand within brackets"
            at = closing + 1
            mark = text[at : at + 1]
            at += mark in ("*", "+")
            groups.append(Group(alternatives, is_needed=sign == "(" or mark == "+", repeats=mark in ("*", "+")))
            if text[at : at + 1] not in ("", " "):
                return "a space must follow a bracket"
        else:
            end = text.find(" ", at)
            word = text[at : end if end >= 0 else len(text)]
            if any(mark in word for mark in "[]()|*"):
                return f"{word!r} holds a sign that belongs to brackets; put a space before the bracket"
            groups.append(Group([[word]], is_needed=True, repeats=False))
            at += len(word)
    if not groups or len(groups[0].alternatives) != 1 or not groups[0].is_needed:
        return "it must begin with the name of a program"
    if groups[0].alternatives[0][0].isupper():
        return "its program must be named, not a placeholder"
    return _unknown(groups) or Grammar(groups)


def _unknown(groups: list[Group]) -> str:
    words = [word for group in groups for alternative in group.alternatives for word in alternative]
    known = (*PLACEHOLDERS, REST)
    odd = next(
        (word for word in words if word.isupper() and word.isalpha() and len(word) > 1 and word not in known), ""
    )
    return f"{odd} is no placeholder; known are {', '.join(known)}" if odd else ""
