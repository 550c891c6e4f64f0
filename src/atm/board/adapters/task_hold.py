"""
A task list that is held: what was seen under its lock, and how a task, the mark of numbers and the history are written.

Everything here happens under the list's lock, which whoever begins a turn has taken.
"""

from __future__ import annotations

from atm.board.adapters.board_scan import only_card
from atm.board.adapters.task_rule import TaskRule
from atm.board.formats.board_index import UNSETTLED, Row
from atm.board.formats.task import task_mark
from atm.board.formats.task_history import PastLine
from atm.board.rules.tasks import Card
from atm.core.errors import AtmError, FileBusy, UnreadableFile
from atm.core.work_errors import NoSuchTask
from atm.files.adapters.locking import LockLost
from atm.files.adapters.refusals import refused
from atm.files.adapters.shared_edit import EditWhole, edit_shared
from atm.files.adapters.whole_files import read_whole, temporary_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.adapters.board_scan import Scan
    from atm.board.adapters.task_folder import TaskFolder
    from atm.board.rules.dependencies import Board
    from atm.core.plain import Record
    from atm.files.adapters.locking import SharedLock


MARK = ".highwatermark"


class TaskHold:
    """A list while its lock is ours."""

    __slots__ = ("_lock", "board", "folder", "scan", "store", "team")

    def __init__(self, store: TaskFolder, team: str) -> None:
        self.store = store
        self.team = team
        self.folder = ""
        self._lock: SharedLock | None = None
        self.scan: Scan
        self.board: Board

    def look(self, most: int | None) -> bool:
        """False if more files than that would have to be read."""
        scan = self.store.look(self.team, self.folder, most)
        if scan is None:
            return False
        self.scan = scan
        self.board = scan.board()
        return True

    def edit(self, number: int, rule: TaskRule) -> TaskRule:
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

    def reserve(self, numbers: list[int]) -> None:
        """Only ever raised: Claude Code raises it too, and not always under the lock."""
        path, highest = f"{self.folder}/{MARK}", max(numbers)
        try:
            while self.mark() < highest:
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

    def mark(self) -> int:
        path = f"{self.folder}/{MARK}"
        try:
            return task_mark(read_whole(self.store.disk, path))
        except FileNotFoundError:
            return 0
        except OSError as error:
            raise refused(path, error) from error

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
