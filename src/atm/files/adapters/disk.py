"""
The real disk: thin calls into the operating system, one for each step of `files.ports.disk.Disk`.

Its lock is one on a file of ours that dies with its process: `flock`, or `msvcrt.locking` on Windows. Never used on a
path that Claude Code locks: a regular file there would wedge it for ever (D1).
"""

from __future__ import annotations

import errno
import os
import stat

from atm.files.formats.file_stamp import FileStamp

_CHUNK = 1 << 20
_KIND = 0o170000
_BINARY = getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)

PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
"""What is ours alone. Such a mode has nothing that a usual umask takes away."""
SHARED_FOLDER, SHARED_FILE = 0o755, 0o644
"""What others work with too, with the umask applied: as Claude Code makes it, and no wider where the umask is 0."""


class RealDisk:
    """The operating system's files. `roots` are folders of ours, which stay closed to others."""

    __slots__ = ("_roots", "may_stay_open")

    def __init__(self, roots: tuple[str, ...] = ()) -> None:
        self._roots = roots
        self.may_stay_open = os.name != "nt"

    def look(self, path: str) -> FileStamp | None:
        try:
            return _stamp(os.lstat(path))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def look_open(self, fd: int) -> FileStamp:
        return _stamp(os.fstat(fd))

    def real_path(self, path: str) -> str:
        return os.path.realpath(path).replace(os.sep, "/")

    def names(self, folder: str) -> list[str]:
        try:
            return os.listdir(folder)
        except (FileNotFoundError, NotADirectoryError):
            return []

    def versions(self, folder: str) -> dict[str, tuple[int, int, int]]:
        found: dict[str, tuple[int, int, int]] = {}
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    try:
                        seen = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue  # it went while we looked; the others are there all the same
                    kind = seen.st_mode & _KIND  # looked at ten thousand times: a call for each would be felt
                    if kind == stat.S_IFREG:
                        found[entry.name] = (seen.st_ino, seen.st_size, seen.st_mtime_ns)
                    elif kind == stat.S_IFDIR:
                        found[entry.name] = (seen.st_ino, -1, seen.st_mtime_ns)
        except (FileNotFoundError, NotADirectoryError):
            return found
        return found

    def open_read(self, path: str) -> int:
        """Only what holds bytes: a pipe that another program put at the place of a file would have us wait for ever."""
        fd = os.open(path, os.O_RDONLY | _BINARY | getattr(os, "O_NONBLOCK", 0))
        mode = os.fstat(fd).st_mode
        if stat.S_ISREG(mode):
            return fd
        os.close(fd)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        raise OSError(errno.EINVAL, "it is not a file", path)

    def is_written(self, fd: int) -> bool:
        return _has_writer(fd)

    def create(self, path: str, like: FileStamp | None = None, mode: int = PRIVATE_FILE) -> int:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BINARY, like.mode if like else mode)
        if like is not None:
            _take_after(fd, path, like)
        return fd

    def open_append(self, path: str, mode: int = PRIVATE_FILE) -> int:
        # A link at this place could have us append to any file of the user.
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY | _NO_LINK, mode)

    def read_at(self, fd: int, start: int, size: int) -> bytes:
        os.lseek(fd, start, os.SEEK_SET)
        data = os.read(fd, size)
        if len(data) == size or not data:
            return data
        parts = [data]
        while (missing := size - sum(map(len, parts))) and (more := os.read(fd, missing)):
            parts.append(more)
        return b"".join(parts)

    def write(self, fd: int, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]

    def copy(self, source: int, target: int, size: int) -> None:
        done = _copy_in_kernel(source, target, size)
        while done < size:
            data = self.read_at(source, done, min(_CHUNK, size - done))
            if not data:
                raise EOFError("the file shrank while it was copied")
            self.write(target, data)
            done += len(data)

    def sync(self, fd: int) -> None:
        os.fsync(fd)

    def close(self, fd: int) -> None:
        os.close(fd)

    def exchange(self, one: str, other: str) -> bool:
        from atm.files.adapters.exchange import swap  # a hook that finds no mail writes nothing

        return swap(one, other)

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def link(self, source: str, target: str) -> None:
        os.link(source, target)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def make_folder(self, path: str, *, private: bool = False) -> None:
        os.mkdir(path, PRIVATE_FOLDER if private else SHARED_FOLDER)

    def make_folders(self, path: str, *, private: bool = False) -> None:
        if private:
            make_private(path, self._roots)
        else:
            make_shared(path)

    def remove_folder(self, path: str) -> None:
        os.rmdir(path)

    def touch(self, path: str) -> None:
        os.utime(path)

    def chmod(self, path: str, mode: int) -> None:
        os.chmod(path, mode)

    def sync_folder(self, path: str) -> None:
        sync_folder(path)

    def lock(self, path: str) -> int | None:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | _BINARY, PRIVATE_FILE)
        if try_lock(fd):
            return fd
        os.close(fd)
        return None

    def replace_body(self, fd: int, data: bytes) -> None:
        # Blanks instead of truncating: JSON does not mind them, and ext4 takes 0.3 ms to give a block back.
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(fd, data.ljust(os.fstat(fd).st_size))


def make_private(path: str, roots: tuple[str, ...] = ()) -> None:
    """
    A folder for us alone, and its missing parents too, whatever the umask. What is there already stays as it is, but
    if it lies below one of `roots`, that one is closed to others: then they see nothing of what is in it.

    Raises OSError, also if another user made one of its parents in a place where everybody may (like /tmp).
    """
    if os.name == "nt":
        _make(path, PRIVATE_FOLDER)
        return
    _refuse_strangers(os.path.abspath(path))  # before, so that nothing is made there; and after, what came meanwhile
    _make(path, PRIVATE_FOLDER)
    _refuse_strangers(os.path.abspath(path))
    for root in roots:
        if path == root or path.startswith(f"{root}/"):
            _close_to_others(root)


def make_shared(path: str) -> None:
    """A folder that others work with too, and its missing parents."""
    _make(path, SHARED_FOLDER)


def open_private(path: str, flags: int) -> int:
    """An `opener` for files of ours. A link at this place could have us write to any file of the user."""
    return os.open(path, flags | _NO_LINK, PRIVATE_FILE)


def open_shared(path: str, flags: int) -> int:
    """An `opener` for files that other programs read: no other user may write them, also where the umask is 0."""
    return os.open(path, flags, SHARED_FILE)


def _make(path: str, mode: int) -> None:
    """What os.makedirs does, which gives its mode to the last folder alone and leaves the parents to the umask."""
    parent = os.path.dirname(path)
    if parent and not os.path.exists(parent):
        try:
            _make(parent, mode)
        except FileExistsError:
            pass  # a link to nowhere; the next step says so
    try:
        os.mkdir(path, mode)
    except OSError:  # which one, if it is there already, differs: a read-only disk says that first
        if not os.path.isdir(path):
            raise


def _refuse_strangers(path: str) -> None:
    """In /tmp every user can make the folder that we are about to use: it stays theirs, with all that we put in it."""
    us, parent = os.geteuid(), os.path.dirname(path)
    while parent != path:
        try:
            is_strange = os.lstat(path).st_uid not in (us, 0) and os.stat(parent).st_mode & stat.S_ISVTX
        except (FileNotFoundError, NotADirectoryError):
            is_strange = False  # not made yet
        if is_strange:
            raise PermissionError(errno.EPERM, "another user made this folder, so nothing of yours goes there", path)
        path, parent = parent, os.path.dirname(parent)


def _close_to_others(root: str) -> None:
    """Former versions left the mode of this folder to the umask. A link, or what is another user's, is left alone."""
    found = os.lstat(root)
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and found.st_mode & 0o077:
        try:
            os.chmod(root, PRIVATE_FOLDER)
        except OSError:
            pass  # a file system without modes; `atm doctor` says so


def _stamp(found: os.stat_result) -> FileStamp:
    mode = found.st_mode
    if stat.S_ISREG(mode):
        kind = "file"
    else:
        kind = "folder" if stat.S_ISDIR(mode) else "link" if stat.S_ISLNK(mode) else "other"
    return FileStamp(
        dev=found.st_dev,
        ino=found.st_ino,
        size=found.st_size,
        mtime_ns=found.st_mtime_ns,
        mode=stat.S_IMODE(mode),
        kind=kind,
        uid=found.st_uid,
        gid=found.st_gid,
    )


def _take_after(fd: int, path: str, like: FileStamp) -> None:
    """Give a new file the mode and owner of the one it will replace: its other writers must keep their access."""
    if os.name == "nt":
        return
    made = os.fstat(fd)
    if (made.st_uid, made.st_gid) != (like.uid, like.gid):
        try:
            os.fchown(fd, like.uid, like.gid)
        except PermissionError:
            pass  # only root may give files away; without that the replaced file was not ours to begin with
    if stat.S_IMODE(made.st_mode) != like.mode:
        os.chmod(path, like.mode)


def _copy_in_kernel(source: int, target: int, size: int) -> int:
    """As much as the kernel copies by itself; 0 where it cannot (macOS, Windows, some file systems)."""
    copy_file_range = getattr(os, "copy_file_range", None)
    if copy_file_range is None:
        return 0
    done = 0
    while done < size:
        try:
            count = copy_file_range(source, target, size - done, done)
        except OSError:
            return done  # EXDEV, EINVAL, ENOSYS: the caller copies the rest itself and meets real errors there
        if not count:
            return done
        done += count
    return done


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


def _has_writer(fd: int) -> bool:
    """
    Linux grants the owner of a file a lease on reading it unless somebody has it open for writing, also one whose
    `open` has not returned yet. Whoever opens it now waits until the lease is given back, which is at once; the signal
    that tells us of him is one that does nothing.
    """
    try:
        import _signal  # type: ignore[import-not-found]  # `signal` builds enumerations for a millisecond
        import fcntl

        fcntl.fcntl(fd, fcntl.F_SETSIG, _signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except (ImportError, AttributeError):
        return False
    except OSError as error:
        return error.errno == errno.EAGAIN
    return False


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
