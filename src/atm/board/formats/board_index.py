"""
The index of a board: what each task file said when it was last read, and which version of the file that was.

A cache, one JSON array a line, later lines win. Losing it costs one reading of all files; a line that cannot be
read costs one file. Nothing is ever decided by it alone: a row counts only while the file lies there unchanged.
"""

from __future__ import annotations

from atm.board.rules.tasks import CARD_FIELDS, MOST_NUMBERS, Card
from atm.files.formats.json_record import NotJson, decode, encode, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from atm.core.plain import Plain

    Version = tuple[int, int, int]

UNSETTLED = (0, 0, 0)
"""A version that never matches: the file was changed so shortly before that its stamp proves nothing."""

_FORMAT, _PROVEN, _GONE = 16, 1, 2
"""The first number of a line: the format, and two facts."""

TRUSTED = _FORMAT | _PROVEN
"""What stands first in almost every line: the file was there, and the history knows how it came to be so."""

HEAD, END = 4, 4 + len(CARD_FIELDS)
_PLAIN = [[] if isinstance(value, tuple) else value for value in Card(-1).values()]


class Row:
    """One task as it was seen."""

    __slots__ = ("card", "is_gone", "is_proven", "version")

    def __init__(self, card: Card, version: Version, is_proven: bool, is_gone: bool = False) -> None:
        self.card = card
        self.version = version
        """Inode, size and time of the file."""
        self.is_proven = is_proven
        """Does the history tell how it came to be like this?"""
        self.is_gone = is_gone


def encode_rows(rows: Iterable[Row]) -> bytes:
    return to_bytes("".join([_line(row) for row in rows]))


def _line(row: Row) -> str:
    """Without what stands at the end of a card as it stands on every other: most of a card is never set."""
    values = row.card.values()
    while values[-1] == _PLAIN[len(values) - 1]:
        values.pop()
    mark = _FORMAT | (_PROVEN if row.is_proven else 0) | (_GONE if row.is_gone else 0)
    return encode([mark, *row.version, *values]) + "\n"


def decode_lines(data: bytes) -> tuple[dict[int, list[Plain]], int, bool]:
    """
    The newest line of every task as it was decoded, and how many lines there were. Whoever looks at ten thousand of
    them takes those that begin with `TRUSTED` as they are; another one counts only if it `is_line`.

    And whether every line could be read: if not, something that was known may be missing.
    """
    lines, is_whole = _lines(to_text(data))
    try:
        newest = {line[HEAD]: line for line in lines}  # type: ignore[index]
    except (TypeError, IndexError, KeyError):  # another program has written there
        newest = {line[HEAD]: line for line in lines if is_line(line)}  # type: ignore[index]
    return newest, len(lines), is_whole  # type: ignore[return-value]


def is_line(line: Plain) -> bool:
    """Of this format, and by our hand as far as one can see."""
    if not isinstance(line, list) or not HEAD < len(line) <= END:
        return False
    mark, number = line[0], line[HEAD]
    is_ours = mark == TRUSTED or (isinstance(mark, int) and mark & ~3 == _FORMAT)
    return is_ours and isinstance(number, int) and 0 <= number <= MOST_NUMBERS


def is_unchanged(line: list[Plain], version: Version) -> bool:
    return line[3] == version[2] and line[1] == version[0] and line[2] == version[1] and not is_gone(line)


def is_gone(line: list[Plain]) -> bool:
    return line[0] & _GONE != 0  # type: ignore[operator]


def is_proven(line: list[Plain]) -> bool:
    return line[0] & _PROVEN != 0  # type: ignore[operator]


def card_of(line: list[Plain]) -> Card:
    # Written by us: a line of another format or by another hand was thrown away, and a file is what counts.
    return Card(*line[HEAD:])  # type: ignore[arg-type]


def row_of(line: list[Plain]) -> Row:
    version = (line[1], line[2], line[3])
    return Row(card_of(line), version, is_proven(line), is_gone(line))  # type: ignore[arg-type]


def _lines(text: str) -> tuple[list[Plain], bool]:
    """All lines in one go, which is ten times as fast as one by one; one by one if any of them is torn."""
    try:
        found = decode("[" + text.rstrip("\n").replace("\n", ",") + "]")
        return (found, True) if isinstance(found, list) else ([], False)
    except NotJson:
        return [value for line in text.split("\n") if (value := _try(line)) is not None], False


def _try(line: str) -> Plain:
    try:
        return decode(line)
    except NotJson:
        return None
