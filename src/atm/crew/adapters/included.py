"""
`.worktreeinclude`: files of the user's tree that git does not have and that a new worktree needs, like `.env`.

The list lies in the repository, so anybody may have written it. It copies regular files that lie in the user's working
tree, reached without a link, and nothing of git's own; not more than a worktree can need.
"""

from __future__ import annotations

import os
import stat

from atm.core.errors import RequestError
from atm.git.adapters.changes import Beginning, Looking
from atm.git.adapters.plain_files import FILE, TreeEntry
from atm.git.adapters.running import LONG, names_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from atm.files.ports.disk import Disk
    from atm.git.adapters.running import Git

LIST = ".worktreeinclude"
MOST_FILES = 1000
MOST_BYTES = 100 << 20


def copy_included(disk: Disk, git: Git, root: str, path: str) -> dict[str, str]:
    """From the user's tree into a new worktree; what was copied, and the object that each file is."""
    wanted = dict(_wanted(git, os.path.realpath(root))) if root else {}
    if len(wanted) > MOST_FILES or sum(wanted.values()) > MOST_BYTES:
        raise RequestError(
            f"{LIST} asks for {len(wanted)} files of {sum(wanted.values()) >> 20} MB",
            f"at most {MOST_FILES} files and {MOST_BYTES >> 20} MB are copied: name fewer",
            f"{root}/{LIST}",
        )
    copied = [name for name in wanted if _copy(disk, f"{os.path.realpath(root)}/{name}", path, name)]
    entries = [TreeEntry(f"{path}/{name}", name, FILE) for name in copied]
    return dict(Looking(git, "", Beginning(head="")).objects(entries, keep=False))


def _wanted(git: Git, root: str) -> Iterator[tuple[str, int]]:
    """Paths and sizes. Git says which files it does not track that match."""
    try:
        if not stat.S_ISREG(os.lstat(f"{root}/{LIST}").st_mode):
            return
    except OSError:
        return
    words = ("ls-files", "--others", "--ignored", "-z", f"--exclude-from={root}/{LIST}")
    for name in names_in(git.need(*words, seconds=LONG)):
        source = f"{root}/{name}"
        if name.endswith("/") or ".git" in name.lower().split("/") or os.path.realpath(source) != source:
            continue  # a repository, git's own, or reached through a link
        facts = os.lstat(source)
        if stat.S_ISREG(facts.st_mode):
            yield name, facts.st_size


def _copy(disk: Disk, source: str, path: str, name: str) -> bool:
    """False where the worktree has something already, or a link on the way: it may lead anywhere."""
    at = path
    for part in name.split("/")[:-1]:
        at = f"{at}/{part}"
        found = disk.look(at)
        if found is None:
            disk.make_folder(at, private=True)
        elif found.kind != "folder":
            return False
    if disk.look(f"{path}/{name}") is not None:
        return False
    reading = disk.open_read(source)
    try:
        facts = disk.look_open(reading)
        writing = disk.create(f"{path}/{name}", mode=0o700 if facts.mode & stat.S_IXUSR else 0o600)
        try:
            disk.copy(reading, writing, facts.size)
        finally:
            disk.close(writing)
    finally:
        disk.close(reading)
    return True
