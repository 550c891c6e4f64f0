"""Making a rename durable: fsync of the folder, where folders can be opened."""

from __future__ import annotations

import errno
import os

_UNSUPPORTED = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)


def sync_folder(path: str) -> None:
    """After this, a rename in the folder survives a power cut. Windows has no such call and needs none."""
    if os.name == "nt":
        return
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _UNSUPPORTED:  # some network file systems sync folders by themselves
            raise
    finally:
        os.close(fd)
