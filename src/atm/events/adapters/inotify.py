"""
What Linux says about folders as it happens: inotify, through ctypes. Waiting on `fd` costs nothing.

Folders are watched, never files: files are replaced, and a watch on one would stay with the version that is gone.
A watch belongs to the folder, not to its name. When a folder is moved away its watch goes along, so it is given up
and the name is reported as lost; whoever wants the name adds it again and gets what lies there now. `ways_to` says
what else to watch in order to notice that a path leads elsewhere.

A limit that is used up, a folder that vanished or must not be read: values, not crashes.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Call = Callable[..., int]

IN_MODIFY, IN_ATTRIB, IN_CLOSE_WRITE = 0x2, 0x4, 0x8
IN_MOVED_FROM, IN_MOVED_TO, IN_CREATE, IN_DELETE = 0x40, 0x80, 0x100, 0x200
IN_DELETE_SELF, IN_MOVE_SELF = 0x400, 0x800
IN_UNMOUNT, IN_Q_OVERFLOW, IN_IGNORED = 0x2000, 0x4000, 0x8000
IN_ONLYDIR, IN_DONT_FOLLOW, IN_MASK_ADD, IN_ISDIR = 0x1000000, 0x2000000, 0x20000000, 0x40000000

NAMES = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF
"""Who comes and goes, and who may be read: all that is asked about a folder that only leads to another."""

CONTENTS = NAMES | IN_CLOSE_WRITE | IN_MODIFY
"""Files written in place too, also by a program that never closes them."""

_GONE = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED
_DONE = IN_CLOSE_WRITE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE | IN_ATTRIB
_USED_UP = (errno.ENOSPC, errno.ENOMEM)

EVENT = struct.Struct("iIII")
"""Watch, mask, cookie, length of the name that follows."""

AT_ONCE = 256 * 1024
MOST_READS = 16
"""Reads of one call: in a storm the caller gets its turn, and the rest is still there afterwards."""


def is_available() -> bool:
    """Does this system have inotify at all?"""
    return _find_calls() is not None


class Changes:
    """What happened since the last read."""

    __slots__ = ("_masks", "has_more", "lost", "overflowed")

    def __init__(self) -> None:
        self.has_more = False
        """Was there too much for one read?"""
        self._masks: dict[tuple[str, str, bool], int] = {}
        self.lost: set[str] = set()
        """Folders that are not at their place any more. They are not watched either."""
        self.overflowed = False
        """The kernel's queue was full: anything may have happened."""

    def note(self, folder: str, name: str, mask: int) -> None:
        key = (folder, name, bool(mask & IN_ISDIR))
        self._masks[key] = self._masks.get(key, 0) | mask

    @property
    def paths(self) -> list[tuple[str, str, bool]]:
        """Folder, name in it, and whether that is a folder itself; each once, in the order of first mention."""
        return list(self._masks)

    @property
    def unclosed(self) -> set[tuple[str, str]]:
        """Files that a program made or wrote to and, as far as we have heard, is still at: more news will follow."""
        return {(folder, name) for (folder, name, _), mask in self._masks.items() if not mask & _DONE}


class Inotify:
    """Some watched folders. Raises OSError where the system has no inotify, or no more of them for this user."""

    def __init__(self) -> None:
        calls = _find_calls()
        if calls is None:
            raise OSError(errno.ENOSYS, "this system has no inotify")
        start, self._add, self._remove = calls
        self.fd = start(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd < 0:
            raise OSError(-self.fd, os.strerror(-self.fd))
        self.is_exhausted = False
        """Was a folder refused because the user's watches are used up? Set it back before trying again."""
        self._watches: dict[str, int] = {}
        self._folders: dict[int, set[str]] = {}
        """By watch. A folder with two names, one through a link, has one watch."""

    def add(self, folder: str, *, names_only: bool = False, follow: bool = False) -> bool:
        """
        Watch what lies at this path now; False if it cannot be watched. Adding it again finds out if it is another.

        A link is not a folder unless it may be followed.
        """
        if self.fd < 0:
            return False
        mask = (NAMES if names_only else CONTENTS) | IN_ONLYDIR | IN_MASK_ADD
        watch = self._system_add(folder, mask if follow else mask | IN_DONT_FOLLOW)
        if watch < 0:
            self.is_exhausted = self.is_exhausted or -watch in _USED_UP
            self.drop(folder)
            return False
        if self._watches.get(folder) != watch:
            self.drop(folder)
            self._watches[folder] = watch
            self._folders.setdefault(watch, set()).add(folder)
        return True

    def _system_add(self, folder: str, mask: int) -> int:
        """The watch, or minus the number of the error."""
        if "\0" in folder:  # C would take what stands before it
            return -errno.ENOENT
        return self._add(self.fd, os.fsencode(folder), mask)

    def watch_of(self, folder: str) -> int | None:
        """A number that is another one when another folder lies at this path."""
        return self._watches.get(folder)

    def drop(self, folder: str) -> None:
        """Watch it no longer, if it was."""
        watch = self._watches.pop(folder, None)
        if watch is None:
            return
        names = self._folders[watch]
        names.discard(folder)
        if not names:
            del self._folders[watch]
            self._remove(self.fd, watch)  # may be gone by itself already

    def read(self) -> Changes:
        """Everything that has been reported by now. Never waits."""
        changes = Changes()
        for _ in range(MOST_READS):
            data = self._take()
            if not data:
                break
            self.digest(data, changes)
        else:
            changes.has_more = True
        return changes

    def _take(self) -> bytes:
        if self.fd < 0:
            return b""
        try:
            return os.read(self.fd, AT_ONCE)
        except BlockingIOError:
            return b""

    def digest(self, data: bytes, changes: Changes) -> None:
        """Enter what some events, as the kernel hands them out, say."""
        at = 0
        while at + EVENT.size <= len(data):
            watch, mask, _, length = EVENT.unpack_from(data, at)
            at += EVENT.size
            name = data[at : at + length].partition(b"\0")[0]
            at += length
            self._note(watch, mask, os.fsdecode(name), changes)

    def _note(self, watch: int, mask: int, name: str, changes: Changes) -> None:
        if mask & IN_Q_OVERFLOW:
            changes.overflowed = True
            return
        folders = self._folders.get(watch, set())  # empty for one that was given up while its news was under way
        if mask & _GONE:
            changes.lost |= folders
            for folder in [*folders]:
                self.drop(folder)
        elif name:
            for folder in folders:
                changes.note(folder, name, mask)

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        self._watches, self._folders = {}, {}
        if fd >= 0:
            os.close(fd)


def ways_to(paths: list[str]) -> dict[str, set[str]]:
    """
    Which names in which folders decide where these paths lead.

    The last step of each, every link on the way, and the first step that does not exist: when one of them comes,
    goes or leads elsewhere, the path means another folder. The folders end in a slash: as a path's way they are
    watched apart from what they may be besides.
    """
    found: dict[str, set[str]] = {}
    for way in {way for path in paths for way in (os.path.abspath(path), os.path.realpath(path))}:
        parent, steps = "", way.strip("/").split("/")
        for name in steps:
            here = f"{parent}/{name}"
            is_link = _is_link(here)
            if is_link is not False or here == way:
                found.setdefault(f"{parent}/", set()).add(name)
            if is_link is None:
                break
            parent = here
    return found


def _is_link(path: str) -> bool | None:
    """None if nothing is there."""
    try:
        return stat.S_ISLNK(os.lstat(path).st_mode)
    except OSError:
        return None


def _find_calls() -> tuple[Call, Call, Call] | None:
    """`inotify_init1`, `inotify_add_watch`, `inotify_rm_watch`: each gives a number, or minus that of the error."""
    if sys.platform != "linux":
        return None
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    names = ("inotify_init1", "inotify_add_watch", "inotify_rm_watch")
    found = [getattr(library, name, None) for name in names]
    if None in found:
        return None

    def told(call: Any, *kinds: Any) -> Call:
        call.argtypes, call.restype = kinds, ctypes.c_int
        return lambda *given: answer if (answer := call(*given)) >= 0 else -ctypes.get_errno()

    start, add, remove = found
    return (
        told(start, ctypes.c_int),
        told(add, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32),
        told(remove, ctypes.c_int, ctypes.c_int),
    )
