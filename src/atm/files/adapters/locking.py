"""
Locks on shared files (D1 to D3).

Two locks, always in this order. First a private `flock` under our own state folder: it serialises our own
processes and dies with them. Then, for files shared with Claude Code, an *empty directory* at
`<realpath>.lock`, exactly as Claude Code's own library makes it. Never a regular file there: after ten seconds
that would wedge Claude Code for ever.

The private lock's file says who holds it and which directory it made. So an orphan of ours, left by kill -9, is
recognised and removed at once by the next of us; anything foreign is broken only late and rarely. Between two holders
it remembers the version of the target that we left (`trusted`): while that lies there, no foreign writer was at it;
the foreign lock that somebody waited for in vain (`seen`); and rows of others that are watched (`carried`).
"""

from __future__ import annotations

from atm.core.errors import FileBusy, NoSuchTeam
from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text
from atm.files.formats.layout import mark_of
from atm.files.formats.times import to_iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.core.plain import Plain
    from atm.files.adapters.turns import Turns
    from atm.files.ports.clock import Chance, Clock
    from atm.files.ports.disk import Disk

PATIENCE = 5.0
"""Seconds that a writer waits before it spools (D3)."""

FIRST_NAP, LONGEST_NAP = 0.002, 0.05
OWN_QUEUE_NAP = 0.004
"""Our own processes hold the lock for a few milliseconds, so waiting for them naps less."""

REFRESH_AFTER = 2.0
"""Claude Code takes over a directory that was not touched for ten seconds."""

LIFETIME = 30


class LockLost(Exception):
    """Another process took our directory away while we worked: nothing may be committed, start again."""


class Locks:
    """Makes locks for targets; the one place that knows where private lock files lie."""

    __slots__ = ("chance", "clock", "disk", "folder", "host", "pid", "turns")

    def __init__(
        self,
        disk: Disk,
        clock: Clock,
        chance: Chance,
        folder: str,
        *,
        pid: int,
        host: str,
        turns: Turns | None = None,
    ) -> None:
        self.disk = disk
        self.clock = clock
        self.chance = chance
        self.folder = folder
        self.pid = pid
        self.host = host
        self.turns = turns

    def private(self, target: str, patience: float = PATIENCE) -> PrivateLock:
        return PrivateLock(self, target, patience)

    def shared(self, target: str, patience: float = PATIENCE) -> SharedLock:
        """For a file that others lock too. `target` must be a real path."""
        return SharedLock(self, target, patience)

    def file_for(self, target: str) -> str:
        """The private lock file of a target: readable at the end, unique by two checksums of the whole path."""
        name = target.rpartition("/")[2][:80]
        return f"{self.folder}/{mark_of(target.encode('utf-8', 'surrogateescape'))}-{name}"

    def is_alive(self, pid: int) -> bool:
        from atm.files.adapters.processes import process_is_alive  # who finds a lock free need not ask

        return process_is_alive(pid)

    def owner_of(self, path: str) -> str:
        """Of a lock file: `alive`, `dead`, or `unknown`, as an empty or torn one may have been made a moment ago."""
        pid = self.noted_pid(path)
        if not pid:
            return "unknown"
        return "alive" if self.is_alive(pid) else "dead"

    def noted_pid(self, path: str) -> int:
        """The process of this machine that a lock file names as its holder; 0 if it names none."""
        try:
            body = _body(_read_small(self.disk, path))
        except OSError:
            return 0
        pid = body.get("pid")
        return pid if isinstance(pid, int) and body.get("host", self.host) == self.host else 0

    def nap(self, length: float, longest: float) -> float:
        """Sleep a jittered moment; return how long the next one should be."""
        self.clock.sleep(length * (0.5 + self.chance.fraction() / 2))
        return min(length * 1.6, longest)


class PrivateLock:
    """Serialises our own processes on one target."""

    __slots__ = (
        "_fd",
        "_has_turn",
        "_noted",
        "body",
        "left_behind",
        "locks",
        "path",
        "patience",
        "seen",
        "target",
        "trusted",
    )

    def __init__(self, locks: Locks, target: str, patience: float) -> None:
        self.locks = locks
        self.target = target
        self.patience = patience
        self.path = locks.file_for(target)
        self.body: dict[str, Plain] = {}
        self.left_behind: dict[str, Plain] = {}
        """What the former holder wrote, if it did not end cleanly."""
        self.trusted: list[int] | None = None
        self.seen: Plain = None
        """A foreign lock on the target, [device, inode, time], and the monotonic time since when it is as it is."""
        self._noted = False
        self._has_turn = False
        self._fd: int | None = None

    def __enter__(self) -> PrivateLock:
        self.acquire(self.locks.clock.monotonic() + self.patience)
        try:
            self.note()
        except OSError:
            self.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def acquire(self, deadline: float) -> None:
        locks = self.locks
        try:
            self._fd = fd = self._wait(deadline)
            found = read_body(locks.disk, fd)
        except BaseException:  # Ctrl-C too
            self._let_go()
            raise
        self.left_behind = found if "pid" in found or "rewrite" in found else {}
        self.trusted = trusted_in(found)
        self.seen = found.get("seen")
        self.body = {
            "pid": locks.pid,
            "host": locks.host,
            "createdAt": to_iso(locks.clock.now()),
            "ttlSeconds": LIFETIME,
            "target": self.target,
        }
        if "rewrite" in self.left_behind:  # not finished yet: if we are killed too, the next one must still know
            self.body["rewrite"] = self.left_behind["rewrite"]
        if "carried" in found:  # rows of others that are watched; see `remains.carried_rows`
            self.body["carried"] = found["carried"]

    def _wait(self, deadline: float) -> int:
        locks, nap = self.locks, FIRST_NAP
        if locks.turns is not None:
            self._has_turn = locks.turns.take(self.path, deadline - locks.clock.monotonic())
            if not self._has_turn:
                raise self._is_busy()
        while (fd := self._try()) is None:
            if locks.clock.monotonic() >= deadline:
                raise self._is_busy()
            nap = locks.nap(nap, OWN_QUEUE_NAP)
        return fd

    def _is_busy(self) -> FileBusy:
        return FileBusy(f"another atm process holds {self.target}", "try again, or run `atm doctor`", self.target)

    def _let_go(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            self.locks.disk.close(fd)
        if self._has_turn and self.locks.turns is not None:
            self._has_turn = False
            self.locks.turns.give(self.path)

    def _try(self) -> int | None:
        try:
            return self.locks.disk.lock(self.path)
        except FileNotFoundError:
            self.locks.disk.make_folders(self.locks.folder, private=True)
            return self.locks.disk.lock(self.path)

    def note(self, **facts: Plain) -> None:
        """Write down what the next holder must know if we are killed now."""
        assert self._fd is not None
        self._noted = True
        self.body |= facts
        self.locks.disk.replace_body(self._fd, to_bytes(encode(self.body)))

    def release(self) -> None:
        fd = self._fd
        if fd is None:
            return
        # What a killed process wrote stays until a process that took the whole lock has cleared up after it.
        is_cleared = self._noted or not self.left_behind
        ours = {"rewrite": self.body.get("rewrite"), "trusted": self.trusted, "carried": self.body.get("carried")}
        said = {**(ours if is_cleared else self.left_behind), "seen": self.seen}
        said = {key: value for key, value in said.items() if value}
        if is_cleared or said != self.left_behind:
            try:
                self.locks.disk.replace_body(fd, to_bytes(encode(said)) if said else b"")
            except OSError:
                pass  # what was written is written; the next holder finds our note and looks closer
        self._let_go()


class SharedLock:
    """The private lock, then the directory that foreign writers respect."""

    __slots__ = ("_foreign", "_mine", "_refreshed", "folder", "locks", "private")

    def __init__(self, locks: Locks, target: str, patience: float) -> None:
        self.locks = locks
        self.private = PrivateLock(locks, target, patience)
        self.folder = target + ".lock"
        self._mine: tuple[int, int, int] | None = None
        self._refreshed = 0.0
        self._foreign: list[int] = []

    def __enter__(self) -> SharedLock:
        deadline = self.locks.clock.monotonic() + self.private.patience
        self.private.acquire(deadline)
        try:
            self._lock_like_older_tools(deadline)
            self._make_folder(deadline)
        except BaseException:  # Ctrl-C too: a lock that nobody holds must not stay
            self.release()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def _lock_like_older_tools(self, deadline: float) -> None:
        """Two older tools flock files of their own beside the inbox; where those lie, we take them as well."""
        disk, nap = self.locks.disk, FIRST_NAP
        for path in _older_lock_files(self.private.target):
            stamp = disk.look(path)
            if stamp is None or stamp.kind != "file":
                continue
            while (fd := disk.lock(path)) is None:
                if self.locks.clock.monotonic() >= deadline:
                    raise FileBusy(f"another program holds {path}", "see who holds it with `atm doctor`", path)
                nap = self.locks.nap(nap, LONGEST_NAP)
            self._foreign.append(fd)

    def _make_folder(self, deadline: float) -> None:
        self._remove_orphan()
        seen, self.private.seen = self.private.seen, None
        if self._try_folder():
            return
        from atm.files.adapters.remains.stale_locks import LockWatch  # a lock is seldom held by another program

        watch, nap = LockWatch(self.locks.disk, self.locks.clock, self.locks.owner_of, seen), FIRST_NAP
        while not self._try_folder():
            if watch.may_break(self.folder):
                break_lock(self.locks.disk, self.folder)
                if self._try_folder():
                    return
            if self.locks.clock.monotonic() >= deadline:
                self.private.seen = watch.seen
                raise FileBusy(
                    f"another program holds the lock {self.folder}",
                    "see who holds it with `atm doctor`",
                    self.folder,
                )
            nap = self.locks.nap(nap, LONGEST_NAP)

    def _try_folder(self) -> bool:
        disk = self.locks.disk
        try:
            disk.make_folder(self.folder)
        except FileExistsError:
            return False
        except (FileNotFoundError, NotADirectoryError):
            raise NoSuchTeam(
                f"the folder of {self.private.target} is gone",
                "the team may have ended; see `atm teams`",
                self.private.target,
            ) from None
        made = disk.look(self.folder)
        self._mine = made.signature if made else None
        self._refreshed = self.locks.clock.monotonic()
        self.private.note(lockDirectory=list(self._mine or ()))
        return True

    def _remove_orphan(self) -> None:
        """
        The former holder was killed: the directory is ours if it is exactly the one that holder noted.

        We hold the private lock, so no live process of ours can own it.
        """
        noted = self.private.left_behind.get("lockDirectory")
        if not noted:
            return
        found = self.locks.disk.look(self.folder)
        if found is not None and found.kind == "folder" and list(found.signature) == noted:
            break_lock(self.locks.disk, self.folder)

    def check(self) -> None:
        """Before every commit: is the lock still ours? Refreshes it during a long hold."""
        found = self.locks.disk.look(self.folder)
        if found is None or found.signature != self._mine:
            raise LockLost(self.folder)
        if self.locks.clock.monotonic() - self._refreshed > REFRESH_AFTER:
            self._refresh()

    def _refresh(self) -> None:
        disk = self.locks.disk
        disk.touch(self.folder)
        touched = disk.look(self.folder)
        self._mine = touched.signature if touched else None
        self._refreshed = self.locks.clock.monotonic()
        self.private.note(lockDirectory=list(self._mine or ()))

    def release(self) -> None:
        mine, self._mine = self._mine, None
        disk = self.locks.disk
        if mine is not None:
            try:
                found = disk.look(self.folder)
                # By signature, never by path alone: a lock that was broken and taken anew is a stranger's.
                if found is not None and found.signature == mine:
                    break_lock(disk, self.folder)
            except OSError:
                pass  # after the commit nothing may look like a failed write; the lock will be taken for an orphan
        for fd in self._foreign:
            disk.close(fd)
        self._foreign = []
        self.private.release()


def break_lock(disk: Disk, path: str) -> None:
    """Remove an empty lock directory or a lock file. One with something inside is left alone."""
    found = disk.look(path)
    if found is None:
        return
    try:
        if found.kind == "folder":
            disk.remove_folder(path)
        elif found.kind == "file":
            disk.remove(path)
    except OSError:
        return  # not empty, or another waiter was quicker: the next round looks again


def _older_lock_files(target: str) -> Sequence[str]:
    folder, _, name = target.rpartition("/")
    stem = name.removesuffix(".json")
    return (f"{folder}/.lock", f"{folder}/{stem}.lock") if folder.endswith("/inboxes") else ()


def _read_small(disk: Disk, path: str) -> bytes:
    fd = disk.open_read(path)
    try:
        return disk.read_at(fd, 0, 4096)
    finally:
        disk.close(fd)


def read_body(disk: Disk, fd: int) -> dict[str, Plain]:
    size = disk.look_open(fd).size
    return _body(disk.read_at(fd, 0, size)) if size else {}


def trusted_in(body: dict[str, Plain]) -> list[int] | None:
    """The version that we left, unless its writer was interrupted, or rows of others are watched in it."""
    trusted = body.get("trusted")
    if "pid" in body or "carried" in body or not isinstance(trusted, list):
        return None
    return [number for number in trusted if isinstance(number, int)]


def _body(data: bytes) -> dict[str, Plain]:
    try:
        return decode_object(to_text(data))
    except NotJson:
        return {}
