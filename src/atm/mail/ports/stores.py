"""
What the mail services need from the machine, in their own verbs.

Failures are the DiskError family of `core.errors`; expected answers are values.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from typing import Protocol

    from atm.files.ports.undertaking import Undertaking
    from atm.mail.formats.inbox_counts import InboxCounts
    from atm.mail.formats.journal import Entry, Line
    from atm.mail.formats.row_index import IndexedInbox, RowIndex
    from atm.mail.formats.spool_entry import Spooled, SpoolEntry
    from atm.mail.rules.inbox_merge import Written
    from atm.mail.rules.messages import Message
    from atm.mail.rules.quotas import Allowance
    from atm.mail.rules.surfacing import Glance
else:
    Protocol = object


class Inboxes(Protocol):
    """Delivery queues, one for each member of a team."""

    def append(
        self,
        team: str,
        agent: str,
        rows: list[Message],
        *,
        fresh: bool,
        patience: float | None = None,
        allowance: Allowance | None = None,
    ) -> Written:
        """
        Add rows that are not there yet. The inbox is made if it does not exist.

        `patience` is how many seconds it may take at most, whatever others do to the file; FileBusy after that.
        InboxFull if the `allowance` of their sender has no room in the version that is changed: two senders at once
        cannot both slip in.
        """

    def has_room(self, team: str, agent: str, allowance: Allowance) -> bool:
        """Would that be taken? A look without a lock; also True if nobody can tell."""

    def create(self, team: str, agent: str) -> bool:
        """Make an empty inbox; False if there is one already."""

    def unread(self, team: str, agent: str) -> list[Message]: ...

    def glance(self, team: str, agent: str, people: Callable[[str], bool], most_rows: int) -> Glance:
        """What of the unread should be shown first, for a bounded price; `people` says which senders are persons."""

    def indexed(self, team: str, agent: str, former: RowIndex | None) -> IndexedInbox:
        """Which rows there are, beside a former version of them: only what changed is taken apart."""

    def counts(self, team: str, agent: str) -> InboxCounts:
        """How much there is."""

    def rows(self, team: str, agent: str) -> list[Message]:
        """Every row, the malformed ones included; none if there is no such inbox."""

    def claim(self, team: str, agent: str, choose: Callable[[list[Message]], list[Message]]) -> list[Message]:
        """Mark the unread rows that `choose` picks as read, in one step, and return them."""

    def claim_named(self, team: str, agent: str, keys: Collection[object]) -> list[Message]:
        """Mark those of these rows that are unread as read, in one step, and return them."""

    def mark(
        self, team: str, agent: str, keys: Collection[object], read: bool, patience: float | None = None
    ) -> None: ...

    def change(
        self,
        team: str,
        agent: str,
        change: Callable[[list[Message]], list[Message]],
        patience: float | None = None,
    ) -> Written:
        """Decide and write under one lock."""

    def recheck(self, team: str, agent: str, patience: float | None = None) -> int | None:
        """
        Put back rows of foreign writers that we brought along a moment ago and that are gone again: how many. None if
        there are no rows to look after any more.
        """

    def touched(self, team: str, agent: str) -> bool | None:
        """
        May a foreign writer have written to it since we last looked or wrote? Costs two small looks.

        None while one of us is writing: what he meets is known when he is done.
        """

    def missing(self, team: str, agent: str, ids: Iterable[str]) -> list[str]:
        """Those ids that occur nowhere in the inbox: a look without a lock. If none, it is not `touched` any more."""

    def exists(self, team: str, agent: str) -> bool: ...

    def size(self, team: str, agent: str) -> int: ...

    def version(self, team: str, agent: str) -> object:
        """Another value after every change; None if there is no inbox. One small look."""

    def most_rows(self, team: str, agent: str) -> int:
        """No more rows than this are in it: a bound that costs no parsing."""

    def owners(self, team: str) -> list[str]: ...

    def remove(self, team: str, agent: str) -> bool:
        """Remove an inbox that holds no rows; False if it does, and nothing is removed."""

    def exclusively(self, team: str, agent: str) -> Undertaking:
        """One conversation at a time: whoever looks and then answers must not be overtaken."""


class Ledger(Protocol):
    """The append-only history of a team's mail."""

    def append(self, team: str, lines: list[Line]) -> list[int]:
        """Make lines durable; their numbers."""

    def path(self, team: str) -> str:
        """Where people can look at it."""

    def recent(self, team: str) -> list[Entry]:
        """The last few thousand bytes' worth: enough for the last minutes."""

    def entries(self, team: str) -> tuple[list[Entry], int]:
        """Everything, and how many lines could not be read."""

    def about(self, team: str, ids: Collection[str]) -> list[Entry]:
        """What it says of some messages, in order. Lines about others are not decoded."""

    def version(self, team: str) -> object:
        """Another value after every change: whoever has read it need not read it again."""

    def mentions(self, team: str, word: str) -> bool:
        """Does a word occur anywhere in it? Much quicker than reading it."""


class Spool(Protocol):
    """Messages that could not be written yet."""

    def put(self, entry: SpoolEntry) -> str:
        """Make it durable; the path of its file."""

    def is_empty(self) -> bool: ...

    def unreadable(self) -> list[str]:
        """Files in the spool that are no messages; they are never touched."""

    def pending(self, team: str | None = None, agent: str | None = None) -> list[Spooled]: ...

    def failed(self) -> list[Spooled]: ...

    def begin(self, spooled: Spooled) -> None:
        """About to deliver: from now on a missing row may have been consumed."""

    def done(self, spooled: Spooled) -> None: ...

    def postpone(self, spooled: Spooled) -> None:
        """Keep it with its new counters."""

    def give_up(self, spooled: Spooled) -> str: ...

    def revive(self, spooled: Spooled) -> None:
        """From failed back to pending."""

    def exclusively(self) -> SpoolTurn: ...


class SpoolTurn(Protocol):
    """Holding the spool for one drain. False on entry if another process is at it."""

    def __enter__(self) -> bool: ...

    def __exit__(self, *_: object) -> None: ...


class Archive(Protocol):
    """Where rows go before they are removed, as inboxes of their own."""

    def keep(self, team: str, agent: str, content: bytes) -> str:
        """Make a durable copy; its path."""


class UpkeepMarks(Protocol):
    """When an inbox is worth another clean-up pass."""

    def is_due(self, team: str, agent: str, size: int, now: float) -> bool: ...

    def put_off(self, team: str, agent: str, size: int, until: float) -> None: ...
