"""`{member}_checkpoint.json` on disk: implements `sessions.ports.surroundings.MemberCheckpoints`."""

from __future__ import annotations

from atm.core.names import is_safe_name
from atm.files.adapters.refusals import explained, in_team
from atm.files.adapters.whole_files import read_whole, write_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.files.formats.layout import Layout
    from atm.files.ports.disk import Disk

SUFFIX = "_checkpoint.json"


class CheckpointFiles:
    """One file for each member, written by whoever saves its work."""

    __slots__ = ("_disk", "_layout")

    def __init__(self, disk: Disk, layout: Layout) -> None:
        self._disk = disk
        self._layout = layout

    def read(self, team: str, member: str) -> bytes | None:
        path = self._layout.member_checkpoint(team, member)
        with explained(path):
            try:
                return read_whole(self._disk, path)
            except (FileNotFoundError, NotADirectoryError):
                return None

    def write(self, team: str, member: str, content: bytes) -> None:
        path = self._layout.member_checkpoint(team, member)
        with in_team(path):
            write_over(self._disk, path, content)

    def all(self, team: str) -> dict[str, bytes]:
        folder = self._layout.our_data(team)
        with explained(folder):
            names = [name for name in self._disk.names(folder) if name.endswith(SUFFIX) and is_safe_name(name)]
        found = {name: self.read(team, name.removesuffix(SUFFIX)) for name in sorted(names)}
        return {name: content for name, content in found.items() if content is not None}
