"""What can be told of a file without opening it."""

from __future__ import annotations


class FileStamp:
    """What a file was when we looked: enough to see that another writer changed or replaced it."""

    __slots__ = ("dev", "gid", "ino", "kind", "mode", "mtime_ns", "size", "uid")

    def __init__(
        self,
        *,
        dev: int,
        ino: int,
        size: int,
        mtime_ns: int,
        mode: int,
        kind: str,
        uid: int = 0,
        gid: int = 0,
    ) -> None:
        self.dev = dev
        self.ino = ino
        self.size = size
        self.mtime_ns = mtime_ns
        self.mode = mode
        self.kind = kind
        """`file`, `folder`, `link` or `other`."""
        self.uid = uid
        self.gid = gid

    @property
    def signature(self) -> tuple[int, int, int]:
        """Which object it is, and when it was last changed. An inode alone is reused."""
        return (self.dev, self.ino, self.mtime_ns)

    @property
    def content(self) -> tuple[int, int, int, int]:
        """Changes when the content does, except for a change within one tick of the file system's clock."""
        return (self.dev, self.ino, self.size, self.mtime_ns)
