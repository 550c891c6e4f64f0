"""
Lines of the ledger, `mailbox.log`: one JSON object a line, `seq` first (D6).

A *message* line carries the row that was sent, a *receipt* line what happened to messages afterwards. A line
that cannot be read is skipped and counted: a torn last line after a crash is nothing unusual.
"""

from __future__ import annotations

from atm.files.formats.json_record import MOST_SEQ, NotJson, decode_object, encode, quote, to_bytes, to_text
from atm.mail.formats.inbox import decode_row
from atm.mail.rules.messages import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from atm.core.plain import Plain
    from atm.mail.rules.receipts import Event

MESSAGE = "message"
RECEIPT = "receipt"
ROSTER = "roster"
_ROW = ', "row": '


class Line:
    """One line of the ledger, before it has its number."""

    __slots__ = ("agent", "at", "evidence", "ids", "intent", "kind", "raw", "state")

    def __init__(
        self,
        *,
        kind: str,
        ids: list[str],
        agent: str,
        state: str,
        at: str,
        evidence: str,
        raw: str = "",
        intent: str = "",
    ) -> None:
        self.intent = intent
        """What a message is meant as, where its row does not say: Claude Code's own teams know no such field."""
        self.kind = kind
        self.ids = ids
        self.agent = agent
        self.state = state
        self.at = at
        self.evidence = evidence
        self.raw = raw

    def numbered(self, seq: int) -> bytes:
        fields = {
            "kind": self.kind,
            "agent": self.agent,
            "state": self.state,
            "at": self.at,
            "evidence": self.evidence,
            **({"intent": self.intent} if self.intent else {}),
        }
        row = f"{_ROW}{self.raw}" if self.raw else ""
        ids = f'"id": {quote(self.ids[0])}' if len(self.ids) == 1 else f'"ids": {encode(self.ids)}'
        return to_bytes(f'{{"seq": {seq}, {ids}, {encode(fields)[1:-1]}{row}}}\n')


class Entry:
    """One line of the ledger as it was read."""

    __slots__ = ("agent", "at", "evidence", "ids", "intent", "kind", "raw", "seq", "state")

    def __init__(self, seq: int, line: Line) -> None:
        self.seq = seq
        self.kind, self.ids, self.agent, self.state = line.kind, line.ids, line.agent, line.state
        self.at, self.evidence, self.raw, self.intent = line.at, line.evidence, line.raw, line.intent

    @property
    def message(self) -> Message | None:
        return decode_row(self.raw) if self.raw else None

    def events(self) -> Iterator[Event]:
        from atm.mail.rules.receipts import Event  # whoever sends writes lines and asks for no events

        for id in self.ids:
            yield Event(seq=self.seq, id=id, agent=self.agent, state=self.state, at=self.at, evidence=self.evidence)


def decode_line(line: bytes) -> Entry | None:
    text = to_text(line)
    try:
        record = decode_object(text)
    except NotJson:
        return None
    seq, ids = record.get("seq"), record.get("ids") or [record.get("id")]
    if not isinstance(seq, int) or seq > MOST_SEQ or not isinstance(ids, list):
        return None
    named = [id for id in ids if isinstance(id, str)]
    fields = {key: str(record.get(key) or "") for key in ("kind", "agent", "state", "at", "evidence", "intent")}
    return Entry(seq, Line(ids=named, raw=_row_in(text, record), **fields))


def _row_in(text: str, record: dict[str, Plain]) -> str:
    """The row to the letter. We write it last, so it need not be searched for field by field."""
    if "row" not in record:
        return ""
    at = text.find(_ROW)
    body = text.rstrip()
    return body[at + len(_ROW) : -1] if at >= 0 and body.endswith("}") else encode(record["row"])


def decode_lines(data: bytes) -> tuple[list[Entry], int]:
    """All readable lines, and how many were not."""
    entries, torn = [], 0
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        entry = decode_line(line)
        if entry is None:
            torn += 1
        else:
            entries.append(entry)
    return entries, torn


def histories(entries: Iterable[Entry]) -> dict[tuple[str, str], list[str]]:
    """For each message and recipient the states it went through, in the order of the ledger."""
    found: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        for id in entry.ids:
            found.setdefault((id, entry.agent), []).append(entry.state)
    return found


MOST_SEARCHED = 50
"""Each id is one search through the whole ledger; for more of them, looking at the head of every line costs less."""

LARGEST_SEARCH = 128 << 20
"""And no more bytes than this in all of these searches, which take a tenth of a second."""


def decode_about(data: bytes, ids: Collection[str]) -> list[Entry]:
    """The readable lines that are about one of these messages, in file order: found by their bytes, then decoded."""
    marks = {to_bytes(quote(id)) for id in ids}
    starts = _starts(data, marks)
    lines = (data[start : _end_of_line(data, start)] for start in sorted(starts))
    wanted = set(ids)
    return [entry for line in lines if (entry := decode_line(line)) is not None and not wanted.isdisjoint(entry.ids)]


def _starts(data: bytes, ids: set[bytes]) -> set[int]:
    if len(ids) > MOST_SEARCHED:
        return _lines_about(data, ids)
    return _lines_about(data, ids) if len(ids) * len(data) > LARGEST_SEARCH else _found_in(data, ids)


def _found_in(data: bytes, marks: set[bytes]) -> set[int]:
    starts: set[int] = set()
    for mark in marks:
        at = data.find(mark)
        while at >= 0:
            starts.add(data.rfind(b"\n", 0, at) + 1)
            at = data.find(mark, at + len(mark))
    return starts


def _lines_about(data: bytes, marks: set[bytes]) -> set[int]:
    """Lines of ours say first which messages they are about; one that does not is decoded."""
    starts: set[int] = set()
    start = 0
    while start < len(data):
        end = _end_of_line(data, start)
        cut = data.find(_KIND, start, end)
        head = data[start:cut] if cut >= 0 else data[start:end]
        _, is_one, id = head.partition(_ID)
        if cut < 0 or (id in marks if is_one else any(mark in head for mark in marks)):
            starts.add(start)
        start = end + 1
    return starts


_ID, _KIND = b', "id": ', b', "kind": '


def _end_of_line(data: bytes, start: int) -> int:
    end = data.find(b"\n", start)
    return end if end >= 0 else len(data)


def decode_recent(data: bytes, since: str) -> list[Entry]:
    """The readable lines at the end of a ledger that are not older than a time, in file order."""
    found: list[Entry] = []
    for line in reversed(data.split(b"\n")):
        entry = decode_line(line) if line.strip() else None
        if entry is None or not entry.at:
            continue
        if entry.at < since:  # times are written by us, in one form that sorts
            break
        found.append(entry)
    return found[::-1]
