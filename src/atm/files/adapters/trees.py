"""Folders as a whole: listing, removing and filling them, links never followed (G11)."""

from __future__ import annotations

from atm.files.adapters.whole_files import fill_and_link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from atm.files.ports.disk import Disk

PLACING = ".atm-new"
DEEPEST = 32


def files_in(disk: Disk, folder: str, wanted: Callable[[str], bool]) -> Iterator[str]:
    """Regular files below a folder, relative to it, in order; `wanted` judges each relative path on the way."""
    yield from _files(disk, folder, "", wanted, DEEPEST)


def _files(disk: Disk, root: str, below: str, wanted: Callable[[str], bool], depth: int) -> Iterator[str]:
    for name in sorted(disk.names(f"{root}/{below}" if below else root)):
        relative = f"{below}{name}"
        found = disk.look(f"{root}/{relative}") if wanted(relative) else None
        if found is not None and found.kind == "file":
            yield relative
        elif found is not None and found.kind == "folder" and depth:
            yield from _files(disk, root, f"{relative}/", wanted, depth - 1)


def remove_tree(disk: Disk, path: str) -> None:
    """Remove whatever lies at a path: a link itself, not what it leads to. Nothing there is fine."""
    found = disk.look(path)
    if found is None:
        return
    try:
        if found.kind != "folder":
            disk.remove(path)
            return
        for name in disk.names(path):
            remove_tree(disk, f"{path}/{name}")
        disk.remove_folder(path)
    except FileNotFoundError:
        return  # another process is clearing up too


def place(disk: Disk, path: str, data: bytes, mode: int = 0o600) -> bool:
    """
    A durable new file, whole or not there; False if something lies there already.

    The caller holds a lock, so what a killed process left beside it is of no use and is replaced.
    """
    folder, _, name = path.rpartition("/")
    temporary = f"{folder}/.{name}{PLACING}"
    if disk.look(temporary) is not None:
        disk.remove(temporary)
    if disk.look(path) is not None:
        return False
    fd = disk.create(temporary, mode=mode)
    try:
        fill_and_link(disk, temporary, fd, data, path)
    except FileExistsError:
        return False
    disk.sync_folder(folder)
    return True
