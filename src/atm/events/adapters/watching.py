"""
Waiting for files to change: inotify on Linux, elsewhere `watchfiles` if it is installed, and a slow look as the floor.

A watch says *that* something changed, never what: files shrink, are replaced and vanish. Whoever waits reads
again and tells rows apart by their ids (`mail.services.following`).
"""

from __future__ import annotations

import os
import select
import time

from atm.events.adapters.inotify import Inotify
from atm.files.adapters.machine import interruptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    class Watch(Protocol):
        """Waits for any of some files to change."""

        def __enter__(self) -> Watch: ...

        def __exit__(self, *_: object) -> None: ...

        def wait(self, seconds: float) -> bool:
            """True as soon as a file looks different from the last time, False after so many seconds."""
            ...


LOOK_EVERY = 0.1
"""Seconds between two looks without native events."""

FLOOR = 0.5
"""Seconds between two looks beside native events, which network file systems do not send."""


def watch(paths: list[str]) -> Watch:
    """The best watch that this machine has."""
    try:
        return InotifyWatch(paths)
    except OSError:  # another system, or all of this user's are used up
        pass
    try:
        import watchfiles  # noqa: F401 - an extra; its absence costs only latency
    except ImportError:
        return PollingWatch(paths)
    return NativeWatch(paths)


class PollingWatch:
    """Looks at the files' stamps."""

    def __init__(self, paths: list[str]) -> None:
        self._paths = paths
        self._seen = self._look()

    def __enter__(self) -> PollingWatch:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def wait(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not self.changed():
            left = end - time.monotonic()
            if left <= 0:
                return False
            with interruptions:
                self._pause(left)
        return True

    def _pause(self, left: float) -> None:
        time.sleep(min(LOOK_EVERY, left))

    def changed(self) -> bool:
        now = self._look()
        was, self._seen = self._seen, now
        return now != was

    def _look(self) -> list[object]:
        return [_stamp(path) for path in self._paths]


class InotifyWatch(PollingWatch):
    """Sleeps until Linux reports a change in one of the folders. Raises OSError where it cannot."""

    def __init__(self, paths: list[str]) -> None:
        super().__init__(paths)
        self._kernel = Inotify()
        self._folders = {*map(os.path.dirname, paths), *filter(os.path.isdir, paths)}
        self._heard = False
        """Was a file changed in place in a folder that is waited for? Its own stamp does not show that."""
        self._unwatched = self._add(self._folders)

    def __exit__(self, *_: object) -> None:
        self._kernel.close()

    def _add(self, folders: set[str]) -> set[str]:
        """Those that cannot be watched: not there yet, or more than this user may watch. They are looked at."""
        return {folder for folder in folders if not self._kernel.add(folder, follow=True)}

    def _pause(self, left: float) -> None:
        self._unwatched = self._add(self._unwatched)
        longest = LOOK_EVERY if self._unwatched else FLOOR
        wait_for(self._kernel.fd, min(longest, left))
        news = self._kernel.read()
        self._unwatched |= news.lost & self._folders
        self._heard = any(folder in self._paths for folder, _, _ in news.paths)

    def changed(self) -> bool:
        heard, self._heard = self._heard, False
        return super().changed() or heard


class NativeWatch(PollingWatch):
    """The same through `watchfiles`, for systems without inotify."""

    def __init__(self, paths: list[str]) -> None:
        super().__init__(paths)
        self._events: Iterator[object] | None = None
        folders = sorted({folder for path in paths if os.path.isdir(folder := os.path.dirname(path))})
        if folders:
            from watchfiles import watch as native

            # Its defaults merge events for up to 1.6 s; we want the first one.
            self._events = native(
                *folders,
                step=1,
                debounce=10,
                rust_timeout=int(FLOOR * 1000),
                yield_on_timeout=True,
                recursive=False,
                watch_filter=None,
                raise_interrupt=True,
            )

    def __exit__(self, *_: object) -> None:
        close = getattr(self._events, "close", None)
        if close is not None:
            close()

    def _pause(self, left: float) -> None:
        if self._events is None or left < FLOOR:
            super()._pause(left)
            return
        try:
            next(self._events, None)
        except OSError:  # the folder went before it was watched, or there are no watches left: then we look ourselves
            self._events = None


def wait_for(fd: int, seconds: float) -> None:
    """Until something can be read there. `poll`, because a server may have more files open than `select` can count."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    poll.poll(seconds * 1000)


def _stamp(path: str) -> object:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
