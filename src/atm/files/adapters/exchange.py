"""
Swapping two files in one step: `renameat2(RENAME_EXCHANGE)` on Linux, `renamex_np(RENAME_SWAP)` on macOS.

Elsewhere, and on file systems that refuse it, `swap` answers False and the caller compares, then replaces.
"""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Swap = Callable[[bytes, bytes], int]

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_RENAME_SWAP = 2
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)

_system_swap: Swap | None = None


def swap(one: str, other: str) -> bool:
    """Exchange two existing files. False where this system or file system cannot."""
    global _system_swap  # noqa: PLW0603 - looking for it costs milliseconds: once, and only when it is needed
    if _system_swap is None:
        _system_swap = (_quick_swap() if sys.platform == "linux" else None) or _telling_swap()
    failure = _system_swap(os.fsencode(one), os.fsencode(other))
    if failure in _UNSUPPORTED:
        return False
    if failure:
        raise OSError(failure, os.strerror(failure), one, None, other)
    return True


def _quick_swap() -> Swap | None:
    """
    Without the package `ctypes`, whose import takes a tenth of the time of `atm send`: only its C part.

    That part does not say why a call failed. A swap that failed has not happened, so it is tried once more in the way
    that does.
    """
    try:
        from _ctypes import call_function, dlopen, dlsym

        renameat2 = dlsym(dlopen(None, 0), "renameat2")  # type: ignore[arg-type] # None is this very program
    except (ImportError, OSError):  # another Python, or another C library
        return None

    def swap(one: bytes, other: bytes) -> int:
        failed = call_function(renameat2, (_AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE))
        return _telling_swap()(one, other) if failed else 0

    return swap


def _telling_swap() -> Swap:
    if sys.platform == "win32":
        return _cannot
    try:
        import ctypes
    except ImportError:  # a Python that was built without it
        return _cannot
    library = ctypes.CDLL(None, use_errno=True)
    if sys.platform == "darwin":
        renamex_np = getattr(library, "renamex_np", None)
        if renamex_np is None:
            return _cannot
        return lambda one, other: ctypes.get_errno() if renamex_np(one, other, _RENAME_SWAP) else 0
    renameat2 = getattr(library, "renameat2", None)
    if renameat2 is None:
        return _cannot
    return lambda one, other: ctypes.get_errno() if renameat2(_AT_FDCWD, one, _AT_FDCWD, other, _RENAME_EXCHANGE) else 0


def _cannot(one: bytes, other: bytes) -> int:  # noqa: ARG001 - the signature of a swap
    return errno.ENOSYS
