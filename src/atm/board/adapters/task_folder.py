"""The folder of a task list: what lies in it, what its history says was there, and what a turn needs of it."""

from __future__ import annotations

from atm.board.adapters.board_scan import TORN_NAP, TORN_TRIES, BoardScanner
from atm.board.formats.board_index import UNSETTLED, Row
from atm.board.formats.task import decode_task
from atm.board.formats.task_history import decode_past, gone_in
from atm.core.errors import AtmError, OutsideLink, UnreadableFile
from atm.core.work_errors import NoSuchTask
from atm.files.adapters.refusals import RealRoot, explained, refused
from atm.files.adapters.whole_files import read_whole
from atm.files.formats.json_record import NotJson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.board.adapters.board_scan import Scan
    from atm.board.formats.task_history import Past, PastLine
    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Task
    from atm.files.adapters.archive import ArchiveFolder
    from atm.files.adapters.locking import Locks
    from atm.files.adapters.numbered_log import NumberedLog
    from atm.files.formats.layout import Layout
    from atm.files.ports.clock import Clock
    from atm.files.ports.disk import Disk


class TaskFolder:
    """Claude Code deletes finished lists, so an empty folder says nothing about the past; the history does."""

    __slots__ = ("_archive", "_log", "_root", "clock", "disk", "layout", "locks", "scanner")

    def __init__(
        self,
        disk: Disk,
        clock: Clock,
        locks: Locks,
        layout: Layout,
        archive: ArchiveFolder,
        log: NumberedLog,
        scanner: BoardScanner | None = None,
    ) -> None:
        self.disk = disk
        self.clock = clock
        self.locks = locks
        self.layout = layout
        self._archive = archive
        self._log = log
        self._root = RealRoot(disk, layout.tasks("").rstrip("/"))
        self.scanner = scanner or BoardScanner(disk, clock, layout)

    def exists(self, team: str) -> bool:
        with explained(self.layout.tasks(team)):
            found = self.disk.look(self.layout.tasks(team))
        return found is not None and found.kind == "folder"

    def path(self, team: str, id: str) -> str:
        return f"{self.layout.tasks(team)}/{id}.json"

    def unfinished(self, team: str) -> str | None:
        path = self.layout.task_intent(team)
        return path if self.disk.look(path) is not None else None

    def board(self, team: str) -> Board:
        with explained(self.layout.tasks(team)):
            scan = self.look(team, self._inside(team), None)
        assert scan is not None  # there was no limit
        self.scanner.remember(team, scan)
        return scan.board()

    def look(self, team: str, folder: str, most: int | None) -> Scan | None:
        """What is there; and, where the index has been lost, what the history says was there."""
        scan = self.scanner.scan(team, folder, most)
        if scan is None or scan.is_whole:
            return scan
        try:
            for number, (card, is_told) in gone_in(self.past(team)[0]).items():
                if number not in scan.cards and number not in scan.gone:
                    scan.put(Row(card, UNSETTLED, is_proven=is_told, is_gone=True))
        except AtmError:
            return scan
        return scan

    def read(self, team: str, id: str) -> Task:
        with explained(self.layout.tasks(team)):
            path = f"{self._inside(team)}/{id}.json"
        problem = ""
        for attempt in range(TORN_TRIES):
            if attempt:
                self.clock.sleep(TORN_NAP)
            try:
                self._check_is_file(path)
                return decode_task(read_whole(self.disk, path), int(id))
            except (FileNotFoundError, NotADirectoryError):
                self.board(team).card(id)  # says whether it was there once
                raise NoSuchTask(f"there is no task #{id}", "see `atm tasks list`", path) from None
            except NotJson as error:
                problem = str(error)
            except OSError as error:
                raise refused(path, error) from error
        raise UnreadableFile(f"{path} cannot be read as a task: {problem}", "mend or remove the file", path)

    def _check_is_file(self, path: str) -> None:
        """Neither a link, which could lead anywhere, nor a pipe, at which we would wait for ever."""
        found = self.disk.look(path)
        if found is not None and found.kind != "file":
            raise OutsideLink(f"{path} is no file", "remove it", path)

    def past(self, team: str) -> tuple[list[Past], int]:
        path = self.layout.task_history(team)
        try:
            return decode_past(read_whole(self.disk, path))
        except FileNotFoundError:
            return [], 0
        except OSError as error:
            raise refused(path, error) from error

    # For the turn.

    def remember_past(self, team: str, lines: list[PastLine]) -> None:
        self._log.append_to(self.layout.task_history(team), lines)

    def set_aside(self, team: str, number: int) -> Callable[[bytes], str]:
        return lambda data: self._archive.put_aside(team, f"task-{number}", data)

    def made_folder(self, team: str) -> str:
        """The real folder of the list, with the empty file that everybody's list lock is named after."""
        folder = self.layout.tasks(team)
        with explained(folder):
            if self.disk.look(folder) is None:
                self.disk.make_folders(folder)
            real = self._inside(team)
            if self.disk.look(f"{real}/.lock") is None:
                try:
                    self.disk.close(self.disk.create(f"{real}/.lock", mode=0o644))  # empty, so it is whole at once
                except FileExistsError:
                    pass  # another process was quicker
        return real

    def _inside(self, team: str) -> str:
        folder = self.layout.tasks(team)
        real = self._root.inside(team)
        if real != f"{self._root.known}/{team}":
            raise OutsideLink(f"{folder} leads out of the folder of task lists, to {real}", "remove the link", folder)
        return real
