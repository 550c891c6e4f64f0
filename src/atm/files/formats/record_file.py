"""
One shelf's file: records by key in a versioned envelope, and changing one of a thousand without touching the others.

Our writer puts each record on a line of its own. A file that has grown large it also seals: the last field is a
checksum of everything before it. While the seal holds, the file is to the letter what our writer wrote, so a line that
begins with a key is that record, and no text inside another record can look like one; wanted lines are cut out and the
rest is copied as bytes. Whatever an editor or another program did to the file breaks the seal. Then, and as long as the
file is small, it is decoded whole, and the next change lays it out anew.

Whoever computes the checksum himself has written our file. He could have written any record into it anyway.
"""

from __future__ import annotations

from atm.files.formats.json_record import NotJson, decode_object, encode, quote, scan, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import TypeAlias

    from atm.core.plain import Plain

    Record = dict[str, Plain]
    RecordFile: TypeAlias = "_Whole | _Sealed"
    """What was read: `records(keys)`, `changed(records, at)`, and `dropped`, the keys of what was no record."""

VERSION = 1
NAMES = {
    "status": ("member-work-sync.status", "members"),
    "report-intents": ("member-work-sync.report-intents", "intents"),
    "outbox": ("member-work-sync.outbox", "items"),
    "stall-monitor-journal": ("stall-monitor.journal", "alerts"),
}
"""For each shelf: the name of its schema, and where in `data` its records are."""

LARGEST = 64 << 20
"""Bytes of a file. Nobody has so many members; a larger one is not ours, or another program floods us."""

SEALED_FROM = 16 << 10
"""Bytes from which a file is sealed: a smaller one is written anew in less time than it takes to load `hashlib`."""

FEW = 20
"""Keys that are searched for one by one."""

_CLOSED, _PLAIN_END = b"\n}}", b"}\n"
_SEAL, _SEAL_END = b', "seal": "1:', b'"}\n'
_TAIL = len(_CLOSED) + len(_SEAL) + 64 + len(_SEAL_END)
_OWN = ("schemaName", "schemaVersion", "updatedAt", "data", "seal")


def no_records(shelf: str) -> _Whole:
    """A file that is not there yet."""
    return _Whole(_Envelope(shelf, {}, {}), b"", {})


def read_records(data: bytes, shelf: str, sealed_from: int = SEALED_FROM) -> RecordFile:
    """Read a file. Raises NotJson, with the reason, for one that we cannot use: damaged, of another kind, or newer."""
    if len(data) > LARGEST:
        raise NotJson(f"it has more than {LARGEST >> 20} MB")
    if len(data) >= sealed_from and _seal_holds(data):
        envelope = _sealed_envelope(data, shelf)
        if envelope is not None:
            return _Sealed(envelope, data)
    envelope, found = _opened(data, shelf)
    return _Whole(envelope, data, found)


class _Envelope:
    """What stands around the records; fields that we do not know stay."""

    __slots__ = ("inner", "outer", "shelf")

    def __init__(self, shelf: str, outer: Record, inner: Record) -> None:
        self.shelf = shelf
        self.outer = outer
        self.inner = inner

    def head(self, at: str) -> str:
        """The first line, up to the bracket behind which the records begin."""
        name, place = NAMES[self.shelf]
        outer = {"schemaName": name, "schemaVersion": VERSION, "updatedAt": at, **self.outer}
        inner = f"{encode(self.inner)[:-1]}, " if self.inner else "{"
        return f'{encode(outer)[:-1]}, "data": {inner}{quote(place)}: {{'


class _Whole:
    """A file that was decoded, every record of it."""

    __slots__ = ("_data", "_envelope", "_found", "dropped")

    def __init__(self, envelope: _Envelope, data: bytes, found: Record) -> None:
        self._envelope = envelope
        self._data = data
        self._found = _objects_in(found)
        self.dropped = [key for key in found if key not in self._found]

    def records(self, keys: Collection[str] | None = None) -> dict[str, Record]:
        if keys is None:
            return self._found
        return {key: self._found[key] for key in map(spelled, keys) if key in self._found}

    def changed(self, records: Mapping[str, Record | None], at: str, sealed_from: int = SEALED_FROM) -> bytes | None:
        """The file with these records replaced, and without those that are None; None if that changes nothing."""
        # What was handed out may have been changed in place, so what the file says is decoded once more.
        found = _objects_in(_opened(self._data, self._envelope.shelf)[1]) if self._data else {}
        former = {key: _line(key, record) for key, record in found.items()}
        lines = dict(former)
        for key, line in _lines(records).items():
            if line is None:
                lines.pop(key, None)
            else:
                lines[key] = line
        if lines == former:
            return None
        data = to_bytes(self._envelope.head(at)) + b",".join(lines.values())
        return _ended([data], is_sealed=len(data) >= sealed_from)


class _Sealed:
    """A file that our writer wrote, as bytes: only the lines that a reader asks for are decoded."""

    __slots__ = ("_data", "_end", "_envelope", "_start", "dropped")

    def __init__(self, envelope: _Envelope, data: bytes) -> None:
        self._envelope = envelope
        self._data = data
        self._start = data.index(b"\n")
        self._end = len(data) - _TAIL
        self.dropped: list[str] = []

    def records(self, keys: Collection[str] | None = None) -> dict[str, Record]:
        if keys is None:
            return _objects_in(_opened(self._data, self._envelope.shelf)[1])
        return {key: self._record(key, *span) for key, span in self._spans(map(spelled, keys)).items()}

    def _record(self, key: str, start: int, end: int) -> Record:
        return decode_object(to_text(self._data[start + len(_key_of_line(key)) : end]))

    def _spans(self, keys: Iterable[str]) -> dict[str, tuple[int, int]]:
        """Where the lines with these keys are, from the line break before to the comma or line break behind."""
        wanted = {_key_of_line(key) + b"{": key for key in keys}
        if len(wanted) > FEW:
            return self._spans_of_many(wanted)
        found = {}
        for begins, key in wanted.items():
            start = self._data.find(begins, self._start, self._end)
            if start >= 0:
                found[key] = (start, self._end_of_line(start))
        return found

    def _spans_of_many(self, wanted: dict[bytes, str]) -> dict[str, tuple[int, int]]:
        """Line by line, once, instead of a search through the file for every key."""
        found: dict[str, tuple[int, int]] = {}
        lengths = sorted({len(begins) for begins in wanted})
        start = self._start
        while start < self._end:
            end = self._end_of_line(start)
            for length in lengths:
                key = wanted.get(self._data[start : start + length])
                if key is not None:
                    found[key] = (start, end)
            start = end + 1
        return found

    def _end_of_line(self, start: int) -> int:
        end = self._data.find(b",\n", start, self._end)
        return self._end if end < 0 else end

    def changed(self, records: Mapping[str, Record | None], at: str) -> bytes | None:
        """As of a file that was decoded. What is not changed is copied as bytes."""
        lines = _lines(records)
        spans = self._spans(lines)
        if all(lines[key] == (self._data[slice(*spans[key])] if key in spans else None) for key in lines):
            return None
        parts = self._parts([(*span, lines[key]) for key, span in spans.items()])
        parts += [line for key, line in lines.items() if key not in spans and line is not None]
        pieces: list[bytes | memoryview] = [to_bytes(self._envelope.head(at))]
        for number, part in enumerate(parts):
            pieces += (b",", part) if number else (part,)
        return _ended(pieces, is_sealed=True)

    def _parts(self, edits: list[tuple[int, int, bytes | None]]) -> list[bytes | memoryview]:
        """The records in their order: runs of lines as they are, and single lines that are new. A comma belongs
        between any two."""
        view = memoryview(self._data)
        parts: list[bytes | memoryview | None] = []
        place = self._start
        for start, end, line in sorted(edits, key=lambda edit: edit[0]):
            parts += (view[place : max(place, start - 1)], line)
            place = end + 1
        parts.append(view[place : self._end])
        return [part for part in parts if part]


def spelled(key: str) -> str:
    """A key as it is read back: two halves of a character become that character, which would be a second spelling."""
    return key if key.isascii() else str(scan(quote(key))[0])


def _objects_in(found: Record) -> dict[str, Record]:
    return {key: value for key, value in found.items() if isinstance(value, dict)}


def _lines(records: Mapping[str, Record | None]) -> dict[str, bytes | None]:
    return {spelled(key): None if record is None else _line(spelled(key), record) for key, record in records.items()}


def _key_of_line(key: str) -> bytes:
    return to_bytes(f"\n{quote(key)}: ")


def _line(key: str, record: Record) -> bytes:
    """With the line break before it. The encoder escapes those in texts, so that there is no other."""
    return _key_of_line(key) + to_bytes(encode(record))


def _ended(pieces: list[bytes | memoryview], *, is_sealed: bool) -> bytes:
    seal = (_CLOSED, _SEAL, _sum(pieces), _SEAL_END) if is_sealed else (_CLOSED, _PLAIN_END)
    return b"".join((*pieces, *seal))


def _sum(pieces: list[bytes | memoryview]) -> bytes:
    from hashlib import sha256  # loads OpenSSL; only large files need it

    made = sha256()
    for piece in pieces:
        made.update(piece)
    return made.hexdigest().encode()


def _seal_holds(data: bytes) -> bool:
    cut = len(data) - _TAIL
    if not data.startswith(_CLOSED + _SEAL, max(cut, 0)):
        return False
    return data[cut:] == b"".join((_CLOSED, _SEAL, _sum([memoryview(data)[:cut]]), _SEAL_END))


def _sealed_envelope(data: bytes, shelf: str) -> _Envelope | None:
    """None if the first line is not what we would write for this shelf: another kind, or another version."""
    head = to_text(data[: data.index(b"\n")])
    try:
        fields = decode_object(head + "}}}")
        envelope, _ = _judged(fields, shelf)
    except NotJson:
        return None
    return envelope if envelope.head(str(fields.get("updatedAt"))) == head else None


def _opened(data: bytes, shelf: str) -> tuple[_Envelope, Record]:
    return _judged(decode_object(to_text(data)), shelf)


def _judged(fields: Record, shelf: str) -> tuple[_Envelope, Record]:
    """The envelope and what is in it. Raises NotJson if this is not a file of ours."""
    name, place = NAMES[shelf]
    version, data = fields.get("schemaVersion"), fields.get("data")
    if fields.get("schemaName") != name:
        raise NotJson(f"its schema is {_shown(fields.get('schemaName'))}, not {name!r}")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise NotJson(f"its schema has no version that we know: {_shown(version)}")
    if version > VERSION:
        raise NotJson(f"a later version of atm wrote it: schema version {_shown(version)}, and we know {VERSION}")
    if not isinstance(data, dict):
        raise NotJson("it has no data")
    found = data.get(place)
    if not isinstance(found, dict):
        raise NotJson(f"its data has no {place}")
    outer = {key: value for key, value in fields.items() if key not in _OWN}
    return _Envelope(shelf, outer, {key: value for key, value in data.items() if key != place}), found


def _shown(value: Plain) -> str:
    """What another program wrote, short and printable. Of something nested nobody wants to see more than that."""
    return ascii(value)[:80] if isinstance(value, str | int | float) else type(value).__name__
