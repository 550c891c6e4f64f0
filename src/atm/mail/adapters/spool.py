"""
The spool: messages that could not be written to an inbox yet, one file of ours each (D8).

`pending/<name>.json` waits; `pending/<name>.json.trying` is being delivered by a process that holds the spool's
lock, or was when that process died. After ten tries a file moves to `failed/`, where it stays until the user
retries or drops it.
"""

from __future__ import annotations

from atm.core.errors import FileBusy, WriteRefused
from atm.files.adapters.refusals import explained, refused, untold
from atm.files.adapters.whole_files import read_whole, write_new, write_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.files.adapters.locking import Locks, PrivateLock
    from atm.files.formats.layout import Layout
    from atm.files.ports.clock import Clock
    from atm.files.ports.disk import Disk
    from atm.mail.formats.spool_entry import Spooled, SpoolEntry

TRYING = ".trying"


class SpoolFolder:
    """Implements `mail.ports.stores.Spool`."""

    __slots__ = ("_clock", "_disk", "_failed", "_last_name", "_locks", "_pending", "_tell")

    def __init__(
        self, disk: Disk, clock: Clock, locks: Locks, layout: Layout, tell: Callable[[str], None] = untold
    ) -> None:
        self._tell = tell
        self._disk = disk
        self._clock = clock
        self._locks = locks
        self._pending = layout.spool_pending
        self._failed = layout.spool_failed
        self._last_name = 0

    def put(self, entry: SpoolEntry) -> str:
        from atm.mail.formats.spool_entry import highest_for

        path = self._pending
        try:
            self._disk.make_folders(self._pending, private=True)
            # Names must rise even if the clock is set back: they are the order in which messages are delivered.
            waiting = highest_for(f"{entry.agent}@{entry.team}", self._disk.names(self._pending))
            self._last_name = max(int(self._clock.now() * 1e9), self._last_name + 1, waiting + 1)
            path = f"{self._pending}/{entry.file_name(self._last_name)}"
            write_new(self._disk, path, entry.encoded())
        except OSError as error:
            raise WriteRefused(
                f"not sent: neither the inbox nor the spool can be written ({path}: {error.strerror or error})",
                "check permissions and free space, then send it again",
                path,
            ) from error
        return path

    def is_empty(self) -> bool:
        """Also if nobody can look: what is sent now must not wait until that is mended."""
        try:
            return not self._disk.names(self._pending)
        except OSError as error:
            why = "mail that waits in the spool is not delivered, because nobody can look there"
            self._tell(f"{why}: {refused(self._pending, error)}")
            return True

    def unreadable(self) -> list[str]:
        found = []
        for folder in (self._pending, self._failed):
            known = {spooled.path for spooled in self._listed(folder, None)}
            with explained(folder):
                paths = [f"{folder}/{name}" for name in sorted(self._disk.names(folder)) if not name.startswith(".")]
            found += [path for path in paths if path not in known]
        return found

    def pending(self, team: str | None = None, agent: str | None = None) -> list[Spooled]:
        return self._listed(self._pending, f"{agent}@{team}" if team and agent else None)

    def failed(self) -> list[Spooled]:
        return self._listed(self._failed, None)

    def _listed(self, folder: str, target: str | None) -> list[Spooled]:
        found = []
        with explained(folder):
            names = sorted(self._disk.names(folder))
        if not names:
            return []  # as nearly always: what reads an entry need not be loaded
        from atm.mail.formats.spool_entry import Spooled, decode_entry, target_in_name

        for name in names:
            if name.startswith(".") or (target is not None and target_in_name(name) != target):
                continue
            path = f"{folder}/{name}"
            try:
                entry = decode_entry(read_whole(self._disk, path))
            except OSError:
                continue  # delivered by another process a moment ago
            if entry is not None:
                found.append(Spooled(name.removesuffix(TRYING), path, entry, name.endswith(TRYING)))
        return found

    def begin(self, spooled: Spooled) -> None:
        if not spooled.was_tried:
            with explained(spooled.path):
                self._move(spooled, f"{self._pending}/{spooled.name}{TRYING}")
                self._disk.sync_folder(self._pending)  # or a power cut makes what was delivered look untried

    def done(self, spooled: Spooled) -> None:
        with explained(spooled.path):
            self._disk.remove(spooled.path)
            self._disk.sync_folder(self._pending)

    def postpone(self, spooled: Spooled) -> None:
        with explained(spooled.path):
            write_over(self._disk, spooled.path, spooled.entry.encoded())
            self._move(spooled, f"{self._pending}/{spooled.name}")

    def give_up(self, spooled: Spooled) -> str:
        with explained(spooled.path):
            self._disk.make_folders(self._failed, private=True)
            write_over(self._disk, spooled.path, spooled.entry.encoded())
            self._move(spooled, f"{self._failed}/{spooled.name}")
            self._disk.sync_folder(self._failed)
        return spooled.path

    def revive(self, spooled: Spooled) -> None:
        with explained(spooled.path):
            self._disk.make_folders(self._pending, private=True)
            write_over(self._disk, spooled.path, spooled.entry.encoded())
            self._move(spooled, f"{self._pending}/{spooled.name}")
            self._disk.sync_folder(self._pending)

    def _move(self, spooled: Spooled, path: str) -> None:
        if spooled.path != path:
            self._disk.rename(spooled.path, path)
            spooled.path = path

    def exclusively(self) -> _SpoolTurn:
        return _SpoolTurn(self._locks.private(self._pending, patience=0))


class _SpoolTurn:
    """One drain at a time; a second one goes away at once instead of waiting."""

    __slots__ = ("_lock",)

    def __init__(self, lock: PrivateLock) -> None:
        self._lock = lock

    def __enter__(self) -> bool:
        try:
            self._lock.acquire(self._lock.locks.clock.monotonic())
        except FileBusy:
            return False
        return True

    def __exit__(self, *_: object) -> None:
        self._lock.release()
