"""`state.json` and `COMPLETED` on disk: implements `ports.team_life.States`."""

from __future__ import annotations

from atm.core.errors import OutsideLink, UnreadableFile
from atm.core.names import is_claudes_team
from atm.files.adapters.refusals import explained, in_team
from atm.files.adapters.trees import place
from atm.files.adapters.whole_files import read_whole, write_over
from atm.files.formats.json_record import NotJson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.files.adapters.locking import Locks
    from atm.files.formats.layout import Layout
    from atm.files.ports.disk import Disk


class StateFiles:
    """Only we write these files, each under a private lock of its own."""

    __slots__ = ("_disk", "_layout", "_locks")

    def __init__(self, disk: Disk, locks: Locks, layout: Layout) -> None:
        self._disk = disk
        self._locks = locks
        self._layout = layout

    def read(self, team: str) -> bytes | None:
        return self._read(self._layout.state(team))

    def _read(self, path: str) -> bytes | None:
        with explained(path):
            try:
                return read_whole(self._disk, path)
            except (FileNotFoundError, NotADirectoryError):
                return None

    def begin(self, team: str, content: bytes) -> bool:
        path = self._layout.state(team)
        with explained(path), self._locks.private(path):
            self._check_inside(team)
            self._disk.make_folders(self._layout.team(team))
            return place(self._disk, path, content)

    def _check_inside(self, team: str) -> None:
        """The first file of a team: no link may have us begin it elsewhere (G11)."""
        folder = self._layout.team(team)
        real = self._disk.real_path(folder)
        if real != f"{self._disk.real_path(self._layout.teams)}/{team}":
            raise OutsideLink(f"{folder} leads out of the teams' folder, to {real}", "remove the link", folder)

    def change(self, team: str, change: Callable[[bytes | None], bytes | None]) -> None:
        path = self._layout.state(team)
        with in_team(path), self._locks.private(path):
            if is_claudes_team(team):  # its folder is Claude Code's, ours lies elsewhere
                self._disk.make_folders(self._layout.our_data(team), private=True)
            former = self._read(path)
            try:
                content = change(former)
            except NotJson as error:
                raise UnreadableFile(
                    f"{path} cannot be read: {error}", "mend it, or remove it: the team then counts as active", path
                ) from None
            if content is not None and content != former:
                write_over(self._disk, path, content)

    def mark(self, team: str) -> bytes | None:
        return self._read(self._layout.completed_mark(team))

    def complete(self, team: str, mark: bytes) -> bool:
        path = self._layout.completed_mark(team)
        with in_team(path), self._locks.private(path):
            return place(self._disk, path, mark)

    def set_lead_away(self, team: str, mark: bytes | None) -> bool:
        path = self._layout.lead_away(team)
        with in_team(path), self._locks.private(path):
            was_there = self._disk.look(path) is not None
            if mark is not None:
                write_over(self._disk, path, mark, durable=False)
            elif was_there:
                self._disk.remove(path)
        return was_there == (mark is None)
