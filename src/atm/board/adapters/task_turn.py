"""
One turn at a task list: the list's lock, then the lock of each task that is changed (lowest number first).

The order of a change is: the task's file, which carries the event; the line in the history; the row in the index.
Killed anywhere in between, the next turn completes the history from the files (`task_catch_up`). Several files are
noted down first and finished by the next turn (`task_batch`), so that they change together or not at all.
"""

from __future__ import annotations

from atm.board.adapters.task_batch import Batch, finish_former
from atm.board.adapters.task_catch_up import catch_up
from atm.board.adapters.task_hold import MARK, TaskHold
from atm.board.adapters.task_rule import TaskRule
from atm.board.rules.tasks import MOST_NUMBERS
from atm.core.errors import AtmError, UnreadableFile
from atm.files.adapters.refusals import explained, refused
from atm.files.adapters.remains.stale_locks import BREAK_AFTER, WATCH_FOR
from atm.files.adapters.shared_edit import EditWhole, edit_shared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.board.ports.tasks import NewFile
    from atm.board.rules.tasks import Change, Task

READ_UNDER_LOCK = 300
"""Files that may be read while others wait for the list: some ten milliseconds' worth (D2)."""


class TaskTurn(TaskHold):
    """Implements `board.ports.Turn`."""

    __slots__ = ()

    def __enter__(self) -> TaskTurn:
        self.folder = self.store.made_folder(self.team)
        for most in (READ_UNDER_LOCK, READ_UNDER_LOCK, None):
            if self._begin(most):
                return self
            self.store.board(self.team)  # read without the lock, so that nobody waits for us
        raise AssertionError("the last try has no limit")

    def _begin(self, most: int | None) -> bool:
        lock = self.store.locks.shared(f"{self.folder}/.lock")
        try:
            lock.__enter__()
            self._lock = lock
            if not self.look(most):
                lock.release()
                return False
            if self._tidy() + finish_former(self):
                self.look(None)
            catch_up(self.store, self.team, self.folder, self.scan)
        except BaseException as error:
            lock.release()
            if isinstance(error, OSError):
                raise refused(self.folder, error) from error
            raise
        return True

    def __exit__(self, *_: object) -> None:
        self.store.scanner.remember(self.team, self.scan)
        try:
            if self._lock is not None:
                self._lock.release()
        except OSError:
            return  # what was written is written; the next turn takes the lock for an orphan

    def _tidy(self) -> bool:
        """
        Remove what killed processes of ours left. Everything of ours happens under the list's lock, which we hold.

        A new version that lies beside a task may have displaced another program's: so an edit that changes nothing
        is made, which brings in whatever was displaced. A lock that is another program's is left alone.
        """
        for name in self.scan.litter:
            self.store.disk.remove(f"{self.folder}/{name}")
        now, has_watched = self.store.clock.now() * 1e9, False
        being_changed = self.scan.being_changed
        for number, since in sorted(being_changed.items()):
            path, aside = f"{self.folder}/{number}.json", self.store.set_aside(self.team, number)
            # A lock that was left behind long ago is watched for a second before it is broken (D2): one in each turn,
            # because others wait for the list meanwhile.
            is_old = now - since > BREAK_AFTER * 1e9 and not has_watched
            patience = 1.5 * WATCH_FOR if is_old else 0.0
            has_watched = has_watched or is_old
            try:
                edit_shared(self.store.locks, path, EditWhole(lambda data: data), aside, patience)
            except (AtmError, FileNotFoundError):
                continue
        return bool(being_changed)

    # Changing tasks.

    def change(self, id: str, rule: Callable[[Task], Change | None]) -> Task | None:
        self.board.card(id)
        made = self.edit(int(id), TaskRule(int(id), rule))
        if made.task is None:
            self._see(int(id), made.seen)
        elif made.event is not None:
            self.record([(made.task, made.event)])
        return made.task

    def _see(self, number: int, seen: Task | None) -> None:
        """The rule refused: then the task is not as the board said, and whoever asks again shall know."""
        if seen is not None:
            self.put(seen, is_proven=False)
            self.board = self.board.with_cards([self.scan.cards[number]])

    def write(self, new: list[NewFile], changes: dict[str, Change]) -> None:
        self.record(Batch(self, new, changes).write())

    # Numbers.

    def upcoming(self, count: int) -> list[int]:
        first = max([self.mark(), *self.scan.cards, *self.scan.gone]) + 1
        found: list[int] = []
        with explained(self.folder):
            while len(found) < count:
                if self.store.disk.look(f"{self.folder}/{first}.json") is None:  # a folder may be in the way
                    found.append(first)
                first += 1
        if first > MOST_NUMBERS:
            path = f"{self.folder}/{MARK}"
            raise UnreadableFile(f"{path} leaves no numbers for new tasks", "write a smaller number into it", path)
        return found
