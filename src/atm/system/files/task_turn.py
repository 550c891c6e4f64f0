"""
One turn at a task list: the list's lock, then the lock of each task that is changed (lowest number first).

The order of a change is: the task's file, which carries the event; the line in the history; the row in the index.
Killed anywhere in between, the next turn completes the history from the files (`task_catch_up`). Several files are
noted down first and finished by the next turn (`task_batch`), so that they change together or not at all.
"""

from __future__ import annotations

from atm.domain.errors import AtmError, FileBusy, NoSuchTask, UnreadableFile
from atm.domain.tasks import MOST_NUMBERS, Card
from atm.formats.board_index import UNSETTLED, Row
from atm.formats.task import task_mark
from atm.formats.task_history import PastLine
from atm.system.files.board_scan import only_card
from atm.system.files.inbox_edits import EditWhole
from atm.system.files.locking import BREAK_AFTER, WATCH_FOR, LockLost
from atm.system.files.refusals import explained, refused
from atm.system.files.shared_edit import edit_shared
from atm.system.files.task_batch import Batch, finish_former
from atm.system.files.task_catch_up import catch_up
from atm.system.files.task_rule import Rule
from atm.system.files.whole_files import read_whole, temporary_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.domain.dependencies import Board
    from atm.domain.plain import Record
    from atm.domain.tasks import Change, Task
    from atm.ports.board import NewFile
    from atm.system.files.board_scan import Scan
    from atm.system.files.locking import SharedLock
    from atm.system.files.task_store import TaskFiles

MARK = ".highwatermark"
READ_UNDER_LOCK = 300
"""Files that may be read while others wait for the list: some ten milliseconds' worth (D2)."""


class TaskTurn:
    """Implements `ports.board.Turn`."""

    __slots__ = ("_lock", "board", "folder", "scan", "store", "team")

    def __init__(self, store: TaskFiles, team: str) -> None:
        self.store = store
        self.team = team
        self.folder = ""
        self._lock: SharedLock | None = None
        self.scan: Scan
        self.board: Board

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
            if not self._look(most):
                lock.release()
                return False
            if self._tidy() + finish_former(self):
                self._look(None)
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

    def _look(self, most: int | None) -> bool:
        """False if more files than that would have to be read."""
        scan = self.store.look(self.team, self.folder, most)
        if scan is None:
            return False
        self.scan = scan
        self.board = scan.board()
        return True

    def _tidy(self) -> bool:
        """
        Remove what killed processes of ours left. Everything of ours happens under the list's lock, which we hold.

        A new version that lies beside a task may have displaced another program's: so an edit that changes nothing
        is made, which brings in whatever was displaced. A lock that is another program's is left alone.
        """
        for path in self.scan.litter:
            self.store.disk.remove(path)
        now, has_watched = self.store.clock.now() * 1e9, False
        for number, since in sorted(self.scan.being_changed.items()):
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
        return bool(self.scan.being_changed)

    # Changing tasks.

    def change(self, id: str, rule: Callable[[Task], Change | None]) -> Task | None:
        self.board.card(id)
        made = self.edit(int(id), Rule(int(id), rule))
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

    def edit(self, number: int, rule: Rule) -> Rule:
        path = f"{self.folder}/{number}.json"
        self.still_ours()
        try:
            edit_shared(self.store.locks, path, EditWhole(rule), self.store.set_aside(self.team, number))
        except FileNotFoundError:
            self.scan.lose(number)
            self.board = self.scan.board()
            raise NoSuchTask(f"task #{number} was deleted a moment ago", "see `atm tasks list`", path) from None
        except UnreadableFile as error:
            self.board = self.board.with_cards([Card(number, status="", problem=str(error))])
            raise UnreadableFile(str(error), "mend or remove the file; see `atm doctor`", path) from None
        except OSError as error:
            raise refused(path, error) from error
        if rule.error is not None:
            raise rule.error
        return rule

    def still_ours(self) -> None:
        assert self._lock is not None
        try:
            self._lock.check()
        except LockLost:
            raise FileBusy(f"another program took the lock of {self.folder} away", "try again", self.folder) from None
        except OSError as error:
            raise refused(self.folder, error) from error

    def write(self, new: list[NewFile], changes: dict[str, Change]) -> None:
        self.record(Batch(self, new, changes).write())

    # Numbers.

    def upcoming(self, count: int) -> list[int]:
        first = max([self._mark(), *self.scan.cards, *self.scan.gone]) + 1
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

    def reserve(self, numbers: list[int]) -> None:
        """Only ever raised: Claude Code raises it too, and not always under the lock."""
        path, highest = f"{self.folder}/{MARK}", max(numbers)
        try:
            while self._mark() < highest:
                highest = max(highest, self._swap_mark(path, highest))
        except OSError as error:
            raise refused(path, error) from error

    def _swap_mark(self, path: str, mark: int) -> int:
        """Put a mark in place; the one that stood there. What is displaced is looked at, not thrown away unseen."""
        disk, temporary = self.store.disk, temporary_of(path)
        if disk.look(temporary) is not None:
            disk.remove(temporary)
        fd = disk.create(temporary, mode=0o644)
        try:
            disk.write(fd, str(mark).encode())
            disk.sync(fd)
        finally:
            disk.close(fd)
        if disk.look(path) is None or not disk.exchange(temporary, path):
            disk.rename(temporary, path)
            return mark
        displaced = task_mark(read_whole(disk, temporary))
        disk.remove(temporary)
        return displaced

    def _mark(self) -> int:
        path = f"{self.folder}/{MARK}"
        try:
            return task_mark(read_whole(self.store.disk, path))
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise refused(path, error) from error

    # History and index.

    def record(self, done: list[tuple[Card, Record]]) -> None:
        """The history, then the index. A history that cannot be written now is completed by a later turn."""
        try:
            self.store.remember_past(self.team, [PastLine(card, event) for card, event in done])
            is_proven = True
        except AtmError:
            is_proven = False
        for card, _ in done:
            self.put(card, is_proven=is_proven)
        self.board = self.board.with_cards([card for card, _ in done])

    def put(self, card: Card, *, is_proven: bool) -> None:
        self.scan.put(Row(only_card(card), UNSETTLED, is_proven=is_proven))
