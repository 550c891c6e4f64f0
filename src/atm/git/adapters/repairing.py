"""
Repairing a worktree of ours, from what atm noted about it when it made it.

An agent can write its folder and git's folder of notes on it, so neither is believed: not where they say that the
repository is, nor which of the two belongs to the other. Git is told both, and what is wrong is written anew.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import time

from atm.core.work_errors import GitTrouble
from atm.git.adapters.commits import ids_in
from atm.git.adapters.running import LONG, Git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HEAD = re.compile(rb"ref: refs/heads/[^\0-\x20\x7f]+\n?|(?:[0-9a-f]{40}|[0-9a-f]{64})\n?")
FILES = ("HEAD", "commondir", "gitdir", "index", "ORIG_HEAD", "FETCH_HEAD", "config.worktree", "locked")
"""Entries of git's notes that are files; a folder in the place of one is in the way."""

MODULES = "modules"
LONGEST = 8192
INDEX = b"DIRC"
SHA1_LENGTH = 40
WATCHED = 0.5
"""Seconds in which a lock has to stay as it is, with no git at work, before it counts as left behind."""
OLD = 30.0
"""The same where the system does not tell which files a process has open (decision D2)."""


class KnownPlace:
    """A worktree as atm made it."""

    __slots__ = ("base", "branch", "common", "notes", "path")

    def __init__(self, *, path: str, notes: str, common: str, branch: str, base: str) -> None:
        self.path = path
        self.notes = notes
        """Git's folder of notes on it."""
        self.common = common
        self.branch = branch
        self.base = base


def is_folder(path: str) -> bool:
    """A folder itself, and no link to one."""
    return os.path.isdir(path) and not os.path.islink(path)


def repair(place: KnownPlace, sleep: Callable[[float], None] = time.sleep) -> None:
    """Both sides know each other again, there is a branch and an index. For a folder that is there."""
    if not is_folder(place.notes):
        _make_notes(place)
    repair_notes(place)
    repair_pointer(place)
    clear_stale_locks(place, sleep)  # before git has to write the head or the index
    git = Git(git_dir=place.notes, work_tree=place.path, common=place.common, sleep=sleep)
    if not git.commit_of("HEAD"):
        _repair_head(place, git)
    if not has_sound_index(place):
        make_index(place, git)


def _make_notes(place: KnownPlace) -> None:
    parent = os.path.dirname(place.notes)
    if os.path.islink(parent) or (os.path.lexists(parent) and not os.path.isdir(parent)):
        raise GitTrouble(f"{parent} is no folder of git's any more", "move it away, and try again", parent)
    if os.path.lexists(place.notes):
        os.unlink(place.notes)
    os.makedirs(place.notes)


def repair_notes(place: KnownPlace) -> None:
    """The small files by which git finds the way, as they were. The folder has to be there."""
    for path in _odd_entries(place.notes):
        os.unlink(path)
    for name in FILES:
        if os.path.isdir(f"{place.notes}/{name}"):
            shutil.rmtree(f"{place.notes}/{name}")
    for name, data in _ways(place):
        if _read(f"{place.notes}/{name}") != data:
            _put(f"{place.notes}/{name}", data)
    if HEAD.fullmatch(_read(f"{place.notes}/HEAD")) is None:
        _put(f"{place.notes}/HEAD", os.fsencode(f"ref: refs/heads/{place.branch}\n"))


def repair_what_stops_git(place: KnownPlace) -> None:
    """
    Of a worktree in which another process may be at work: only what keeps git from working in all of the repository.

    It reads these files of every worktree when it lists, makes or removes one. What is missing is no obstacle.
    """
    if not is_folder(place.notes):
        return
    for name, data in _ways(place):
        path = f"{place.notes}/{name}"
        # Another process may be removing this worktree: what it has deleted in the meantime was not damaged.
        if not os.path.lexists(path) or _read(path) == data or not os.path.lexists(path):
            continue
        try:
            if is_folder(path):
                shutil.rmtree(path)
            _put(path, data)
        except FileNotFoundError:
            continue
    for name in ("HEAD", "locked"):  # git waits for ever for the other end of a pipe
        path = f"{place.notes}/{name}"
        try:
            if stat.S_ISREG(os.lstat(path).st_mode):
                continue
            if is_folder(path):
                shutil.rmtree(path)
            if name == "HEAD":
                _put(path, os.fsencode(f"ref: refs/heads/{place.branch}\n"))
            else:
                os.unlink(path)
        except FileNotFoundError:
            continue


def _ways(place: KnownPlace) -> tuple[tuple[str, bytes], ...]:
    """What git's notes say of the repository, and of the folder: by its real path, but for a link in its place."""
    parent, name = os.path.split(place.path)
    return (("commondir", b"../..\n"), ("gitdir", os.fsencode(f"{os.path.realpath(parent)}/{name}/.git\n")))


def repair_pointer(place: KnownPlace) -> None:
    """The file `.git` of the worktree; not where a repository of its own took its place, which is saved first."""
    path, data = f"{place.path}/.git", os.fsencode(f"gitdir: {place.notes}\n")
    if not is_folder(path) and _read(path) != data:
        _put(path, data)


def _repair_head(place: KnownPlace, git: Git) -> None:
    """To its branch; one that is gone begins again with the last commit that was made here, or with the first."""
    ref = f"refs/heads/{place.branch}"
    if not git.commit_of(ref):
        logged = [*ids_in(f"{place.notes}/logs/HEAD"), *ids_in(f"{place.common}/logs/{ref}"), place.base]
        commit = next((found for each in logged if (found := git.commit_of(each))), "")
        if not commit:
            raise GitTrouble(f"neither {place.branch} nor the commit that it began with is there", "see `git fsck`")
        git.need("update-ref", "-m", "repaired (atm)", ref, commit)
    git.need("symbolic-ref", "-m", "repaired (atm)", "HEAD", ref)


def make_index(place: KnownPlace, git: Git) -> None:
    """What was staged is lost; the files are as they were."""
    if os.path.lexists(f"{place.notes}/index"):
        os.unlink(f"{place.notes}/index")
    git.need("read-tree", "HEAD", seconds=LONG)


def has_sound_index(place: KnownPlace) -> bool:
    """Is it there and whole? Git itself does not look at the sum in its end, and takes half an index for one."""
    try:
        with open(f"{place.notes}/index", "rb") as file:
            data = file.read()
    except OSError:
        return False
    new_sum = hashlib.sha256 if len(place.base) > SHA1_LENGTH else hashlib.sha1
    size = new_sum().digest_size
    told = data[-size:]
    is_summed = told == new_sum(data[:-size]).digest() or not any(told)  # `index.skipHash`
    return data.startswith(INDEX) and len(data) > size and is_summed


# Locks that were left behind.


def clear_stale_locks(place: KnownPlace, sleep: Callable[[float], None]) -> None:
    """Locks of a git that was killed. One that a living process has open, or that is new every time, stays."""
    own = (f"{place.notes}/index.lock", f"{place.notes}/HEAD.lock") if is_folder(place.notes) else ()
    paths = (*own, f"{place.common}/refs/heads/{place.branch}.lock")
    before = {path: found for path in paths if (found := _identity(path)) is not None}
    if not before or any(_is_used(path, place.path) for path in before):
        return
    sleep(WATCHED)
    for path, found in before.items():
        if _identity(path) != found or _is_used(path, place.path):
            continue
        if is_folder(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def _identity(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _is_used(path: str, folder: str) -> bool:
    """Has a process it open, or is a git at work in the folder? (While an editor is open git keeps it closed.)"""
    if not os.path.isdir("/proc/self/fd"):
        return time.time() - os.lstat(path).st_mtime < OLD
    try:
        lock = os.stat(path)
    except OSError:
        return False
    for pid in (name for name in os.listdir("/proc") if name.isdecimal()):
        if _works_in(pid, folder) or any(_is_same(each, lock) for each in _open_files(pid)):
            return True
    return False


def _works_in(pid: str, folder: str) -> bool:
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:
            if not file.read(16).startswith(b"git"):
                return False
        return f"{os.readlink(f'/proc/{pid}/cwd')}/".startswith(f"{os.path.realpath(folder)}/")
    except OSError:
        return False  # gone, or another user's


def _open_files(pid: str) -> list[str]:
    try:
        return [f"/proc/{pid}/fd/{name}" for name in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return []


def _is_same(path: str, other: os.stat_result) -> bool:
    try:
        found = os.stat(path)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (other.st_dev, other.st_ino)


# Small files.


def _odd_entries(folder: str) -> Iterator[str]:
    """What git never puts there: links, which lead elsewhere, and pipes, which would be waited for."""
    for at, folders, files in os.walk(folder):
        for name in (*files, *folders):
            path = f"{at}/{name}"
            mode = os.lstat(path).st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                yield path
        folders[:] = [each for each in folders if each != MODULES and not os.path.islink(f"{at}/{each}")]


def _read(path: str) -> bytes:
    """Empty for what is no regular file."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return b""
        with open(path, "rb") as file:
            return file.read(LONGEST)
    except OSError:
        return b""


def _put(path: str, data: bytes) -> None:
    """In one step, whatever lies there; a link is replaced and not followed."""
    temporary = f"{path}.atm-{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    if os.path.lexists(temporary):
        os.unlink(temporary)
    fd = os.open(temporary, flags, 0o644)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)
    os.replace(temporary, path)
