"""A team's files as files: putting them back and taking them away. Implements `ports.team_life.TeamFiles`."""

from __future__ import annotations

from atm.board.formats.task import decode_task, task_mark, task_number
from atm.board.formats.task_history import decode_past, gone_in
from atm.core.errors import FileBusy, OutsideLink
from atm.files.adapters.locking import PATIENCE, LockLost
from atm.files.adapters.refusals import explained
from atm.files.adapters.trees import PLACING, place, remove_tree
from atm.files.adapters.whole_files import read_whole, write_over
from atm.files.formats.json_record import NotJson
from atm.roster.formats.backup_manifest import HIGH_WATER as MARK
from atm.roster.formats.backup_manifest import TEAM, is_safe_path
from atm.roster.ports.team_files import Deletion, TasksFound
from atm.team.adapters.team_store import WrittenDown, cut_off_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.tasks import Task
    from atm.files.adapters.locking import Locks, SharedLock
    from atm.files.formats.layout import Layout
    from atm.files.ports.disk import Disk

ASIDE = ".deleted-"
WHILE_DELETING = 60.0
"""Seconds that a second deletion waits for the first, which makes a backup on its way."""


class TeamFolders:
    """Folders of teams and their task lists."""

    __slots__ = ("_disk", "_layout", "_locks")

    def __init__(self, disk: Disk, locks: Locks, layout: Layout) -> None:
        self._disk = disk
        self._locks = locks
        self._layout = layout

    # Coming back.

    def prepare(self, team: str) -> None:
        with explained(self._layout.team(team)):
            self._disk.make_folders(self._layout.inboxes(team))
            self._check_inside(self._layout.teams, f"{team}/inboxes")

    def put(self, team: str, path: str, data: bytes) -> bool:
        target = f"{self._layout.team(team)}/{path}"
        if not is_safe_path(TEAM + path):
            raise OutsideLink(f"{path!r} could lead out of the team's folder", "remove it from the backup", target)
        folder = target.rpartition("/")[0]
        with explained(target), self._locks.private(self._layout.team(team)):
            self._check_inside(self._layout.teams, f"{team}/{path}".rpartition("/")[0])
            self._disk.make_folders(folder, private=True)
            return place(self._disk, target, data, 0o644 if path.startswith("inboxes/") else 0o600)

    def holds(self, team: str, path: str) -> bool:
        target = f"{self._layout.team(team)}/{path}"
        with explained(target):
            return self._disk.look(target) is not None

    def content(self, team: str, path: str) -> bytes | None:
        target = f"{self._layout.team(team)}/{path}"
        with explained(target):
            self._check_inside(self._layout.team(team), path)
            try:
                return read_whole(self._disk, target)
            except (FileNotFoundError, NotADirectoryError):
                return None

    def _check_inside(self, root: str, relative: str) -> str:
        """The real path of something below a root; no link may stand on the way."""
        real = self._disk.real_path(f"{root}/{relative}")
        if real != f"{self._disk.real_path(root)}/{relative}":
            raise OutsideLink(
                f"{root}/{relative} leads elsewhere, to {real}", "remove the link, then try again", f"{root}/{relative}"
            )
        return real

    # Task lists.

    def tasks(self, team: str) -> TasksFound:
        folder = self._layout.tasks(team)
        with explained(folder):
            files = {number: self._task(folder, number) for number in self._numbers(folder)}
            return TasksFound(files, self._mark(folder), self._finished(team))

    def _finished(self, team: str) -> list[int]:
        try:
            past, _ = decode_past(read_whole(self._disk, self._layout.task_history(team)))
        except FileNotFoundError:
            return []
        return [number for number, (card, _) in gone_in(past).items() if card.is_finished]

    def _task(self, folder: str, number: int) -> Task | None:
        try:
            return decode_task(read_whole(self._disk, f"{folder}/{number}.json"))
        except (OSError, NotJson):
            return None

    def _numbers(self, folder: str) -> set[int]:
        return {number for name in self._disk.names(folder) if (number := task_number(name)) is not None}

    def _mark(self, folder: str) -> int:
        try:
            return task_mark(read_whole(self._disk, f"{folder}/{MARK}"))
        except FileNotFoundError:
            return 0

    def put_tasks(self, team: str, files: dict[int, bytes], least_mark: int) -> tuple[list[int], int]:
        folder = self._layout.tasks(team)
        with explained(folder):
            self._disk.make_folders(folder)
            real = self._check_inside(self._layout.task_lists, team)
            self._make_target(f"{real}/.lock")
            try:
                with self._locks.shared(f"{real}/.lock", PATIENCE) as lock:
                    return self._put_tasks(lock, real, files, least_mark)
            except LockLost:
                raise FileBusy(
                    f"another program took the lock of {folder} away", "try again: what was restored stays", folder
                ) from None

    def _make_target(self, path: str) -> None:
        """Claude Code locks an empty file that lies there for good."""
        try:
            self._disk.close(self._disk.create(path, mode=0o644))
        except FileExistsError:
            return

    def _put_tasks(
        self, lock: SharedLock, folder: str, files: dict[int, bytes], least_mark: int
    ) -> tuple[list[int], int]:
        for name in self._disk.names(folder):
            if name.startswith(".") and name.endswith(PLACING):  # a killed restore left it; we hold the lock
                self._disk.remove(f"{folder}/{name}")
        mark = max([least_mark, *files, self._mark(folder), *self._numbers(folder)])
        self._raise_mark(lock, folder, mark)
        done = []
        for number, data in sorted(files.items()):
            lock.check()
            if place(self._disk, f"{folder}/{number}.json", data, 0o644):
                done.append(number)
        return done, mark

    def _raise_mark(self, lock: SharedLock, folder: str, mark: int) -> None:
        """Before any task comes back: an id that was used must not be given out again."""
        if mark > self._mark(folder):
            lock.check()
            write_over(self._disk, f"{folder}/{MARK}", str(mark).encode(), 0o644)

    # Going away.

    def deleting(self, team: str, aside: str) -> WrittenDown:
        said = {"verb": "delete", "name": team, "detail": aside}
        return WrittenDown(self._locks, self._layout.deletion(team), said, WHILE_DELETING)

    def cut_off(self) -> list[Deletion]:
        found = [(said.get("name", ""), said.get("detail", "")) for said in cut_off_in(self._locks, self._deletions)]
        return [Deletion(team, aside) for team, aside in found if _is_aside(team, aside)]

    @property
    def _deletions(self) -> str:
        return self._layout.deletions

    def set_aside(self, deletion: Deletion) -> None:
        for root in (self._layout.teams, self._layout.task_lists):
            here, there = f"{root}/{deletion.team}", f"{root}/{deletion.aside}"
            with explained(here):
                if self._disk.look(here) is not None and self._disk.look(there) is None:
                    self._disk.rename(here, there)
                    self._disk.sync_folder(root)
        self._forget(deletion.team)

    def _forget(self, team: str) -> None:
        """What we keep beside a team under its name: a successor must not find in it what was another's (D26)."""
        for path in (self._layout.board_index(team), *self._layout.beside(team)):
            with explained(path):
                remove_tree(self._disk, path)

    def is_set_aside(self, deletion: Deletion) -> bool:
        path = f"{self._layout.teams}/{deletion.aside}"
        with explained(path):
            return self._disk.look(path) is not None

    def clear(self, deletion: Deletion) -> None:
        """The task list first: while the team's folder lies aside, a crash is known to be unfinished."""
        for root in (self._layout.task_lists, self._layout.teams):
            path = f"{root}/{deletion.aside}"
            with explained(path):
                remove_tree(self._disk, path)

    def leftovers(self, team: str) -> list[str]:
        found = set()
        for root in (self._layout.teams, self._layout.task_lists):
            with explained(root):
                found |= {name for name in self._disk.names(root) if _is_aside(team, name)}
        return sorted(found)


def _is_aside(team: str, name: str) -> bool:
    """`.deleted-crew-20261115T041616243Z`: nothing else is ever cleared."""
    stamp = name.removeprefix(f"{ASIDE}{team}-")
    return bool(team) and stamp != name and stamp.isalnum() and "/" not in team
