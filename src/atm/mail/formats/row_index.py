"""
Which rows an inbox holds and which of them are read, from one version of the file to the next.

A daemon looks at an inbox after every change, and most of it is as it was. So the index keeps a hash of every stretch
of rows: what has the same bytes at the same place has the same rows, and only what follows is taken apart. Nothing of
the texts is kept.
"""

from __future__ import annotations

from atm.files.formats.json_record import NotJson, RawArray, to_bytes, to_text
from atm.mail.formats.inbox import malformed, message_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from atm.mail.rules.messages import Message

STRETCH = 32 * 1024
"""Bytes of rows that are hashed together; at most so many are taken apart although they did not change."""

LONGEST_LABEL = 64
"""Ids are 36 characters; whatever is longer is remembered and told by its hash."""

HASHED = "\t"
_BETWEEN = b" \t\r\n"


class Stretch:
    """Some rows in a row: two strings, however many there are."""

    __slots__ = ("_labels", "_read", "end", "hashed")

    def __init__(self, labels: list[str], read: bytes, end: int, hashed: int) -> None:
        self._labels = "\n".join(labels)
        self._read = read
        self.end = end
        """The place in the file after it."""
        self.hashed = hashed

    def __len__(self) -> int:
        return len(self._read)

    @property
    def labels(self) -> list[str]:
        return self._labels.split("\n") if self._read else []

    @property
    def rows(self) -> zip[tuple[str, int]]:
        return zip(self.labels, self._read, strict=True)

    def may_have(self, labels: Iterable[str]) -> bool:
        """No, or perhaps: one label may be a part of another."""
        return any(label in self._labels for label in labels)


class RowIndex:
    """The understood rows of one version, each by a label: its id, or a hash where it has none."""

    __slots__ = ("stretches",)

    def __init__(self, stretches: list[Stretch] | None = None) -> None:
        self.stretches = stretches or []
        """The last one is open: more may follow."""

    def __len__(self) -> int:
        return sum(map(len, self.stretches))

    @property
    def labels(self) -> list[str]:
        return [label for stretch in self.stretches for label in stretch.labels]

    def flags(self, first: int = 0) -> dict[str, bool]:
        """The labels of these stretches, and whether they were read. A row that stands there twice if both were."""
        found: dict[str, bool] = {}
        for stretch in self.stretches[first:]:
            for label, is_read in stretch.rows:
                found[label] = bool(is_read) and found.get(label, True)
        return found

    def may_have(self, labels: Iterable[str], before: int) -> bool:
        """Could one of these labels stand before that stretch too?"""
        return any(stretch.may_have(labels) for stretch in self.stretches[:before])


class IndexedInbox:
    """The index of a version; the stretches that are as before, to the byte; the messages after these."""

    __slots__ = ("has_rows", "index", "messages", "unchanged")

    def __init__(self, index: RowIndex, unchanged: int, messages: list[Message], *, has_rows: bool) -> None:
        self.index = index
        self.has_rows = has_rows
        """Understood or not."""
        self.unchanged = unchanged
        self.messages = messages


def indexed(data: bytes, former: RowIndex | None = None) -> IndexedInbox:
    """Raises NotJson if the file is no array."""
    kept = _unchanged(data, former) if former is not None else []
    start = kept[-1].end if kept else 0
    try:
        rows, ends = _rows_from(data, start)
    except NotJson:
        if not start:
            raise
        return indexed(data)  # told by the whole of it
    messages = [message for message in rows if message.understood]
    index = RowIndex([*kept, *_stretches(data, start, rows, ends)])
    return IndexedInbox(index, len(kept), messages, has_rows=bool(start or rows))


def _stretches(data: bytes, start: int, rows: list[Message], ends: list[int]) -> Iterable[Stretch]:
    labels, read, end = list[str](), bytearray(), start
    for end, message in zip(ends, rows, strict=True):
        if message.understood:
            labels.append(label_of(message))
            read.append(message.read)
        if end - start >= STRETCH:
            yield Stretch(labels, bytes(read), end, _hash(data, start, end))
            labels, read, start = [], bytearray(), end
    yield Stretch(labels, bytes(read), end, _hash(data, start, end))


def _unchanged(data: bytes, former: RowIndex) -> list[Stretch]:
    """The stretches that are the same to the byte. Not the open one: whatever follows belongs to it."""
    kept: list[Stretch] = []
    start = 0
    for stretch in former.stretches[:-1]:
        if stretch.end > len(data) or _hash(data, start, stretch.end) != stretch.hashed:
            break
        kept.append(stretch)
        start = stretch.end
    return kept


def _hash(data: bytes, start: int, end: int) -> int:
    """By Python's own, whose key is another one in every process: nobody can prepare two texts with the same."""
    return hash(memoryview(data)[start:end])


def _rows_from(data: bytes, start: int) -> tuple[list[Message], list[int]]:
    """The rows after a place that lies right behind one, and where each ends."""
    rest = data
    if start:
        rest = b"[" + _after_row(data[start:].lstrip(_BETWEEN))
    rows: list[Message] = []
    ends: list[int] = []
    at = start
    array = RawArray(to_text(rest))
    for raw, value in zip(array.items, array.values, strict=True):
        text = to_bytes(raw)
        at = data.index(text, at) + len(text)  # between two rows stand only blanks and a comma
        rows.append(message_from(value, raw) or malformed(raw))
        ends.append(at)
    return rows, ends


def _after_row(rest: bytes) -> bytes:
    if rest.startswith(b"]"):
        return rest
    more = rest[1:].lstrip(_BETWEEN)
    if not rest.startswith(b",") or more.startswith(b"]"):
        raise NotJson("no comma between two rows, or one after the last")
    return more


def label_of(row: Message) -> str:
    """The id; or, for a row without one that could be remembered, a hash of what identifies it."""
    if row.id and len(row.id) <= LONGEST_LABEL and row.id.isprintable():
        return row.id
    import hashlib

    return HASHED + hashlib.blake2b(repr(row.key).encode(), digest_size=16).hexdigest()
