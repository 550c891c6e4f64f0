"""Twins of the mail ports, in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from atm.files.formats.times import to_iso
from atm.mail.formats.inbox import decode_row, only, unread_spans, with_read
from atm.mail.formats.inbox_counts import InboxCounts, count_rows
from atm.mail.formats.journal import Entry, Line, decode_line, decode_lines
from atm.mail.formats.large_inbox import backlog_of, glance_at
from atm.mail.formats.row_index import IndexedInbox, RowIndex, indexed
from atm.mail.formats.spool_entry import Spooled, SpoolEntry, decode_entry, highest_for
from atm.mail.rules.inbox_merge import Written, additions
from atm.mail.rules.messages import Message
from atm.mail.rules.quotas import Allowance
from atm.mail.rules.surfacing import Glance
from atm.testing.team import Noted
from atm.testing.time_and_chance import FakeClock

Change = Callable[[list[Message]], list[Message]]


class MemoryInboxes:
    """Twin of `Inboxes`. `refuse` is raised by every write while it is set."""

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], list[Message]] = {}
        self._touched: set[tuple[str, str]] = set()
        self.refuse: Exception | None = None

    def _write(self, team: str, agent: str, rows: list[Message]) -> None:
        if self.refuse is not None:
            raise self.refuse
        self._rows[(team, agent)] = rows

    def foreign_rewrite(self, team: str, agent: str, rows: list[Message]) -> None:
        """What another program does to the file."""
        self._rows[(team, agent)] = list(rows)
        self._touched.add((team, agent))

    def append(
        self,
        team: str,
        agent: str,
        rows: list[Message],
        *,
        fresh: bool,  # noqa: ARG002 - a twin need not hurry
        patience: float | None = None,  # noqa: ARG002
        allowance: Allowance | None = None,
    ) -> Written:
        here = self._rows.get((team, agent), [])
        new = additions(here, rows)
        if new and allowance is not None and not self.has_room(team, agent, allowance):
            raise allowance.refusal()
        self._write(team, agent, [*here, *new])
        return Written(0, len(new))

    def has_room(self, team: str, agent: str, allowance: Allowance) -> bool:
        return allowance.takes(backlog_of(self.rows(team, agent), allowance.counts))

    def create(self, team: str, agent: str) -> bool:
        if (team, agent) in self._rows:
            return False
        self._write(team, agent, [])
        return True

    def unread(self, team: str, agent: str) -> list[Message]:
        return [row for row in self.rows(team, agent) if not row.read]

    def glance(self, team: str, agent: str, people: Callable[[str], bool], most_rows: int) -> Glance:
        data = only([row.raw for row in self.rows(team, agent)])
        spans = unread_spans(data)
        found = glance_at(data, spans, people, most_rows, len(data)) if spans is not None else None
        return found if found is not None else Glance(self.unread(team, agent), size=len(data))

    def indexed(self, team: str, agent: str, former: RowIndex | None) -> IndexedInbox:
        return indexed(only([row.raw for row in self.rows(team, agent)]), former)

    def counts(self, team: str, agent: str) -> InboxCounts:
        return count_rows(only([row.raw for row in self.rows(team, agent)]))

    def rows(self, team: str, agent: str) -> list[Message]:
        return list(self._rows.get((team, agent), []))

    def claim(self, team: str, agent: str, choose: Callable[[list[Message]], list[Message]]) -> list[Message]:
        chosen = choose(self.unread(team, agent))
        self.mark(team, agent, {message.key for message in chosen}, True)
        return chosen

    def claim_named(self, team: str, agent: str, keys: Collection[object]) -> list[Message]:
        return self.claim(team, agent, lambda unread: [message for message in unread if message.key in keys])

    def mark(self, team: str, agent: str, keys: Collection[object], read: bool, patience: float | None = None) -> None:
        del patience
        rows = self.rows(team, agent)
        self._write(team, agent, [with_read(row, read) if row.key in keys else row for row in rows])

    def change(self, team: str, agent: str, change: Change, patience: float | None = None) -> Written:  # noqa: ARG002
        self._write(team, agent, change(self.rows(team, agent)))
        return Written()

    def recheck(self, team: str, agent: str, patience: float | None = None) -> int | None:  # noqa: ARG002
        return None  # in memory nobody comes in between

    def touched(self, team: str, agent: str) -> bool:
        return (team, agent) in self._touched

    def missing(self, team: str, agent: str, ids: Iterable[str]) -> list[str]:
        text = "".join(row.raw for row in self.rows(team, agent))
        absent = [id for id in ids if id not in text]
        if not absent:
            self._touched.discard((team, agent))
        return absent

    def exists(self, team: str, agent: str) -> bool:
        return (team, agent) in self._rows

    def size(self, team: str, agent: str) -> int:
        return sum(len(row.raw) for row in self.rows(team, agent))

    def version(self, team: str, agent: str) -> object:
        return tuple(row.raw for row in self.rows(team, agent)) if self.exists(team, agent) else None

    def most_rows(self, team: str, agent: str) -> int:
        return len(self.rows(team, agent))

    def owners(self, team: str) -> list[str]:
        return sorted(agent for where, agent in self._rows if where == team)

    def remove(self, team: str, agent: str) -> bool:
        if self.refuse is not None:
            raise self.refuse
        if self._rows.get((team, agent)):
            return False
        self._rows.pop((team, agent), None)
        return True

    def take_away(self, team: str) -> None:
        """What happens to inboxes when their team's folder is moved."""
        self._rows = {key: rows for key, rows in self._rows.items() if key[0] != team}

    def exclusively(self, team: str, agent: str) -> Noted:  # noqa: ARG002 - a twin has one user
        return Noted(lambda: None)


class MemoryLedger:
    """Twin of `Ledger`. `refuse` is raised by appends while it is set."""

    def __init__(self, clock: FakeClock) -> None:
        self._entries: dict[str, list[Entry]] = {}
        self._clock = clock
        self.refuse: Exception | None = None

    def append(self, team: str, lines: list[Line]) -> list[int]:
        if self.refuse is not None:
            raise self.refuse
        entries = self._entries.setdefault(team, [])
        numbers = []
        for line in lines:
            entry = decode_line(line.numbered(entries[-1].seq + 1 if entries else 1))
            assert entry is not None
            entries.append(entry)
            numbers.append(entry.seq)
        return numbers

    def path(self, team: str) -> str:
        return f"memory/{team}/mailbox.log"

    def content(self, team: str) -> bytes:
        lines = self._entries.get(team, [])
        return b"".join(
            Line(
                kind=entry.kind,
                ids=entry.ids,
                agent=entry.agent,
                state=entry.state,
                at=entry.at,
                evidence=entry.evidence,
                raw=entry.raw,
            ).numbered(entry.seq)
            for entry in lines
        )

    def about(self, team: str, ids: Collection[str]) -> list[Entry]:
        return [entry for entry in self._entries.get(team, []) if not set(ids).isdisjoint(entry.ids)]

    def version(self, team: str) -> object:
        return len(self._entries.get(team, []))

    def mentions(self, team: str, word: str) -> bool:
        return word.encode() in self.content(team)

    def put(self, team: str, data: bytes) -> bool:
        if team in self._entries:
            return False
        self._entries[team] = decode_lines(data)[0]
        return True

    def take_away(self, team: str) -> None:
        self._entries.pop(team, None)

    def recent(self, team: str) -> list[Entry]:
        since = to_iso(self._clock.now() - 300)
        return [entry for entry in self._entries.get(team, []) if entry.at >= since]

    def entries(self, team: str) -> tuple[list[Entry], int]:
        return list(self._entries.get(team, [])), 0


class MemorySpool:
    """Twin of `Spool`."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._pending: dict[str, bytes] = {}
        self._failed: dict[str, bytes] = {}
        self._tried: set[str] = set()
        self._count = 0

    def put(self, entry: SpoolEntry) -> str:
        self._count += 1
        waiting = highest_for(f"{entry.agent}@{entry.team}", self._pending)
        name = entry.file_name(max(int(self._clock.now() * 1e9) + self._count, waiting + 1))
        self._pending[name] = entry.encoded()
        return f"pending/{name}"

    def is_empty(self) -> bool:
        return not self._pending

    def unreadable(self) -> list[str]:
        return []

    def pending(self, team: str | None = None, agent: str | None = None) -> list[Spooled]:
        found = self._listed("pending", self._pending)
        return [s for s in found if team is None or (s.entry.team, s.entry.agent) == (team, agent)]

    def failed(self) -> list[Spooled]:
        return self._listed("failed", self._failed)

    def _listed(self, folder: str, files: dict[str, bytes]) -> list[Spooled]:
        found = []
        for name in sorted(files):
            entry = decode_entry(files[name])
            assert entry is not None
            found.append(Spooled(name, f"{folder}/{name}", entry, name in self._tried))
        return found

    def begin(self, spooled: Spooled) -> None:
        self._tried.add(spooled.name)

    def done(self, spooled: Spooled) -> None:
        self._pending.pop(spooled.name, None)
        self._failed.pop(spooled.name, None)
        self._tried.discard(spooled.name)

    def postpone(self, spooled: Spooled) -> None:
        self._tried.discard(spooled.name)
        self._pending[spooled.name] = spooled.entry.encoded()

    def give_up(self, spooled: Spooled) -> str:
        self.done(spooled)
        self._failed[spooled.name] = spooled.entry.encoded()
        return f"failed/{spooled.name}"

    def revive(self, spooled: Spooled) -> None:
        self.done(spooled)
        self._pending[spooled.name] = spooled.entry.encoded()

    def exclusively(self) -> _FreeTurn:
        return _FreeTurn()


class _FreeTurn:
    def __enter__(self) -> bool:
        return True

    def __exit__(self, *_: object) -> None:
        return None


class MemoryArchive:
    """Twin of `Archive`."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def keep(self, team: str, agent: str, content: bytes) -> str:
        path = f"archive/{team}/{agent}/archive-{len(self.kept)}.json"
        self.kept[path] = content
        return path


class MemoryMarks:
    """Twin of `UpkeepMarks`."""

    def __init__(self) -> None:
        self._marks: dict[tuple[str, str], tuple[int, float]] = {}

    def is_due(self, team: str, agent: str, size: int, now: float) -> bool:
        seen, until = self._marks.get((team, agent), (0, 0.0))
        return size >= seen * 1.25 or now >= until

    def put_off(self, team: str, agent: str, size: int, until: float) -> None:
        self._marks[(team, agent)] = (size, until)


class MemoryDrift:
    """Twin of `Drift`."""

    def __init__(self) -> None:
        self._seen: list[dict[str, str]] = []

    def note(self, kind: str, names: list[str]) -> None:
        known = {(entry["kind"], entry["field"]) for entry in self._seen}
        self._seen += [{"kind": kind, "field": name} for name in names if (kind, name) not in known]

    def seen(self) -> list[dict[str, str]]:
        return list(self._seen)


def make_message(id: str, text: str = "text", *, sender: str = "ann", read: bool = False, at: str = "") -> Message:
    """A message as a foreign program could have written it."""
    from atm.files.formats.json_record import encode

    row = {"from": sender, "text": text, "timestamp": at or "2026-08-27T10:15:30.123Z", "msg_id": id, "read": read}
    found = decode_row(encode(row))
    assert found is not None
    return found
