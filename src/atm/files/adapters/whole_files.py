"""Reading a file, at once or as far as needed, and writing files that nobody else writes: whole or not there."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.files.adapters.locking import Locks
    from atm.files.formats.file_stamp import FileStamp
    from atm.files.ports.disk import Disk

MOST_WRITERS = 1000


def read_whole(disk: Disk, path: str) -> bytes:
    fd = disk.open_read(path)
    try:
        return disk.read_at(fd, 0, disk.look_open(fd).size)
    finally:
        disk.close(fd)


class Version:
    """One version of the file: open, stamped, and read as far as the caller asked."""

    __slots__ = ("_data", "_disk", "_fd", "settled", "size", "stamp")

    def __init__(self, disk: Disk, fd: int, content: bytes | None = None) -> None:
        self._disk = disk
        self._fd = fd
        self.stamp: FileStamp = disk.look_open(fd)
        self.size = self.stamp.size
        self._data = content
        self.settled = True
        """Was it old enough when we opened it for its stamp to show every later change?"""
        if not disk.may_stay_open:
            self.read()
            disk.close(fd)

    def head(self, size: int) -> bytes:
        return self._data[:size] if self._data is not None else self._disk.read_at(self._fd, 0, size)

    def tail(self, size: int) -> bytes:
        if self._data is not None:
            return self._data[-size:]
        return self._disk.read_at(self._fd, max(0, self.size - size), size)

    def read(self) -> bytes:
        if self._data is None:
            self._data = self._disk.read_at(self._fd, 0, self.size)
        return self._data

    def is_stamped_like(self, path: str) -> bool:
        found = self._disk.look(path)
        return found is not None and found.content == self.stamp.content

    def lies_at(self, path: str) -> bool:
        """Has nobody touched it? By stamp where that proves it, else by content."""
        return self.is_stamped_like(path) and (self.settled or read_whole(self._disk, path) == self.read())

    def copy_start(self, target: int, size: int) -> None:
        """The first `size` bytes into another open file; in the kernel where that is possible."""
        if self._disk.may_stay_open:
            self._disk.copy(self._fd, target, size)
        else:
            self._disk.write(target, self.read()[:size])

    def close(self) -> None:
        if self._disk.may_stay_open:
            self._disk.close(self._fd)


def write_new(disk: Disk, path: str, data: bytes, mode: int = 0o600, *, sync_name: bool = True) -> None:
    """
    A durable new file of ours: whole or not there. FileExistsError if the path is taken.

    Without `sync_name` the caller makes the names of many files durable at once, with the folder.
    """
    folder, _, name = path.rpartition("/")
    temporary, fd = _first_free(disk, f"{folder}/.{name}.new", mode)
    fill_and_link(disk, temporary, fd, data, path)
    if sync_name:
        disk.sync_folder(folder)


def fill_and_link(disk: Disk, temporary: str, fd: int, data: bytes, path: str) -> None:
    """Make an open temporary file whole and durable, give it its name, and take the temporary one away."""
    try:
        try:
            disk.write(fd, data)
            disk.sync(fd)
        finally:
            disk.close(fd)
        disk.link(temporary, path)
    finally:
        disk.remove(temporary)


def _first_free(disk: Disk, stem: str, mode: int) -> tuple[str, int]:
    """A temporary file that nobody else is writing: several processes may be at the same path."""
    for number in range(MOST_WRITERS):
        try:
            return f"{stem}-{number}", disk.create(f"{stem}-{number}", mode=mode)
        except FileExistsError:
            continue
    raise FileExistsError(17, "too many temporary files", stem)


def temporary_of(path: str) -> str:
    """Where `write_over` makes the new version."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/.{name}.new"


def write_over(disk: Disk, path: str, data: bytes, mode: int = 0o600, *, durable: bool = True) -> None:
    """Replace a file that only we write, under a lock of ours. Caches and heartbeats need not be `durable`."""
    folder = path.rpartition("/")[0]
    temporary = temporary_of(path)
    if disk.look(temporary) is not None:
        disk.remove(temporary)
    fd = disk.create(temporary, mode=mode)
    try:
        disk.write(fd, data)
        if durable:
            disk.sync(fd)
    except BaseException:  # Ctrl-C too: half a file must not stay
        disk.close(fd)
        disk.remove(temporary)
        raise
    disk.close(fd)
    disk.rename(temporary, path)
    if durable:
        disk.sync_folder(folder)


def numbered(path: str, number: int) -> str:
    """`log.jsonl`, `log.jsonl.1` and so on, the newest first."""
    return f"{path}.{number}" if number else path


def change_settings(locks: Locks, path: str, change: Callable[[str], str], *, private: bool) -> None:
    """
    Change the text of a settings file, which may not exist yet: one writer at a time, the file a link leads to, its
    mode kept, never torn. Those of a repository are not private.
    """
    from atm.files.adapters.disk import PRIVATE_FILE, SHARED_FILE
    from atm.files.adapters.refusals import explained

    disk = locks.disk
    with explained(path):
        real = disk.real_path(path)
        disk.make_folders(real.rpartition("/")[0], private=private)
        with locks.private(real):
            found = disk.look(real)
            text = read_whole(disk, real).decode("utf-8") if found is not None else ""
            new = PRIVATE_FILE if private else SHARED_FILE
            write_over(disk, real, change(text).encode("utf-8"), mode=found.mode if found is not None else new)
