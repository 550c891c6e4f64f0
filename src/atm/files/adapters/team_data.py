"""
Our own data about a team: where it may be written, and putting aside what cannot be used.

A team that is gone gets no folder from us, and no link leads us out of the folder of the one that is there (G11).
"""

from __future__ import annotations

from atm.core.errors import NoSuchTeam, OutsideLink, UnreadableFile
from atm.files.adapters.trees import remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.files.formats.layout import Layout
    from atm.files.ports.disk import Disk

QUARANTINE = ".quarantine-"
KEPT_ASIDE = 5
PRIVATE = 0o700


class TeamData:
    """The folders of our data, each looked at before anything is written into it."""

    __slots__ = ("_disk", "_layout")

    def __init__(self, disk: Disk, layout: Layout) -> None:
        self._disk = disk
        self._layout = layout

    def check(self, team: str, path: str) -> tuple[int, int]:
        """
        May a file of this team lie at this path? Gives which folder the team is: one that was deleted and made anew
        under the same name is another team. Claude Code's too: what we keep beside one that is gone is no team's.
        """
        home = self._layout.team(team)
        found = self._disk.look(home)
        if found is None:
            raise NoSuchTeam(f"the folder {home} is gone", "the team may have ended; see `atm teams`", home)
        root, folder = self._layout.our_data(team).rpartition("/")[0], path.rpartition("/")[0]
        real = self._disk.real_path(folder)
        if real != self._disk.real_path(root) + folder.removeprefix(root):
            raise OutsideLink(f"{folder} leads elsewhere, to {real}", "remove the link, then try again", folder)
        return found.dev, found.ino

    def prepare(self, team: str, path: str) -> None:
        """Make the folder of a file if that is missing: ours, readable by nobody else. Never the team's own."""
        folder, home = path.rpartition("/")[0], self._layout.our_data(team)
        if home != self._layout.team(team) and self._disk.look(home) is None:
            self._disk.make_folders(home, private=True)
        if folder == home:
            return
        found = self._disk.look(folder)
        if found is None:
            self._make(folder)
        elif found.kind != "folder":
            raise UnreadableFile(f"{folder} is not a folder", "move it away, then try again", folder)
        elif found.mode & 0o077:
            self._disk.chmod(folder, PRIVATE)

    def _make(self, folder: str) -> None:
        try:
            self._disk.make_folder(folder, private=True)
        except FileExistsError:
            return  # another process was quicker
        self._disk.sync_folder(folder.rpartition("/")[0])


def set_aside(path: str, number: int) -> str:
    """Where what was put aside lies; number 1 is the newest."""
    return f"{path}{QUARANTINE}{number}"


def put_aside(disk: Disk, path: str, *, in_place: bool = False) -> None:
    """
    Move away whatever lies at a path. With `in_place` it keeps its name too, for a writer who is about to replace it.

    The caller holds the lock of the path. The last five are kept.
    """
    free = next((n for n in range(1, KEPT_ASIDE) if disk.look(set_aside(path, n)) is None), KEPT_ASIDE)
    remove_tree(disk, set_aside(path, free))
    for number in range(free, 1, -1):
        disk.rename(set_aside(path, number - 1), set_aside(path, number))
    (disk.link if in_place else disk.rename)(path, set_aside(path, 1))
    disk.sync_folder(path.rpartition("/")[0])
