"""
Inboxes that may be too large to decode: what can be said of them by their bytes, and a few rows of them.

Everything here costs a few searches through the file and the decoding of the rows that are wanted. Where the layout
does not allow that (see `unread_spans`), None says so, and the caller reads the file in full or not at all.
"""

from __future__ import annotations

from atm.files.formats.json_record import quote, to_bytes, to_text
from atm.mail.formats.inbox import LARGEST_ROW, NEXT_ROW, ROW_START, Inbox, decode_row, end_of_rows, unread_spans
from atm.mail.rules.messages import ACK_MARKER, REQUEST_MARKER, URGENT_MARK
from atm.mail.rules.quotas import Backlog
from atm.mail.rules.surfacing import Glance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from atm.mail.rules.messages import Message

    Row = tuple[int, int, Message]
    """Where a row begins and ends, and what it says."""

_FROM = b'{"from": "'
_LONGEST_NAME = 300
_URGENT = tuple(to_bytes(f'"text":{gap}"{URGENT_MARK}') for gap in ("", " "))
_ASKING = (to_bytes(ACK_MARKER), to_bytes(REQUEST_MARKER))


def glance_at(
    data: bytes, spans: list[tuple[int, int]], people: Callable[[str], bool], most_rows: int, most_bytes: int
) -> Glance | None:
    """
    The unread messages that should be shown first: urgent ones of people, other urgent ones, then the oldest.

    They lie at `spans`. At least one is decoded, and no more than fit the bounds.
    """
    chosen: list[Row] = []
    for start, end in sorted(spans, key=lambda span: (_rank(data, span, people), span)):
        most_bytes -= end - start
        if chosen and (most_bytes < 0 or len(chosen) >= most_rows):
            break
        if end - start > LARGEST_ROW:
            continue  # `atm read` says so
        message = decode_row(to_text(data[start:end]))
        if message is None:
            return None
        chosen.append((start, end, message))
    chosen.sort(key=lambda row: row[0])
    large = sum(end - start > LARGEST_ROW for start, end in spans)
    return Glance([message for _, _, message in chosen], len(spans) - large - len(chosen), len(data))


def urgent_at_end(tail: bytes, people: Callable[[str], bool], most_rows: int, most_bytes: int) -> list[Message]:
    """Unread urgent messages among the last rows of an inbox; none if its end is not laid out as we lay it out."""
    rows = _last_rows(tail)
    spans = [span for span in unread_spans(rows) or [] if _rank(rows, span, people) < _ORDINARY]
    found: list[tuple[int, Message]] = []
    for start, end in sorted(spans, key=lambda span: (_rank(rows, span, people), span))[:most_rows]:
        most_bytes -= end - start
        if end - start > LARGEST_ROW or (found and most_bytes < 0):
            break
        message = decode_row(to_text(rows[start:end]))
        found += [(start, message)] if message is not None else []
    return [message for _, message in sorted(found, key=lambda row: row[0])]


def _last_rows(tail: bytes) -> bytes:
    """The whole rows at the end of a file, as a file of their own."""
    first = tail.find(ROW_START)
    return b"[" + tail[first:] if first >= 0 else b""


_ORDINARY = 3


def _rank(data: bytes, span: tuple[int, int], people: Callable[[str], bool]) -> int:
    """By the bytes alone: what is meant to be urgent, and by whom."""
    start, end = span
    if any(data.find(mark, start, end) >= 0 for mark in _URGENT):
        return 0 if people(sender_of(data, start, end)) else 1
    return 2 if any(data.find(mark, start, end) >= 0 for mark in _ASKING) else _ORDINARY


def sender_of(data: bytes, start: int, end: int) -> str:
    """Who sent a row; decoded only if it does not begin as ours and those of Claude Code do."""
    if data.startswith(_FROM, start):
        name = data[start + len(_FROM) : min(end, start + _LONGEST_NAME)].partition(b'"')[0]
        if b"\\" not in name and len(name) < _LONGEST_NAME - len(_FROM):
            return to_text(name)
    message = decode_row(to_text(data[start:end]))
    return message.sender if message is not None else ""


def backlog_in(data: bytes, counts: Callable[[str], bool]) -> Backlog:
    """How much of these senders lies unread."""
    found = Backlog()
    spans = unread_spans(data)
    if spans is None:
        return backlog_of(Inbox(data).rows, counts)
    for start, end in spans:
        if counts(sender_of(data, start, end)):
            found.add(end - start)
    return found


def backlog_of(rows: list[Message], counts: Callable[[str], bool]) -> Backlog:
    found = Backlog()
    for row in rows:
        if row.understood and not row.read and counts(row.sender):
            found.add(len(to_bytes(row.raw)))
    return found


def backlog_at_end(tail: bytes, counts: Callable[[str], bool]) -> Backlog:
    """The same for the last rows of an inbox that is too large to go through."""
    rows = _last_rows(tail)
    return backlog_in(rows, counts) if unread_spans(rows) is not None else Backlog()


def rows_named(data: bytes, keys: Collection[object]) -> list[Row] | None:
    """The rows that have these ids, by a search; None if one of the keys is no id, or is not found like that."""
    if unread_spans(data) is None:
        return None
    end = end_of_rows(data)
    found = [_row_named(data, key, end) if isinstance(key, str) and end is not None else None for key in keys]
    rows = [row for row in found if row is not None]
    return sorted(rows, key=lambda row: row[0]) if len(rows) == len(found) else None


def _row_named(data: bytes, id: str, end: int) -> Row | None:
    """The first: another row may quote the id."""
    mark = to_bytes(quote(id))
    at = data.find(mark, 0, end)
    while at >= 0:
        start = data.rfind(ROW_START, 0, at) + len(ROW_START) - 1
        close = data.find(NEXT_ROW, at, end)
        close = end if close < 0 else close
        message = decode_row(to_text(data[start:close]))
        if message is not None and message.id == id:
            return start, close, message
        at = data.find(mark, close, end)
    return None
