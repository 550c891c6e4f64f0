"""
The index of a board: what each task file said when it was last read, and which version of the file that was.

A cache, one JSON array a line, later lines win. Losing it costs one reading of all files; a line that cannot be
read costs one file. Nothing is ever decided by it alone: a row counts only while the file lies there unchanged.
"""

from __future__ import annotations

from atm.domain.tasks import CARD_FIELDS, Card
from atm.formats.json_record import NotJson, decode, encode, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from atm.formats.json_record import Json

    Version = tuple[int, int, int]

VERSION = 1
UNSETTLED = (0, 0, 0)
"""A version that never matches: the file was changed so shortly before that its stamp proves nothing."""


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
    return encode([VERSION, *row.version, int(row.is_proven), int(row.is_gone), *values]) + "\n"


def decode_rows(data: bytes) -> tuple[dict[int, Row], int]:
    """The newest row of every task, and how many lines there were."""
    lines = _lines(to_text(data))
    newest: dict[int, list[Json]] = {}
    for line in lines:
        if isinstance(line, list) and len(line) > _HEAD and line[0] == VERSION:
            number = line[_HEAD]
            if isinstance(number, int):
                newest[number] = line
    return {number: _row(line) for number, line in newest.items()}, len(lines)


def _lines(text: str) -> list[Json]:
    """All lines in one go, which is ten times as fast as one by one; one by one if any of them is torn."""
    try:
        found = decode("[" + text.rstrip("\n").replace("\n", ",") + "]")
        return found if isinstance(found, list) else []
    except NotJson:
        return [value for line in text.split("\n") if (value := _try(line)) is not None]


def _try(line: str) -> Json:
    try:
        return decode(line)
    except NotJson:
        return None


def _row(line: list[Json]) -> Row:
    # Written by us: a line of another version or by another hand was thrown away, and a file is what counts.
    return Row(Card(*line[_HEAD:_END]), (line[1], line[2], line[3]), bool(line[4]), bool(line[5]))  # type: ignore[arg-type]


_HEAD, _END = 6, 6 + len(CARD_FIELDS)
_PLAIN = [[] if isinstance(value, tuple) else value for value in Card(-1).values()]
