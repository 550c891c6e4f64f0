"""
JSON changed in pieces, also with comments and commas too many: parts put into an object or a list, or taken out of it.

Editors and some agent programs read such files. Comments belong to the file's owner: none is moved, changed or cut,
except inside a member that goes as a whole. All work is done on shadows of the text, which have the same length and so
the same positions: in `plain` comments and last commas are blanks, so that it is JSON; in `bare` only comments are; in
`inked` comments are ink, so that a blank is a blank.
"""

from __future__ import annotations

import re

from atm.files.formats.json_pieces import Box, laid_out, lead_in, root_of
from atm.files.formats.json_record import quote, skip_space

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.files.formats.json_pieces import Part, Piece

# Possessive (`*+`), and a comment that never closes reaches to the end: no text makes these go back and try again.
_TEXT = r'"(?:[^"\\]++|\\.)*+"'
_COMMENT = r"//[^\r\n]*+|/\*(?:(?!\*/).)*+(?:\*/)?"
_COMMENTS = re.compile(f"{_TEXT}|{_COMMENT}", re.DOTALL)
_LAST_COMMAS = re.compile(rf"{_TEXT}|,(?=[ \t\r\n]*+[}}\]])", re.DOTALL)
_NOT_A_BREAK = re.compile(r"[^\r\n]")


class Commented:
    """A text and its shadows."""

    __slots__ = ("bare", "inked", "plain", "text")

    def __init__(self, text: str, *, is_plain: bool = False) -> None:
        """`is_plain`: the text is known to be JSON as it is."""
        self.text = text
        self.bare = text if is_plain else _with_comments_as(text, " ")
        self.inked = _with_comments_as(text, "#") if self.bare != text else text
        self.plain = text if is_plain else _LAST_COMMAS.sub(_blank_if_comma, self.bare)

    @property
    def root(self) -> Box:
        return root_of(self.plain)

    def has_comments(self, start: int = 0, end: int | None = None) -> bool:
        return self.bare[start:end] != self.text[start:end]

    # Putting in.

    def added_members(self, box: Box, members: dict[str, object]) -> list[Piece]:
        """The pieces that put these members into an object, after those that it has."""

        def written(lead: str) -> str:
            new = (f"{quote(key)}: {laid_out(self.plain, value, lead)}" for key, value in members.items())
            return f",{lead}".join(new)

        return self._added(box, written)

    def added_item(self, box: Box, item: object) -> list[Piece]:
        """The pieces that put an item into a list, after those that it has."""
        return self._added(box, lambda lead: laid_out(self.plain, item, lead))

    def _added(self, box: Box, written: Callable[[str], str]) -> list[Piece]:
        """After the last part, laid out like it; or, in a box that is empty, right after its bracket."""
        if not box.parts:
            return [(box.at + 1, box.at + 1, written(lead_in(self.plain, box)))]
        last = box.parts[-1]
        comma = self._comma_after(last)
        end = comma + 1 if comma >= 0 else last.end
        lead = self.lead_of(last)
        at = self._end_of_line(end) if "\n" in lead else end
        new = lead + written(lead)
        if comma >= 0:
            return [(at, at, f"{new},")]
        return [(end, end, f",{new}")] if at == end else [(end, end, ","), (at, at, new)]

    def lead_of(self, part: Part) -> str:
        """The white space before a part."""
        return self.text[self._space_before(part) : part.start] or " "

    def _end_of_line(self, at: int) -> int:
        """Past the comments that follow on the same line: they are about what stands before them."""
        end = at
        while (found := _COMMENTS.match(self.text, self._past_blanks(end))) and found[0].startswith("/"):
            end = found.end()
        return end if self._ends_line(end) else at

    def _ends_line(self, at: int) -> bool:
        at = self._past_blanks(at)
        return self.text[at : at + 1] in ("\n", "\r")

    def _past_blanks(self, at: int) -> int:
        while self.text[at : at + 1] in (" ", "\t"):
            at += 1
        return at

    # Taking out.

    def cut(self, box: Box, part: Part) -> list[Piece]:
        """The pieces that vanish with a member. One comma goes with it: its own, or if it has none the one before."""
        comma = self._comma_after(part)
        before = [other for other in box.parts if other.end < part.start]
        if comma < 0 and before:
            comma = self._comma_after(before[-1])
        start = self._start_of(part, max(part.end, comma + 1))
        pieces = [(start, part.end, "")]
        return [*pieces, (comma, comma + 1, "")] if comma >= 0 else pieces

    def _start_of(self, part: Part, goes_on: int) -> int:
        """The blanks before it go too, unless they end a comment that would then swallow what follows."""
        start = self._space_before(part)
        ends_comment = self.bare[start - 1] == " "  # and is no blank in `inked`
        return part.start if ends_comment and not self._ends_line(goes_on) else start

    def _space_before(self, part: Part) -> int:
        start = part.start
        while self.inked[start - 1] in " \t\r\n":
            start -= 1
        return start

    def _comma_after(self, part: Part) -> int:
        """Where the comma after a part stands, if there is one."""
        at = skip_space(self.bare, part.end)
        return at if self.bare[at : at + 1] == "," else -1


def _blank_if_comma(found: re.Match[str]) -> str:
    return " " if found[0] == "," else found[0]


def _with_comments_as(text: str, fill: str) -> str:
    def filled(found: re.Match[str]) -> str:
        return _NOT_A_BREAK.sub(fill, found[0]) if found[0].startswith("/") else found[0]

    return _COMMENTS.sub(filled, text)
