"""One line of work-sync's audit journal: at most 4 KB, whatever is noted."""

from __future__ import annotations

from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain, Record


LARGEST_LINE = 4096

LONGEST_TEXT, MOST_ENTRIES, DEEPEST = 240, 20, 5
_SIZES = ((LONGEST_TEXT, MOST_ENTRIES, DEEPEST), (60, 10, 3), (60, 20, 1))
"""Characters of a text, entries of a list, and levels, in the order in which a line that is too long tries them."""

MOST_FIELDS = 40


def decode_note(line: bytes) -> Record | None:
    """None for what was torn or is not ours."""
    if not line or len(line) > LARGEST_LINE:
        return None
    try:
        return decode_object(to_text(line))
    except NotJson:
        return None


def encode_note(record: Record) -> bytes:
    """One line of at most 4 KB: long texts and lists are cut, then what is deep, then the last fields."""
    line = b""
    for text, entries, depth in _SIZES:
        line = _line(_cut(record, text, entries, depth))
        if len(line) <= LARGEST_LINE:
            return line
    kept: Record = {"cut": True}
    for key, value in list(record.items())[:MOST_FIELDS]:
        more = {**kept, key[:60]: _cut(value, 60, 20, 0)}
        if len(_line(more)) <= LARGEST_LINE:
            kept = more
    return _line(kept)


def _line(value: Plain) -> bytes:
    return to_bytes(encode(value) + "\n")


def _cut(value: Plain, text: int, entries: int, depth: int) -> Plain:
    if isinstance(value, str):
        return value[:text]
    if isinstance(value, dict):
        if depth < 0:
            return {}
        items = list(value.items())[:MOST_FIELDS]
        return {key[:text]: _cut(item, text, entries, depth - 1) for key, item in items}
    if isinstance(value, list):
        return [_cut(item, text, entries, depth - 1) for item in value[:entries]] if depth >= 0 else []
    return value
