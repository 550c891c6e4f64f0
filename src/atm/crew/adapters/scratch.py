"""A folder of ours for a while: an index beside the user's, what a link says, patterns for git."""

from __future__ import annotations

from atm.files.adapters.trees import remove_tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.files.ports.disk import Disk


class Scratch:
    """Empty when it is entered, and gone afterwards. Whoever uses it holds a lock: what lies there is a dead one's."""

    __slots__ = ("_disk", "_path")

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = path

    def __enter__(self) -> str:
        remove_tree(self._disk, self._path)
        self._disk.make_folders(self._path, private=True)
        return self._path

    def __exit__(self, *_: object) -> None:
        remove_tree(self._disk, self._path)
