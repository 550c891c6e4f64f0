"""Editing one shared file from lock to release: what every store of shared files does."""

from __future__ import annotations

from atm.core.errors import FileBusy
from atm.files.adapters.locking import PATIENCE, LockLost
from atm.files.adapters.rewriting import Rewriter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.files.adapters.locking import Locks
    from atm.files.adapters.remains.carrying import RowsOf, Watch
    from atm.files.adapters.rewriting import Edit
    from atm.files.adapters.whole_files import Version

LOST_LOCK_TRIES = 3


class EditWhole:
    """
    A change of a file that is not a list of rows. There is nothing to merge: a foreign version takes the place of the
    one we saw, and the change is made again on it.
    """

    keeps_additions = False

    def __init__(self, change: Callable[[bytes], bytes]) -> None:
        self._change = change
        self._foreign: bytes | None = None

    def quick(self, source: Version) -> tuple[int, bytes] | None:  # noqa: ARG002 - such files are small
        return None

    def full(self, data: bytes) -> bytes | None:
        new = self._change(data if self._foreign is None else self._foreign)
        self._foreign = None
        return None if new == data else new

    def carry(self, ours: bytes, foreign: bytes) -> int:
        self._foreign = foreign if ours != foreign else None
        return int(ours != foreign)


def edit_shared(
    locks: Locks,
    path: str,
    edit: Edit,
    set_aside: Callable[[bytes], str],
    patience: float = PATIENCE,
    *,
    rows_of: RowsOf | None = None,
    watch: Watch | None = None,
    insist: bool = True,
) -> int:
    """
    Make an edit under the lock; how many foreign additions were merged.

    `patience` is for everything: waiting for the lock, and whatever other programs do to the file once we have it.
    Whoever gets the lock at last still has a moment to use it. `rows_of` takes a list to which others add apart, so
    that what they add is written down; the rows that `watch` says are looked after for a moment. Unless the caller
    `insist`s that the file comes to rest, what was put in place last counts when the time is up; the others' rows are
    owed then.
    """
    merged, clock = 0, locks.clock
    deadline = clock.monotonic() + patience
    for attempt in range(LOST_LOCK_TRIES):
        left = deadline - clock.monotonic()
        if attempt and left <= 0:
            break
        lock = locks.shared(path, max(0.0, left))
        rewriter = Rewriter(locks.disk, clock, lock, path, set_aside, rows_of=rows_of, watch=watch, insist=insist)
        try:
            with lock:
                rewriter.end_at(deadline)
                rewriter.apply(edit, again=attempt > 0)
            rewriter.finish()
        except LockLost:
            continue  # another program broke our lock, before the commit or between two exchanges
        finally:
            rewriter.close()
            merged += rewriter.merged
        return merged
    raise FileBusy(f"other programs keep taking the lock of {path} away", "run `atm doctor`", path)
