"""
Inbox files: a JSON array of message rows, shared with Claude Code.

Reading is permissive: every id spelling, missing fields, `content` for `text`; a row that is not a message is
kept and reported. Writing is exact: the fields that Claude Code's validator knows, and `message_id` in teams
that are ours (D5). Three speeds: `tail_of` accepts an append from the ends of the file alone, `unread_rows`
looks only at unread rows, `Inbox` reads everything.
"""

from __future__ import annotations

from atm.files.formats.json_record import NotJson, RawArray, RawObject, decode, encode, to_bytes, to_text
from atm.mail.rules.messages import INFO, INTENTS, PLAIN, TYPES, Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from atm.core.plain import Plain

ID_SPELLINGS = ("message_id", "msg_id", "messageId", "id")
KNOWN_FIELDS = frozenset(
    (
        *("from", "text", "content", "timestamp", "read", "summary", "color", "msgV", "type", *ID_SPELLINGS),
        *("messageKind", "source", "actionMode", "taskRefs", "kind", "metadata"),  # ours
    )
)
EMPTY = b"[]\n"
ROW_START = b"\n  {"
NEXT_ROW = b"," + ROW_START

LARGEST_ROW = 8 * 1024 * 1024
"""Characters of a row that we still take apart; escapes can make six of each of the 1 MiB that a text may have."""


def encode_row(message: Message, *, claudes_team: bool) -> str:
    """A new row, with exactly the fields that its reader knows, in Claude Code's order."""
    row: dict[str, Plain] = {"from": message.sender, "text": message.text}
    if message.summary:
        row["summary"] = message.summary
    row["timestamp"] = message.timestamp
    if message.color:
        row["color"] = message.color
    if not claudes_team:
        row["message_id"] = message.id
        if message.intent != INFO:
            row["kind"] = message.intent
        if message.type != PLAIN:
            row["messageKind"] = message.type
        if message.metadata:
            row["metadata"] = {**message.metadata}
    row |= {"msgV": 1, "msg_id": message.id, "type": "message", "read": message.read}
    return encode(row)


def decode_row(raw: str) -> Message | None:
    """The message in a row, or None if the row is something else; then it is kept as it is."""
    try:
        value = decode(raw)
    except NotJson:
        return None
    return message_from(value, raw)


def message_from(value: Plain, raw: str) -> Message | None:
    if not isinstance(value, dict):
        return None
    text = value.get("text", value.get("content"))
    sender = value.get("from")
    if not isinstance(text, str) or not isinstance(sender, str):
        return None
    return Message(
        id=_id_in(value),
        sender=sender,
        text=text,
        timestamp=_string(value.get("timestamp")),
        read=value.get("read") is True,
        summary=_string(value.get("summary")) or None,
        color=_string(value.get("color")) or None,
        kind=_string(value.get("type")) or "message",
        intent=_intent(value.get("kind")),
        type=_type(value.get("messageKind")),
        metadata=_metadata(value),
        raw=raw,
        unknown=tuple(key for key in value if key not in KNOWN_FIELDS),
    )


def _intent(value: Plain) -> str:
    return value if isinstance(value, str) and value in INTENTS else INFO


def _type(value: Plain) -> str:
    return value if isinstance(value, str) and value in TYPES else PLAIN


def _metadata(value: dict[str, Plain]) -> dict[str, str] | None:
    """Only what is a map of strings; and only beside a type of ours, since other programs use the word too."""
    found = value.get("metadata")
    if not isinstance(found, dict) or _type(value.get("messageKind")) == PLAIN:
        return None
    return {key: said for key, said in found.items() if isinstance(said, str)}


def _id_in(value: dict[str, Plain]) -> str | None:
    for spelling in ID_SPELLINGS:
        found = value.get(spelling)
        if isinstance(found, str) and found:
            return found
    return None


def _string(value: Plain) -> str:
    return value if isinstance(value, str) else ""


def malformed(raw: str) -> Message:
    """A stand-in for a row that is not a message, so that it has a key, keeps its place and counts as read."""
    return Message(id=None, sender="", text=raw, timestamp="", read=True, raw=raw, understood=False)


class Inbox:
    """A whole inbox: every row, understood or not, in file order."""

    __slots__ = ("_head", "_tail", "rows")

    def __init__(self, data: bytes) -> None:
        array = RawArray(to_text(data))
        self._head = array.head
        self._tail = array.tail
        pairs = zip(array.values, array.items, strict=True)
        self.rows = [message_from(value, raw) or malformed(raw) for value, raw in pairs]

    @property
    def messages(self) -> list[Message]:
        return [row for row in self.rows if row.understood]

    @property
    def malformed_rows(self) -> int:
        return sum(not row.understood for row in self.rows)

    def with_rows(self, rows: list[Message]) -> bytes:
        array = RawArray("[]")
        array.head, array.items, array.tail = self._head, [row.raw for row in rows], self._tail
        return to_bytes(array.joined())


def is_array(data: bytes) -> bool:
    """Is this the whole of a JSON array? The only judgement that an append to a small file needs."""
    try:
        RawArray(to_text(data))
    except NotJson:
        return False
    return True


def tail_of(head: bytes, tail: bytes, size: int) -> int | None:
    """
    Where a row can be spliced in before the final bracket, judged by the two ends of the file.

    Returns the offset at which the new row begins (everything from there on is replaced), or None if anything
    looks unusual and the file has to be read in full.
    """
    if not head.startswith(b"["):
        return None
    body = tail.rstrip()
    if not body.endswith(b"]"):
        return None
    last = body[:-1].rstrip()
    if not last.endswith(b"}"):
        return None
    return size - len(tail) + len(last)


def spliced(rows: list[str]) -> bytes:
    """What follows the last row of an inbox when these rows are added."""
    return to_bytes("".join(f",\n  {row}" for row in rows) + "\n]\n")


def only(rows: list[str]) -> bytes:
    """An inbox of just these rows."""
    return to_bytes("[\n  " + ",\n  ".join(rows) + "\n]\n") if rows else EMPTY


def unread_rows(data: bytes) -> list[tuple[int, int, Message]] | None:
    """The unread rows and where they lie, without decoding the others; None if the layout does not allow it."""
    spans = unread_spans(data)
    return None if spans is None else _decoded(data, spans)


def _decoded(data: bytes, spans: list[tuple[int, int]]) -> list[tuple[int, int, Message]] | None:
    found = []
    for start, end in spans:
        message = decode_row(to_text(data[start:end]))
        if message is None:
            return None
        found.append((start, end, message))
    return found


def unread_spans(data: bytes) -> list[tuple[int, int]] | None:
    """
    Where the unread rows lie, without decoding any; None if the layout does not allow it.

    A raw newline cannot stand inside a JSON string, so `newline, two spaces, brace` begins a row in files laid
    out by us or by `JSON.stringify(rows, null, 2)`. Every row must end with its `read` flag, as ours and those of
    Claude Code do: a flag anywhere else could belong to something inside the row.
    """
    if data == EMPTY:
        return []
    end = end_of_rows(data)
    if end is None:
        return None
    begin = _read_prefix(data)
    endings = _endings_in(data, begin, end)
    if endings is None:
        return None
    found = []
    for ending in endings.intersection(_ENDS_UNREAD):
        at = data.find(ending, begin, end)
        while at >= 0:
            close = at + len(ending)
            if close == end or data.startswith(NEXT_ROW, close):  # else the flag stands inside a row
                found.append((data.rfind(ROW_START, 0, at) + len(ROW_START) - 1, close))
            at = data.find(ending, close, end)
    found.sort()
    _note_read_prefix(data, begin, found[0][0] - len(NEXT_ROW) + 1 if found else end)
    return found


_prefixes: dict[bytes, tuple[int, int]] = {}
"""Of inboxes that this process has gone through, by their first bytes: how many bytes at the beginning were rows laid
out as ours and all read, and the hash of these. What has not changed need not be gone through again."""

_HEAD, _MOST_PREFIXES = 512, 200
WORTH_NOTING = 64 * 1024
"""Bytes that are gone through in less time than it takes to know them again."""


def _read_prefix(data: bytes) -> int:
    known = _prefixes.get(data[:_HEAD]) if len(data) > WORTH_NOTING else None
    return known[0] if known is not None and _hash(data, known[0]) == known[1] else 0


def _note_read_prefix(data: bytes, begin: int, end: int) -> None:
    """Not after every row more: hashing takes time too."""
    if end - begin >= WORTH_NOTING:
        if len(_prefixes) >= _MOST_PREFIXES:
            _prefixes.clear()
        _prefixes[data[:_HEAD]] = (end, _hash(data, end))


def _hash(data: bytes, end: int) -> int:
    """By Python's own, whose key is another one in every process: nobody can prepare two texts with the same."""
    return hash(memoryview(data)[:end])


_ENDS_READ = (b'"read": true}', b'"read":true}', b'"read": true\n  }', b'"read":true\n  }')
_ENDS_UNREAD = (b'"read": false}', b'"read":false}', b'"read": false\n  }', b'"read":false\n  }')


def end_of_rows(data: bytes) -> int | None:
    """Where the last row ends, or None if the file does not begin and end as such files do."""
    body = data[-_FOOT:].rstrip()
    if not data.startswith(b"[" + ROW_START) or not body.endswith(b"]"):
        return None
    rows = body[:-1].rstrip()
    return len(data) - len(data[-_FOOT:]) + len(rows) if rows.endswith(b"}") else None


_FOOT = 4096


def _endings_in(data: bytes, begin: int, end: int) -> set[bytes] | None:
    """
    How the rows from `begin` on end, or None if one ends in another way than with its flag.

    Counting is several times faster than looking at each row, and one spelling usually accounts for all of them.
    """
    if begin == end:
        return set()
    tail = data[max(begin, end - 40) : end]
    found = {ending for ending in _ENDS_READ + _ENDS_UNREAD if tail.endswith(ending)}
    counted, rows = len(found), data.count(ROW_START, begin)
    for ending in _by_likelihood(data, found):
        if counted == rows:
            break
        count = data.count(ending + NEXT_ROW, begin)
        counted += count
        found |= {ending} if count else set()
    return found if counted == rows else None


def _by_likelihood(data: bytes, last: set[bytes]) -> list[bytes]:
    """The endings, those that the first or the last row is spelled like before the others."""
    first = data[: data.find(NEXT_ROW)] if NEXT_ROW in data[:65_536] else data[:65_536]
    pairs = list(zip(_ENDS_READ, _ENDS_UNREAD, strict=True))
    pairs.sort(key=lambda pair: not first.endswith(pair) and last.isdisjoint(pair))
    return [ending for pair in pairs for ending in pair]


def unread(data: bytes) -> list[Message]:
    """All unread messages, by whichever way is cheaper."""
    quick = unread_rows(data)
    if quick is not None:
        return [message for _, _, message in quick]
    return [message for message in Inbox(data).messages if not message.read]


def with_read(message: Message, read: bool) -> Message:
    """The same row with its `read` flag set; every other character of it stays."""
    if not message.understood:
        return message
    raw = RawObject(message.raw).with_raw("read", "true" if read else "false").text
    return decode_row(raw) or message


def claimed(data: bytes, choose: Callable[[list[Message]], list[Message]]) -> tuple[list[Message], tuple[int, bytes]]:
    """The unread messages that `choose` picks; and, with those marked as read, how many bytes stay and the rest."""
    quick = unread_rows(data)
    if quick is None:
        chosen = choose([message for message in Inbox(data).messages if not message.read])
        return chosen, (0, marked(data, {message.key for message in chosen}, True))
    chosen = choose([message for _, _, message in quick])
    return chosen, spliced_at(data, quick, {message.key for message in chosen})


def spliced_at(
    data: bytes, rows: list[tuple[int, int, Message]], keys: Collection[object], read: bool = True
) -> tuple[int, bytes]:
    """How many bytes stay as they are, and what follows them once the named rows are marked."""
    mine = [row for row in rows if row[2].key in keys and row[2].read != read]
    if not mine:
        return len(data), b""
    keep = done = mine[0][0]
    parts = []
    for start, end, message in mine:
        parts += [data[done:start], to_bytes(with_read(message, read).raw)]
        done = end
    return keep, b"".join([*parts, data[done:]])


def marked(data: bytes, keys: Collection[object], read: bool) -> bytes:
    """The file with the `read` flag of the named rows set."""
    quick = unread_rows(data) if read else None
    if quick is None:
        return changed_rows(data, lambda rows: [with_read(row, read) if row.key in keys else row for row in rows])
    keep, rest = spliced_at(data, quick, keys)
    return data[:keep] + rest


def changed_rows(data: bytes, change: Callable[[list[Message]], list[Message]]) -> bytes:
    """The file after a change of its list of rows."""
    inbox = Inbox(data)
    rows = change(inbox.rows)
    return data if [row.raw for row in rows] == [row.raw for row in inbox.rows] else inbox.with_rows(rows)
