"""What killed processes left beside the mail: interrupted writes, half-made files, locks of nobody (G7)."""

from __future__ import annotations

from atm.core.errors import AtmError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.checkup.ports import FilesAround
    from atm.roster.services.teamroom import Teamroom

STALE_AFTER = 30.0
"""Seconds after which a lock folder that nobody refreshes counts as a dead process's (D2)."""


class Tidied:
    """What was cleared away, and whether something may be cleared away soon."""

    __slots__ = ("count", "is_young_lock_left")

    def __init__(self) -> None:
        self.count = 0
        self.is_young_lock_left = False


def tidy(room: Teamroom, around: FilesAround) -> Tidied:
    """Finish what was cut off, and remove what it left. Nothing that a living process holds is touched."""
    done = Tidied()
    for held in around.held():
        owner = held.inbox_owner
        if not held.alive and owner is not None and room.inboxes.exists(*owner):
            done.count += _finish(room, *owner)
    for team in room.rosters.teams():
        _tidy_team(around, team, done)
    return done


def _finish(room: Teamroom, team: str, agent: str) -> int:
    """Whoever takes the lock next clears up after the one who died with it; so we take it."""
    try:
        room.inboxes.change(team, agent, list)
    except AtmError:
        return 0
    return 1


def _tidy_team(around: FilesAround, team: str, done: Tidied) -> None:
    try:
        for path in around.leftovers(team):
            around.remove(path)
            done.count += 1
        for lock in around.locks(team):
            if lock.kind != "folder" or not lock.empty:
                continue
            if lock.age > STALE_AFTER:
                done.count += around.break_lock(lock.path)
            else:
                done.is_young_lock_left = True
    except AtmError:
        return
