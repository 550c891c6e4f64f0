"""
Small records that only we write, keyed, one file for each kind and team; an audit journal; and the team's secret.

Everything of the work-sync control plane and of the stall watch lies in such files. They are versioned and may be
damaged or come from a later version: then they are put aside, and the part that needs them begins afresh. Nothing
else of a team depends on them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Protocol

    from atm.core.plain import Record
else:
    Protocol = object

STATUS, INTENTS, OUTBOX, STALLS = "status", "report-intents", "outbox", "stall-monitor-journal"
SHELVES = (STATUS, INTENTS, OUTBOX, STALLS)
"""Kinds of records: members' statuses, reports that wait, nudges, alerts of the stall watch."""


class Records(Protocol):
    """Records by key. A team that is gone has none, and none are ever made for it."""

    def read(self, team: str, shelf: str, keys: Collection[str] | None = None) -> dict[str, Record]:
        """Those of `keys` that are there; all of them without keys. Never waits for a lock."""

    def change(
        self,
        team: str,
        shelf: str,
        change: Callable[[dict[str, Record]], dict[str, Record | None]],
        keys: Collection[str] | None = None,
    ) -> None:
        """
        Decide and write under one lock. `change` gets what `read` would give and returns the records to replace; None
        takes one away. With `keys`, only those are decoded, and only those may be returned: what the others say
        costs nothing, however many there are. If nothing is returned, nothing is written.
        """

    def problem(self, team: str, shelf: str) -> str:
        """What was put aside and why, for people who look; empty if nothing was."""


class AuditJournal(Protocol):
    """What the control plane did and why, newest last, in files that are turned over."""

    def note(self, team: str, record: Record) -> None:
        """One that cannot be written fails no caller."""

    def last(self, team: str, count: int) -> list[Record]: ...


class TeamSecrets(Protocol):
    """A random secret for each team, readable by nobody else; made anew if it is damaged."""

    def secret(self, team: str) -> bytes: ...
