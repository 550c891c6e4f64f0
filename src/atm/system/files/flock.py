"""
A lock on a file of ours that dies with its process: `flock`, or `msvcrt.locking` on Windows.

Never used on a path that Claude Code locks: a regular file there would wedge it for ever (D1).
"""

from __future__ import annotations

import errno
import os

_WINDOWS_LOCK_PLACE = 1 << 30
"""Windows locks ranges and keeps others from reading them; this one is far behind anything we write."""


def try_lock(fd: int) -> bool:
    """Take the lock without waiting."""
    try:
        import fcntl
    except ImportError:
        return _try_lock_windows(fd)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def _try_lock_windows(fd: int) -> bool:
    import msvcrt

    os.lseek(fd, _WINDOWS_LOCK_PLACE, os.SEEK_SET)
    try:
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]
    except OSError:
        return False
    finally:
        os.lseek(fd, 0, os.SEEK_SET)
    return True
