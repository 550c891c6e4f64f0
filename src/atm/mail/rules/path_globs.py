"""
Gitignore patterns on absolute paths, matched in bounded time whatever stands in them.

`*`, `?` and classes stay within a folder's name, `**` does not, and a pattern about a folder covers what is in it. A
pattern comes from a settings file that anybody may have written, and as a regular expression `*a*a*a…b` takes longer
than the universe: so all places where the walk through the pattern can stand are kept at once, as the bits of one
integer (`board.file_overlap` does the same with two patterns). One step for each character of the path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_IN_NAME, _ONE, _ANYTHING, _FOLDERS = "*", "?", "**", "/**/"
"""Pieces of a pattern. The others are plain characters and classes; no plain character is a star or question mark."""


@dataclass(frozen=True, slots=True)
class CharacterClass:
    """`[abc]`, `[a-z]`, `[!x]`: one character, never a slash."""

    ranges: tuple[tuple[str, str], ...]
    is_negated: bool = False

    def holds(self, sign: str) -> bool:
        return sign != "/" and any(low <= sign <= high for low, high in self.ranges) != self.is_negated


NAME_CHARACTER = CharacterClass((), is_negated=True)


@dataclass(frozen=True, slots=True)
class PathGlob:
    """A pattern, ready to match: which of its places take what. A place is a bit."""

    base: str
    """What every path that matches begins with, to the letter."""
    letters: Mapping[str, int]
    """Places that take this character."""
    classes: Mapping[CharacterClass, int]
    names: int
    """Places that take any number of characters of a name, and none."""
    anything: int
    """Places that take any number of characters, slashes included, and none."""
    folders: int
    """Places that may be left out, with the one behind them, when one comes to them from a slash."""
    ends: int
    """Places where a path may end."""

    def matches(self, path: str) -> bool:
        if not path.startswith(self.base):
            return False
        elastic = self.names | self.anything
        fitting: dict[str, int] = {}
        standing = 1 | (elastic & 1) << 1
        for sign in path[len(self.base) :]:
            if sign not in fitting:
                fitting[sign] = self._taking(sign)
            moved = (standing & fitting[sign]) << 1
            moved |= (moved & self.folders) << 2
            standing = moved | standing & (self.anything if sign == "/" else elastic)
            standing |= (standing & elastic) << 1  # no two elastic places are neighbours
            if not standing:
                return False
        return bool(standing & self.ends)

    def _taking(self, sign: str) -> int:
        places = self.letters.get(sign, 0)
        for one, bits in self.classes.items():
            if one.holds(sign):
                places |= bits
        return places


def path_glob(base: str, pattern: str) -> PathGlob:
    """A pattern below a folder; `base` is taken to the letter."""
    letters: dict[str, int] = {}
    classes: dict[CharacterClass, int] = {}
    names = anything = folders = at = 0
    pieces = _pieces(pattern.rstrip("/"))
    for piece in [*pieces, "/", _ANYTHING]:  # a rule about a folder covers what is in it
        bit = 1 << at
        if isinstance(piece, CharacterClass):
            classes[piece] = classes.get(piece, 0) | bit
        elif piece == _IN_NAME:
            names |= bit
        elif piece == _ANYTHING:
            anything |= bit
        elif piece == _FOLDERS:  # a slash; then, or not, anything and a slash
            letters["/"] = letters.get("/", 0) | bit | bit << 2
            anything |= bit << 1
            folders |= bit << 1
            at += 2
        else:
            letters[piece] = letters.get(piece, 0) | bit
        at += 1
    return PathGlob(base.rstrip("/"), letters, classes, names, anything, folders, ends=0b11 << at - 2)


def _pieces(pattern: str) -> list[str | CharacterClass]:
    pieces: list[str | CharacterClass] = []
    at, last = 0, pattern.rfind("]")
    while at < len(pattern):
        end = _end_of_class(pattern, at, last)
        if end:
            pieces.append(_class(pattern[at + 1 : end]))
            at = end + 1
        elif pattern.startswith(_FOLDERS, at):
            pieces.append(_FOLDERS)
            at += len(_FOLDERS)
            while pattern.startswith("**/", at):  # `/**/**/` says it twice
                at += len("**/")
        elif pattern[at] == "*":
            star = _ANYTHING if pattern.startswith(_ANYTHING, at) else _IN_NAME
            at += len(star)
            if pieces and pieces[-1] in (_IN_NAME, _ANYTHING):
                star = star if pieces[-1] == _IN_NAME else _ANYTHING
                pieces.pop()
            pieces.append(star)
        else:
            pieces.append(NAME_CHARACTER if pattern[at] == _ONE else pattern[at])
            at += 1
    return pieces


def _end_of_class(pattern: str, at: int, last: int) -> int:
    """Where the class that begins here ends, not beyond `last`; 0 if none does and a bracket is plain text."""
    if pattern[at] != "[":
        return 0
    first = at + 2 if pattern[at + 1 : at + 2] in ("!", "^") else at + 1
    return pattern.index("]", first + 1) if first < last else 0  # a bracket in the first place stands for itself


def _class(body: str) -> CharacterClass:
    """A range that runs backwards holds nothing."""
    is_negated = body[0] in "!^"
    ranges: list[tuple[str, str]] = []
    at = 1 if is_negated else 0
    while at < len(body):
        high = at + 2 if body[at + 1 : at + 2] == "-" and at + 2 < len(body) else at
        if body[at] <= body[high]:
            ranges.append((body[at], body[high]))
        at = high + 1
    return CharacterClass(tuple(ranges), is_negated)
