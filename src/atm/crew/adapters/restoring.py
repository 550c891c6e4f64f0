"""Files that were saved, written into a folder: byte for byte, and nowhere else."""

from __future__ import annotations

import os

from atm.core.errors import RequestError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from atm.files.ports.disk import Disk
    from atm.git.adapters.salvage import TreeFile

FILE_MODE, PROGRAM_MODE = 0o644, 0o755
GIT_NEEDS = ("objects", "refs")
"""A git folder without these is none; they may have been empty, which no tree can hold."""


def put_into(disk: Disk, folder: str, files: Iterable[TreeFile]) -> list[str]:
    """Into a folder that is new or empty; the paths that were written, links after files."""
    if os.path.lexists(folder) and (not os.path.isdir(folder) or disk.names(folder)):
        raise RequestError(f"{folder} is not empty", "name a new or an empty folder", folder)
    disk.make_folders(folder)
    written, repositories = [], set()
    for file in files:
        if not _is_inside(file.path) or not _make_way(disk, folder, file.path):
            continue
        _write(disk, f"{folder}/{file.path}", file)
        written.append(file.path)
        before, found, _ = f"/{file.path}".partition("/.git/")
        if found:
            repositories.add(f"{folder}{before}/.git")
    for path in (f"{each}/{name}" for each in sorted(repositories) for name in GIT_NEEDS):
        if disk.look(path) is None:
            disk.make_folder(path)
    return written


def _is_inside(path: str) -> bool:
    """Anybody may have made such a commit."""
    return bool(path) and "\0" not in path and not {"", ".", ".."} & set(path.split("/"))


def _make_way(disk: Disk, folder: str, path: str) -> bool:
    """The folders on the way. False if something else lies there: never through a link."""
    at = folder
    for part in path.split("/")[:-1]:
        at = f"{at}/{part}"
        found = disk.look(at)
        if found is None:
            disk.make_folder(at)
        elif found.kind != "folder":
            return False
    return disk.look(f"{folder}/{path}") is None


def _write(disk: Disk, path: str, file: TreeFile) -> None:
    if file.is_link:
        os.symlink(os.fsdecode(file.data), path)
        return
    fd = disk.create(path, mode=PROGRAM_MODE if file.is_program else FILE_MODE)
    try:
        disk.write(fd, file.data)
    finally:
        disk.close(fd)
