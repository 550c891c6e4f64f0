"""
What changed in a folder since one last asked, as the kernel has noted it: implements `files.ports.FolderNews`.

The kernel notes a change before the call that makes it returns, so whoever asks now hears of everything that was over
by now. It does not know what other machines do to a network file system: there nothing is ever known.
"""

from __future__ import annotations

import os
import threading

from atm.events.adapters.inotify import Inotify

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LOCAL = frozenset(
    ("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "ramfs", "reiserfs", "tmpfs", "xfs", "zfs")
)
"""File systems that nobody writes to behind our kernel's back."""

MOST_READS = 8
MOST_NAMES = 10_000
"""Of one folder that nobody asks about any more."""


class InotifyNews:
    """Some folders. Without inotify, or on other people's file systems, nothing is known of any."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._changed: dict[str, set[str]] = {}
        self._places: dict[str, tuple[int, int]] = {}
        self._local: dict[int, bool] = {}
        try:
            self._notifier: Inotify | None = Inotify()
        except OSError:
            self._notifier = None

    def changed(self, folder: str) -> set[str] | None:
        with self._turn:
            if self._notifier is None:
                return None
            self._collect(self._notifier)
            try:
                found = os.lstat(folder)
            except OSError:
                self._forget([folder])
                return None
            place = found.st_dev, found.st_ino
            if self._places.get(folder) == place:
                names, self._changed[folder] = self._changed[folder], set()
                return names
            self._forget([folder])
            if self._is_local(found.st_dev) and self._notifier.add(folder):
                self._places[folder], self._changed[folder] = place, set()
            return None

    def _collect(self, notifier: Inotify) -> None:
        for _ in range(MOST_READS):
            news = notifier.read()
            if news.overflowed:
                break
            self._forget(news.lost & self._places.keys())
            for folder, name, _ in news.paths:
                if folder in self._changed:
                    self._changed[folder].add(name)
            if not news.has_more:
                self._forget([folder for folder, names in self._changed.items() if len(names) > MOST_NAMES])
                return
        self._forget([*self._places])  # more than we can hear: look at everything

    def _forget(self, folders: Iterable[str]) -> None:
        for folder in folders:
            self._places.pop(folder, None)
            self._changed.pop(folder, None)
            if self._notifier is not None:
                self._notifier.drop(folder)

    def _is_local(self, device: int) -> bool:
        if device not in self._local:
            self._local[device] = _kind_of(device) in LOCAL
        return self._local[device]

    def close(self) -> None:
        with self._turn:
            if self._notifier is not None:
                self._notifier.close()
            self._notifier = None


def _kind_of(device: int) -> str:
    """Of which kind the file system on a device is; empty if nobody says."""
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as mounts:
            for line in mounts:
                fields = line.split()
                if fields[2] == number and "-" in fields:
                    return fields[fields.index("-") + 1]
    except OSError:
        return ""
    return ""
