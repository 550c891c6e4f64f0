"""
File overlap: could two tasks touch the same file?

Tasks name their files by glob patterns. Two patterns overlap if some path, existing or not, matches both; nothing
here looks at a disk. Where we cannot know we say yes: a needless warning costs a glance, a missed one a merge.

Both levels, segments of a path and characters of a segment, are the same search: walk the two patterns side by side
and keep the set of places where the walk through the other one can stand. The set is the bits of one integer, so a
step is a handful of operations however many stars there are. On the path of `atm tasks claim`: imports nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
    from typing import TypeVar

    Part = TypeVar("Part", bound=Hashable)
    Ranges = tuple[tuple[str, str], ...]
    Letter = str | Ranges

LONGEST_PATTERN = 1_000
"""Characters. Nobody writes longer ones by hand; such a pattern overlaps everything, unread."""

MOST_COMPARED = 1_000_000
"""Pairs of patterns that are looked at, some seconds' worth. A plan of more was not written by hand, and overlaps warn;
they forbid nothing."""

_FOLDERS = "**"
_LETTERS = "*"
_ANY_LETTER: Ranges = (("\0", "."), ("0", "\U0010ffff"))  # all but the slash, which no segment contains


def globs_overlap(one: str, other: str) -> bool:
    """
    Can any path match both patterns?

    `*`, `?`, `[a-z]` and `[!a]` stay within a segment, `**` is any number of whole segments. A pattern that ends in a
    slash, or in a plain name without an extension, covers everything under it too. A blank pattern matches nothing.
    """
    return _paths_meet(_segments(one), _segments(other))


def overlapping(files: Sequence[str], others: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Which patterns of each other task overlap ours. Tasks without any are left out."""
    ours = [_segments(pattern) for pattern in files]
    found: dict[str, list[str]] = {}
    for task, patterns in others.items():
        hits = [pattern for pattern in dict.fromkeys(patterns) if _meets_any(_segments(pattern), ours)]
        if hits:
            found[task] = hits
    return found


def meeting_pairs(patterns: Sequence[str]) -> Iterator[tuple[int, int]]:
    """
    Which of many patterns overlap which, as pairs of positions, the lower one first.

    Patterns can only meet where the folders that they spell out agree, so each is compared with those that begin like
    it: ten thousand plain paths are as many look-ups. Those that also spell out their last name are sorted by it.
    """
    places = _PatternIndex()
    budget = MOST_COMPARED
    for position, pattern in enumerate(patterns):
        segments = _segments(pattern)
        if segments is None:
            continue
        for other, theirs in places.near(segments):
            budget -= 1
            if budget < 0:
                return
            if _paths_meet(theirs, segments):
                yield other, position
        places.put(position, segments)


class _PatternIndex:
    """Patterns by what they spell out: their first folders, and their last name."""

    __slots__ = ("_above", "_at")

    def __init__(self) -> None:
        self._at: dict[tuple[str, ...], dict[str, list[tuple[int, list[str]]]]] = {}
        """Those that spell out exactly these first folders."""
        self._above: dict[tuple[str, ...], list[tuple[int, list[str]]]] = {}
        """Those that spell out these first folders, and more."""

    def put(self, position: int, segments: list[str]) -> None:
        start = _spelled(segments)
        self._at.setdefault(start, {}).setdefault(_last_name(segments, start), []).append((position, segments))
        for length in range(len(start)):
            self._above.setdefault(start[:length], []).append((position, segments))

    def near(self, segments: list[str]) -> Iterator[tuple[int, list[str]]]:
        start = _spelled(segments)
        last = "" if _has_wildcard(segments[-1]) else segments[-1]
        for length in range(len(start) + 1):
            found = self._at.get(start[:length], {})
            is_folder_of_them = length == len(segments)
            for name in (last, "") if last and not is_folder_of_them else list(found):
                yield from found.get(name, ())
        yield from self._above.get(start, ())


def _spelled(segments: list[str]) -> tuple[str, ...]:
    end = next((at for at, segment in enumerate(segments) if _has_wildcard(segment)), len(segments))
    return tuple(segments[:end])


def _last_name(segments: list[str], start: tuple[str, ...]) -> str:
    """Empty if it has wildcards, or if it is spelled out to the end: that may be a folder after all."""
    is_open = len(start) == len(segments) or _has_wildcard(segments[-1])
    return "" if is_open else segments[-1]


def _meets_any(pattern: list[str] | None, ours: list[list[str] | None]) -> bool:
    return any(_paths_meet(pattern, our) for our in ours)


def _segments(pattern: str) -> list[str] | None:
    """The segments of a pattern, made regular; None if it matches nothing at all."""
    if not pattern.strip():
        return None
    if len(pattern) > LONGEST_PATTERN:
        return [_FOLDERS]
    segments: list[str] = []
    for segment in pattern.split("/"):
        if segment == "..":
            _step_up(segments)
        elif segment not in ("", ".") and [*segments[-1:], segment] != [_FOLDERS, _FOLDERS]:
            segments.append(segment)
    if _covers_what_is_below(pattern, segments):
        segments.append(_FOLDERS)
    return None if any(_matches_nothing(segment) for segment in segments) else segments


def _step_up(segments: list[str]) -> None:
    """`a/../b` is `b`. What lies above any folder is any folder; what lies above the root keeps its dots."""
    if not segments or segments[-1] == "..":
        segments.append("..")
    elif segments[-1] != _FOLDERS:
        segments.pop()


def _covers_what_is_below(pattern: str, segments: list[str]) -> bool:
    if not segments:
        return True  # the root itself
    if segments[-1] == _FOLDERS:
        return False  # it does already
    says_so = pattern.rpartition("/")[2] in ("", ".", "..")
    return says_so or not (_has_wildcard(segments[-1]) or _looks_like_a_file(segments[-1]))


def _looks_like_a_file(name: str) -> bool:
    """
    Has it an extension? `v1.2` and `.github` have none.

    Without this rule `**/lexer.py` and `src/parser.py` would overlap in `src/parser.py/lexer.py`, a folder that
    nobody has, and each claim would warn about half of the board.
    """
    stem, _, extension = name.rpartition(".")
    return bool(stem.strip(".")) and extension[:1].isalpha()


def _has_wildcard(segment: str) -> bool:
    return "*" in segment or "?" in segment or "[" in segment


def _matches_nothing(segment: str) -> bool:
    """Only a class like `[z-a]` does that; a pattern with one matches no path."""
    return "[" in segment and () in _letters(segment)


def _paths_meet(one: list[str] | None, other: list[str] | None) -> bool:
    if one is None or other is None:
        return False
    if _names_folder_of(one, other) or _names_folder_of(other, one):
        return True
    same = 0  # folders that both begin with; most pairs part here, and need no search
    for ours, theirs in zip(one, other, strict=False):
        if _has_wildcard(ours) or _has_wildcard(theirs):
            break
        if ours != theirs:
            return False
        same += 1
    return _walk_together(one[same:], other[same:], _FOLDERS, _segments_meet)


def _names_folder_of(one: list[str], other: list[str]) -> bool:
    """`conf.d` looks like a file; beside a pattern that goes on below it, it is a folder after all."""
    return bool(one) and not _has_wildcard(one[-1]) and one == other[: len(one)]


def _segments_meet(one: str, other: str) -> bool:
    if one == other:
        return True
    if not _has_wildcard(one) and not _has_wildcard(other):
        return False
    return _walk_together(_letters(one), _letters(other), _LETTERS, _letters_meet)


def _letters_meet(one: Letter, other: Letter) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return one == other
    return bool(_in_both(_as_ranges(one), _as_ranges(other)))


def _as_ranges(letter: Letter) -> Ranges:
    return ((letter, letter),) if isinstance(letter, str) else letter


def _in_both(one: Ranges, other: Ranges) -> Ranges:
    pairs = [(max(low, from_), min(high, to)) for low, high in one for from_, to in other]
    return tuple(pair for pair in pairs if pair[0] <= pair[1])


def _walk_together(one: Sequence[Part], other: Sequence[Part], star: Part, meet: Callable[[Part, Part], bool]) -> bool:
    """
    Is there a text that both sequences match? `star` stands for any number of parts; no two stars are neighbours.

    Bit `j` of `standing` says: what the parts of `one` so far can match, the first `j` parts of `other` can, too.
    """
    places: dict[Part, int] = {}
    for j, part in enumerate(other):
        places[part] = places.get(part, 0) | 1 << j
    stars = places.pop(star, 0)
    fitting: dict[Part, int] = {}
    standing = 1 | (stars & 1) << 1
    for part in one:
        if part == star:
            standing = (2 << len(other)) - (standing & -standing)  # from the first place on, everywhere
        else:
            if part not in fitting:
                fitting[part] = sum(bits for their, bits in places.items() if meet(part, their))
            standing = (standing & fitting[part]) << 1 | standing & stars
            standing |= (standing & stars) << 1
        if not standing:
            return False
    return bool(standing >> len(other) & 1)


def _letters(segment: str) -> list[Letter]:
    """A segment as plain characters, stars, and the ranges of `?` and of classes."""
    letters: list[Letter] = []
    at = 0
    while at < len(segment):
        end = _end_of_class(segment, at) if segment[at] == "[" else 0
        if end:
            letters.append(_class(segment[at + 1 : end]))
            at = end + 1
            continue
        if segment[at] != _LETTERS or letters[-1:] != [_LETTERS]:
            letters.append(_ANY_LETTER if segment[at] == "?" else segment[at])
        at += 1
    return letters


def _end_of_class(segment: str, start: int) -> int:
    """Where the class that begins here ends; 0 if it never does and the bracket is plain text."""
    inside = start + 1
    if segment[inside : inside + 1] in ("!", "^"):
        inside += 1
    return max(segment.find("]", inside + 1), 0)  # a bracket in the first place stands for itself


def _class(content: str) -> Ranges:
    inverted = content[0] in "!^"
    ranges: list[tuple[str, str]] = []
    at = 1 if inverted else 0
    while at < len(content):
        high = at + 2 if content[at + 1 : at + 2] == "-" and at + 2 < len(content) else at
        if content[at] <= content[high]:
            ranges.append((content[at], content[high]))
        at = high + 1
    return _in_both(_inverted(ranges) if inverted else tuple(ranges), _ANY_LETTER)


def _inverted(ranges: list[tuple[str, str]]) -> Ranges:
    gaps: list[tuple[str, str]] = []
    free = 0  # the lowest character that no range so far contains
    for low, high in sorted(ranges):
        if free < ord(low):
            gaps.append((chr(free), chr(ord(low) - 1)))
        free = max(free, ord(high) + 1)
    return (*gaps, (chr(free), "\U0010ffff")) if free <= 0x10FFFF else tuple(gaps)
