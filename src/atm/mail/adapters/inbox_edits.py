"""The changes we make to inboxes, each in a form that can be made again on a foreign writer's version."""

from __future__ import annotations

from atm.mail.formats.inbox import Inbox, changed_rows, claimed, marked, only, spliced, spliced_at, tail_of
from atm.mail.rules.inbox_merge import additions, with_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from atm.files.adapters.whole_files import Version
    from atm.mail.rules.messages import Message
    from atm.mail.rules.quotas import Allowance

SMALL = 64 * 1024
"""Bytes up to which an inbox is validated in full before an append; it costs less than a millisecond."""

LARGE = 1024 * 1024
"""Bytes from which rows are searched for by their ids, instead of decoding what is unread."""

_TAIL = 4096


def has_room(source: Version, allowance: Allowance) -> bool:
    """
    May one more message of this sender lie in this inbox?

    Most inboxes are so small, or have so few rows, that nothing has to be counted. One that is too large to go through
    takes only what has a reserve, and of that as much as the reserve allows among its last rows.
    """
    if allowance.covers(source.size // SHORTEST_ROW, source.size):
        return True
    from atm.mail.formats.large_inbox import backlog_at_end, backlog_in
    from atm.mail.rules.quotas import LARGEST_INBOX

    if source.size > LARGEST_INBOX:
        end = source.tail(allowance.quota.size or LARGEST_INBOX)
        return allowance.has_reserve and allowance.takes(backlog_at_end(end, allowance.counts))
    data = source.read()
    return allowance.covers(data.count(b"{"), len(data)) or allowance.takes(backlog_in(data, allowance.counts))


def _has_room_among(rows: list[Message], size: int, allowance: Allowance) -> bool:
    """The same where everything has been decoded anyway."""
    if allowance.covers(len(rows), size):
        return True
    from atm.mail.formats.large_inbox import backlog_of

    return allowance.takes(backlog_of(rows, allowance.counts))


SHORTEST_ROW = 150
"""Bytes. What we write has an id and a time; shorter rows are other programs', and not for us to count."""


class InboxEdit:
    """What all edits share: rows that a foreign writer added stay, whatever the edit does."""

    keeps_additions = True

    def __init__(self) -> None:
        self._carried: list[Message] = []
        self._removable: set[object] = set()
        """Rows that the edit itself was shown: if they are not in our version, it took them out on purpose."""

    def quick(self, source: Version) -> tuple[int, bytes] | None:  # noqa: ARG002 - most edits must read everything
        return None

    def apply(self, data: bytes) -> bytes | None:
        raise TypeError(f"{type(self).__name__} says nothing to do with {len(data)} bytes")

    def full(self, data: bytes) -> bytes | None:
        result = self.apply(data)
        if not self._carried:
            return result
        base = data if result is None else result
        kept = changed_rows(base, lambda rows: with_rows(rows, self._carried))
        return None if kept == data else kept

    def carry(self, ours: bytes, foreign: bytes) -> int:
        known = [*Inbox(ours).rows, *self._carried]
        new = [row for row in additions(known, Inbox(foreign).rows) if row.key not in self._removable]
        self._carried += new
        return len(new)


class Append(InboxEdit):
    """Rows at the end. `fresh` rows have ids that were made a moment ago, so nothing is searched for them."""

    def __init__(self, rows: list[Message], *, fresh: bool, allowance: Allowance | None = None) -> None:
        super().__init__()
        self.rows = rows
        self.fresh = fresh
        self.added = rows
        self._allowance = allowance
        """Asked once, on the version that the edit is first made on: later ones may hold our rows already."""

    def quick(self, source: Version) -> tuple[int, bytes] | None:
        if not self.fresh or source.size <= SMALL:
            return None
        self._ask(lambda allowance: has_room(source, allowance))
        cut = tail_of(source.head(1), source.tail(_TAIL), source.size)
        return None if cut is None else (cut, spliced([row.raw for row in self.rows]))

    def apply(self, data: bytes) -> bytes | None:
        inbox = Inbox(data)
        self.added = additions(inbox.rows, self.rows)
        if not self.added:
            return None
        self._ask(lambda allowance: _has_room_among(inbox.rows, len(data), allowance))
        raws = [row.raw for row in self.added]
        if not inbox.rows:
            return only(raws)
        cut = tail_of(data[:1], data[-_TAIL:], len(data))
        return inbox.with_rows([*inbox.rows, *self.added]) if cut is None else data[:cut] + spliced(raws)

    def _ask(self, has_room: Callable[[Allowance], bool]) -> None:
        """Not where rows of a foreign writer are brought along: those must get into the file."""
        allowance, self._allowance = self._allowance, None
        if allowance is not None and not self._carried and not has_room(allowance):
            raise allowance.refusal()


class ClaimRows(InboxEdit):
    """Mark the unread rows that `choose` picks as read. The first to mark a row is the one that shows it."""

    def __init__(self, choose: Callable[[list[Message]], list[Message]]) -> None:
        super().__init__()
        self._choose = choose
        self.claimed: list[Message] | None = None

    def quick(self, source: Version) -> tuple[int, bytes] | None:
        """Unread rows stand near the end: what lies before them is copied and not written again."""
        if self.claimed is not None:
            return None
        self.claimed, (keep, rest) = claimed(source.read(), self._choose)
        return (keep, rest) if rest else None

    def apply(self, data: bytes) -> bytes | None:
        if self.claimed is None:
            self.claimed, (keep, rest) = claimed(data, self._choose)
            return data[:keep] + rest if rest else None
        # Once more, on a foreign writer's version: the same rows and no others.
        new = marked(data, {message.key for message in self.claimed}, True)
        return None if new == data else new


class ClaimNamed(InboxEdit):
    """Mark those of the named rows that are unread. In a large inbox nothing but these rows is decoded."""

    def __init__(self, keys: Collection[object]) -> None:
        super().__init__()
        self._rows = ClaimRows(lambda unread: [row for row in unread if row.key in keys])
        self._keys = keys

    @property
    def claimed(self) -> list[Message]:
        return self._rows.claimed or []

    def quick(self, source: Version) -> tuple[int, bytes] | None:
        if self._rows.claimed is None and source.size > LARGE:
            from atm.mail.formats.large_inbox import rows_named

            rows = rows_named(source.read(), self._keys)
            if rows is not None:
                self._rows.claimed = [message for _, _, message in rows if not message.read]
                keep, rest = spliced_at(source.read(), rows, self._keys)
                return (keep, rest) if rest else None
        return self._rows.quick(source)

    def apply(self, data: bytes) -> bytes | None:
        return self._rows.apply(data)


class Mark(InboxEdit):
    """Set the `read` flag of rows that are named by key."""

    def __init__(self, keys: Collection[object], read: bool) -> None:
        super().__init__()
        self._keys = keys
        self._read = read

    def apply(self, data: bytes) -> bytes | None:
        new = self._marked(data)
        return None if new == data else new

    def _marked(self, data: bytes) -> bytes:
        if len(data) > LARGE:
            from atm.mail.formats.large_inbox import rows_named

            rows = rows_named(data, self._keys)
            if rows is not None:
                keep, rest = spliced_at(data, rows, self._keys, self._read)
                return data[:keep] + rest
        return marked(data, self._keys, self._read)


class ChangeRows(InboxEdit):
    """Any other change of the list of rows: clean-up takes some out, a restore puts some back."""

    def __init__(self, change: Callable[[list[Message]], list[Message]]) -> None:
        super().__init__()
        self._change = change

    def apply(self, data: bytes) -> bytes | None:
        new = changed_rows(data, self._remembering)
        return None if new == data else new

    def _remembering(self, rows: list[Message]) -> list[Message]:
        self._removable |= {row.key for row in rows}
        return self._change(rows)
