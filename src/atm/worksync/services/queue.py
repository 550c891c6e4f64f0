"""
Who is to be looked at, and when: one entry for each member, however many events there were.

An event only ever puts a member into the queue; looking happens later, elsewhere, after a quiet window. Nothing of
this is kept: whoever starts anew looks at everybody once. Times are given by the caller, by a clock nobody can set.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from atm.worksync.rules.triggers import LONGEST_WAIT, QUIET_SECONDS, TIME_PASSED, strongest


@dataclass(slots=True)
class QueueEntry:
    """One member that waits, or is being looked at."""

    team: str
    member: str
    first: float
    due: float
    triggers: set[str] = field(default_factory=set)
    running: bool = False
    again: bool = False
    """Something happened while it was being looked at: one more look."""
    again_due: float = 0.0


@dataclass(slots=True)
class Counts:
    """For diagnostics."""

    queued: int = 0
    running: int = 0
    taken: int = 0
    coalesced: int = 0
    dropped: int = 0


class SyncQueue:
    """Keyed by team and member. Used by one thread at a time."""

    def __init__(self, quiet: float = QUIET_SECONDS) -> None:
        self.quiet = quiet
        self._entries: dict[tuple[str, str], QueueEntry] = {}
        self._later: dict[tuple[str, str], tuple[float, str, str]] = {}
        self._taken = self._coalesced = self._dropped = 0

    def enqueue(self, team: str, members: Iterable[str], trigger: str, now: float, after: float | None = None) -> None:
        """Each event begins the quiet window anew, up to a bound: also where it is never quiet the daemon looks."""
        wait = self.quiet if after is None else after
        for member in members:
            entry = self._entries.get(_key(team, member))
            if entry is None:
                entry = QueueEntry(team, member, now, now + wait)
                self._entries[_key(team, member)] = entry
            elif entry.running:
                entry.again, entry.again_due = True, max(entry.again_due, now + wait)
                self._coalesced += 1
            else:
                latest = entry.first + LONGEST_WAIT * max(self.quiet, wait)
                entry.due = min(entry.due, now) if wait <= 0 else min(max(entry.due, now + wait), latest)
                self._coalesced += 1
            entry.triggers.add(trigger)

    def look_again(self, team: str, member: str, at: float) -> None:
        """Nothing will tell when a lease or a busy time ends, so that is looked at by itself. One for each member."""
        self._later[_key(team, member)] = (at, team, member)

    def take(self, now: float) -> dict[str, dict[str, str]]:
        """Everybody who is due, by team, with the strongest reason. They are being looked at until `done`."""
        for key in [key for key, (at, *_) in self._later.items() if at <= now]:
            _, team, member = self._later.pop(key)
            if key not in self._entries:  # whoever waits for quiet is looked at after it, and not before
                self.enqueue(team, [member], TIME_PASSED, now, after=0.0)
        found: dict[str, dict[str, str]] = {}
        for entry in self._entries.values():
            if not entry.running and entry.due <= now:
                entry.running = True
                found.setdefault(entry.team, {})[entry.member] = strongest(entry.triggers)
                entry.triggers = set()
                self._taken += 1
        return found

    def done(self, team: str, members: Iterable[str], now: float) -> None:
        """Exactly one more look where something happened meanwhile."""
        for member in members:
            entry = self._entries.pop(_key(team, member), None)
            if entry is not None and entry.again:
                due = max(entry.again_due, now)
                self._entries[_key(team, member)] = QueueEntry(team, member, now, due, entry.triggers)

    def drop(self, team: str, keep: Collection[str] = ()) -> None:
        """The team was stopped, or these are all that are left of it."""
        kept = {member.casefold() for member in keep}
        gone = [key for key, entry in self._entries.items() if key[0] == team.casefold() and key[1] not in kept]
        for key in gone:
            del self._entries[key]
        for key in [key for key in self._later if key[0] == team.casefold() and key[1] not in kept]:
            del self._later[key]
        self._dropped += len(gone)

    def clear(self) -> None:
        self._dropped += len(self._entries)
        self._entries.clear()
        self._later.clear()

    def next_due(self) -> float | None:
        times = [entry.due for entry in self._entries.values() if not entry.running]
        return min([*times, *(at for at, *_ in self._later.values())], default=None)

    def counts(self) -> Counts:
        running = sum(entry.running for entry in self._entries.values())
        queued = len(self._entries) - running
        return Counts(queued, running, self._taken, self._coalesced, self._dropped)


def _key(team: str, member: str) -> tuple[str, str]:
    return team.casefold(), member.casefold()
