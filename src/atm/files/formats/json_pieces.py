"""
JSON text changed in pieces: what is not touched stays to the letter.

The text is known to be JSON, so nothing is checked here. What is put in (`json_comments`) can be taken out again, so
that the text is what it was before: the layout remembers who made a list or an object. If white space follows its
bracket, we did; if it was there before, empty, what we put in follows the bracket at once.
"""

from __future__ import annotations

from atm.files.formats.json_record import indent, quote, scan, skip_space

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    Piece = tuple[int, int, str]
    """Where a piece of the text begins and ends, and what comes in its place."""

BYTE_ORDER_MARK = "\ufeff"


class Part:
    """A value inside the text: an item of an array, or a member of an object together with its key."""

    __slots__ = ("end", "key", "start", "value_at")

    def __init__(self, key: str, start: int, value_at: int, end: int) -> None:
        self.key = key
        self.start = start
        self.value_at = value_at
        self.end = end


class Box:
    """An array or an object inside the text, as its parts."""

    __slots__ = ("at", "parts", "text")

    def __init__(self, text: str, at: int) -> None:
        self.text = text
        self.at = at
        self.parts = list(_parts(text, at))

    @property
    def is_ours_when_empty(self) -> bool:
        return self.text[self.at + 1 : self.at + 2].isspace()

    def last(self, key: str) -> Part | None:
        """The member of that name; of several the last, which is the one that programs see."""
        return next((part for part in reversed(self.parts) if part.key == key), None)

    def without(self, gone: Sequence[Part]) -> list[Piece]:
        """The pieces that vanish with these parts. The white space before the closing bracket stays."""
        if not gone:
            return []
        starts = {part.start for part in gone}
        first = next((i for i, part in enumerate(self.parts) if part.start not in starts), None)
        if first is None:
            return [(self.at + 1, self.parts[-1].end, "")]
        pieces = [(self.parts[0].start, self.parts[first].start, "")] if first else []
        rest = zip(self.parts[first:], self.parts[first + 1 :], strict=False)
        return pieces + [(before.end, part.end, "") for before, part in rest if part.start in starts]


def _parts(text: str, at: int) -> Iterator[Part]:
    is_object = text[at] == "{"
    at = skip_space(text, at + 1)
    while text[at] not in "]}":
        start, key = at, ""
        if is_object:
            name, at = scan(text, at)
            key, at = str(name), skip_space(text, skip_space(text, at) + 1)
        end = scan(text, at)[1]
        yield Part(key, start, at, end)
        at = skip_space(text, end)
        if text[at] == ",":
            at = skip_space(text, at + 1)


def root_of(text: str) -> Box:
    """The object that is the whole text."""
    return Box(text, text.index("{"))


def replaced(text: str, pieces: Iterable[Piece]) -> str:
    for start, end, new in sorted(pieces, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def without_members(text: str, keys: Collection[str]) -> str:
    """The text of an object without these members, every occurrence of them."""
    root = root_of(text)
    return replaced(text, root.without([part for part in root.parts if part.key in keys]))


def lead_in(text: str, box: Box) -> str:
    """The white space that would stand before each part of a box that is still empty."""
    return _line_break(text) + _margin(text, box.at) + _step(text) if _has_lines(text) else " "


def laid_out(text: str, value: object, lead: str) -> str:
    """A value that begins after `lead`: over several lines if that has a line break, else on one."""
    if "\n" not in lead:
        return _on_one_line(value)
    margin, step = lead.rpartition("\n")[2], _step(text)
    first, *lines = indent(value).split("\n")
    deeper = [margin + step * ((len(line) - len(line.lstrip(" "))) // 2) + line.lstrip(" ") for line in lines]
    return _line_break(text).join([first, *deeper])


def _on_one_line(value: object) -> str:
    """With white space after each bracket, by which we know it again."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{quote(key)}: {_on_one_line(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[ " + ", ".join(map(_on_one_line, value)) + " ]"
    return indent(value)


def _has_lines(text: str) -> bool:
    """A file that is one line stays one, unless there is nothing in it yet."""
    return "\n" in text.strip() or not root_of(text).parts


def _line_break(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _step(text: str) -> str:
    """How far this file indents: what stands before its first key."""
    root = root_of(text)
    lead = text[root.at + 1 : root.parts[0].start] if root.parts else ""
    return lead.rpartition("\n")[2] if "\n" in lead else "  "


def _margin(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at].removeprefix(BYTE_ORDER_MARK)
    return line[: len(line) - len(line.lstrip(" \t"))]
