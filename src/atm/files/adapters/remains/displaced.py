"""
Versions of a file that lie beside it, because what they hold may exist nowhere else: those that we displaced, and those
that a process of ours has left which was killed in the middle.

A killed process's temporary file is either the version it was about to place (the inode it noted), which nobody was
told about, or the version it displaced.
"""

from __future__ import annotations

from atm.files.adapters.whole_files import read_whole
from atm.files.formats.json_record import NotJson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from atm.core.plain import Plain
    from atm.files.ports.clock import Clock
    from atm.files.ports.disk import Disk

    Carry = Callable[[bytes, bytes], int]
    """As `Edit.carry`: what a foreign version has and ours has not."""

MOST_TORN, TORN_FOR = 4, 2.0
"""Versions that stay torn, and how many seconds after the last write into one it may still become whole."""


class Displaced:
    """The foreign versions that one rewrite knows of."""

    __slots__ = ("_aside", "_disk", "_later", "_path", "_torn", "foreign")

    def __init__(self, disk: Disk, path: str, set_aside: Callable[[bytes], str]) -> None:
        self._disk = disk
        self._path = path
        self._aside = set_aside
        self.foreign: list[str] = []
        """Kept until what they added lies safely in the file, or is written down."""
        self._later: list[str] = []
        """Those that a killed process left and that there was no time for."""
        self._torn: list[str] = []

    @property
    def kept(self) -> list[str]:
        return [*self.foreign, *self._later, *self._torn]

    def remove_foreign(self, *, but: int = 0) -> None:
        """All of them, or all but so many of the last."""
        while len(self.foreign) > but:
            self._disk.remove(self.foreign.pop(0))

    def give_up(self, path: str, data: bytes, *, may_wait: bool) -> None:
        """
        It cannot be read. What may be somebody's unfinished write is looked at again by whoever comes next: a program
        that is kept from going on does so later.
        """
        if not (may_wait and is_begun(data)):
            self._aside(data)
            return
        self.foreign.remove(path)
        self._torn.append(path)
        while len(self._torn) > MOST_TORN:
            oldest = self._torn.pop(0)
            self._aside(read_whole(self._disk, oldest))
            self._disk.remove(oldest)

    def take_over(
        self, noted: Plain, carry: Carry, clock: Clock, *, are_merged: bool, is_late: Callable[[], bool]
    ) -> int:
        """What a killed process has left: keep what foreign writers had added, remove the rest. How much that was."""
        carried = 0
        for path in displaced_versions(self._disk, self._path, noted, are_merged=are_merged):
            if self.foreign and are_merged and is_late():
                self._later.append(path)
                continue
            self.foreign.append(path)
            data = read_whole(self._disk, path)
            try:
                carried += carry(read_whole(self._disk, self._path), data)
            except NotJson:
                self.give_up(path, data, may_wait=are_merged and self._is_young(path, clock))
        remove_others(self._disk, self._path, self.kept)
        return carried

    def _is_young(self, path: str, clock: Clock) -> bool:
        written = self._disk.look(path)
        return written is not None and 0 <= clock.now() - written.mtime_ns / 1e9 < TORN_FOR


def displaced_versions(disk: Disk, path: str, noted: Plain, *, are_merged: bool) -> list[str]:
    """
    Foreign versions of the file at `path` that the note tells of, oldest first.

    Where versions are not merged but one replaces another, none once somebody has left a newer one.
    """
    if not isinstance(noted, dict) or not (are_merged or _still_placed(disk, path, noted)):
        return []
    foreign = noted.get("foreign")
    found = [one for one in foreign if isinstance(one, str)] if isinstance(foreign, list) else []
    temporary = str(noted.get("temporary"))
    stamp = disk.look(temporary)
    was_displaced = stamp is not None and list(stamp.signature[:2]) != noted.get("placed")
    if stamp is not None and was_displaced and list(stamp.content) != noted.get("expected"):
        found.append(temporary)
    return [one for one in dict.fromkeys(found) if one.startswith(_stem(path)) and disk.look(one)]


def _still_placed(disk: Disk, path: str, noted: dict[str, Plain]) -> bool:
    """Does what the dead process had placed lie there yet? If not, another writer left a newer version since."""
    found = disk.look(path)
    return found is not None and list(found.signature[:2]) == noted.get("placed")


def _stem(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"{folder}/.{name}.atm-"


def remove_others(disk: Disk, path: str, kept: Collection[str]) -> None:
    """All that lies beside the file for its rewriting, except these."""
    folder = path.rpartition("/")[0]
    for name in disk.names(folder):
        one = f"{folder}/{name}"
        if one.startswith(_stem(path)) and one not in kept:
            disk.remove(one)


def is_begun(data: bytes) -> bool:
    """Could this be the beginning of a list, or a file that was emptied before it is written anew?"""
    return data.lstrip()[:1] in (b"", b"[")
