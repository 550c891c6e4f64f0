"""
The daemon's seat: one for each home, held by a lock that dies with its process.

`lock` is the truth; `pid.json` beside it says who holds it. The number in it counts only together with the time at
which that process began: numbers are used again. The socket lies beside them, or under the system's folder for
temporary files where the path would be longer than a socket's address can be.
"""

from __future__ import annotations

import os
import stat
import tempfile

from atm.core.errors import WriteRefused
from atm.files.adapters.disk import PRIVATE_FOLDER, make_private, open_private, try_lock
from atm.files.adapters.processes import began, command_of
from atm.files.adapters.refusals import explained
from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text
from atm.files.formats.layout import mark_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.files.formats.layout import Layout

LONGEST_ADDRESS = 100
"""Bytes. Linux allows 107, macOS 103."""


class RunningDaemon:
    """The daemon that sits there."""

    __slots__ = ("began", "pid", "since", "socket", "version")

    def __init__(self, *, pid: int, began: str, since: str, socket: str, version: str) -> None:
        self.pid = pid
        self.began = began
        self.since = since
        self.socket = socket
        self.version = version

    @property
    def is_alive(self) -> bool:
        return bool(self.began) and began(self.pid) == self.began


class Seat:
    """Ours until we leave or die."""

    def __init__(self, layout: Layout, fd: int, socket: str) -> None:
        self._layout = layout
        self._fd = fd
        self._said = b""
        self.socket = socket

    def announce(self, version: str, since: str) -> None:
        """Say who sits here, once the socket listens."""
        me = os.getpid()
        facts = {"pid": me, "began": began(me), "since": since, "socket": self.socket, "version": version}
        self._said = to_bytes(encode(facts) + "\n")
        self._announce()

    def _announce(self) -> None:
        path = f"{self._layout.daemon}/pid.json"
        with open(f"{path}.new", "wb", opener=open_private) as file:
            file.write(self._said)
        os.replace(f"{path}.new", path)

    def keep_announced(self) -> str:
        """Say it again if the note is gone, or nobody would find us and nobody else could sit here. Its path, if so."""
        path = f"{self._layout.daemon}/pid.json"
        if not self._said or os.path.lexists(path):
            return ""
        self._announce()
        return path

    def is_ours(self) -> bool:
        """Is the lock that we hold still the one that others would find? Its folder may have been removed."""
        try:
            found = os.stat(f"{self._layout.daemon}/lock")
        except OSError:
            return False
        mine = os.fstat(self._fd)
        return (found.st_dev, found.st_ino) == (mine.st_dev, mine.st_ino)

    def say_left(self, left: list[str]) -> None:
        """For whoever stops us."""
        try:
            with open(f"{self._layout.daemon}/left.json", "wb", opener=open_private) as file:
                file.write(to_bytes(encode(left) + "\n"))
        except OSError:
            return  # it is in the log

    def leave(self) -> None:
        if not self.is_ours():  # what lies there now is another daemon's
            os.close(self._fd)
            return
        for path in (f"{self._layout.daemon}/pid.json", self.socket):
            try:
                os.unlink(path)
            except OSError:
                continue
        folder = os.path.dirname(self.socket)
        if folder != self._layout.daemon:
            try:
                for name in os.listdir(folder):  # a daemon that was killed left the socket of its MCP server too
                    os.unlink(f"{folder}/{name}")
                os.rmdir(folder)
            except OSError:
                pass  # another program's folder lies in it
        os.close(self._fd)


def take_seat(layout: Layout) -> Seat | RunningDaemon | None:
    """The seat; or who sits there; or None if a daemon does that has not said yet who it is."""
    folder = layout.daemon
    try:
        make_private(folder, layout.private_roots)
        os.chmod(folder, PRIVATE_FOLDER)
        fd = open_private(f"{folder}/lock", os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise WriteRefused(f"{folder}: {error.strerror}", "check permissions and free space", folder) from error
    if not try_lock(fd):
        os.close(fd)
        return find_running(layout)
    os.set_inheritable(fd, False)
    return Seat(layout, fd, _socket_path(layout))


def find_running(layout: Layout) -> RunningDaemon | None:
    """The daemon of this home, if one runs."""
    try:
        with open(f"{layout.daemon}/pid.json", "rb") as file:
            facts = decode_object(to_text(file.read(65_536)))
    except (OSError, NotJson):
        return None
    pid = facts.get("pid")
    if not isinstance(pid, int) or isinstance(pid, bool):
        return None
    texts = {name: str(facts.get(name) or "") for name in ("began", "since", "socket", "version")}
    found = RunningDaemon(pid=pid, **texts)
    return found if found.is_alive and not is_free(layout) else None


def holds_seat(layout: Layout, pid: int) -> bool:
    """
    Has that process the lock of the daemon open? Its number comes from a file, so this is proven before a signal.

    Where the system does not show the files of a process, its command line has to be that of a daemon.
    """
    try:
        lock = os.stat(f"{layout.daemon}/lock")
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return not os.path.isdir("/proc/self") and {"daemon", "run"} <= {*command_of(pid).split("\0")}
    return any(_is_open_as(f"/proc/{pid}/fd/{name}", lock) for name in names)


def _is_open_as(path: str, lock: os.stat_result) -> bool:
    try:
        found = os.stat(path)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (lock.st_dev, lock.st_ino)


def is_free(layout: Layout) -> bool:
    """Whoever is alive and does not hold the lock is not the daemon (any more)."""
    try:
        fd = os.open(f"{layout.daemon}/lock", os.O_RDWR)
    except OSError:
        return True
    try:
        return try_lock(fd)
    finally:
        os.close(fd)


def _socket_path(layout: Layout) -> str:
    path = f"{layout.daemon}/socket"
    if len(os.fsencode(path)) <= LONGEST_ADDRESS:
        return path
    who = getattr(os, "getuid", lambda: 0)()
    folder = f"{tempfile.gettempdir()}/atm-{who}-{mark_of(os.fsencode(layout.daemon))}"
    with explained(folder):
        make_private(folder)
        found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != who or stat.S_IMODE(found.st_mode) & 0o077:
        raise WriteRefused(f"{folder} belongs to somebody else", "remove it, or use a shorter ATM_HOME", folder)
    return f"{folder}/socket"
