"""When another program's lock counts as left behind, and may be broken (D2)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.core.plain import Plain
    from atm.files.formats.file_stamp import FileStamp
    from atm.files.ports.clock import Clock
    from atm.files.ports.disk import Disk

BREAK_AFTER = 30.0
"""Three times Claude Code's own limit: let it recover first (D2). By its time stamp, or, as a clock can be set and a
stamp can lie ahead, by how long one of us after the other has seen it unchanged."""

WATCH_FOR = 1.0


class LockWatch:
    """Looks at one lock for a while."""

    __slots__ = ("_clock", "_disk", "_owner_of", "_seen", "_since")

    def __init__(self, disk: Disk, clock: Clock, owner_of: Callable[[str], str], seen: Plain = None) -> None:
        """`seen` is what another process saw, and since when: each of us waits for a few seconds only."""
        self._disk = disk
        self._clock = clock
        self._owner_of = owner_of
        self._seen: list[int] | None = None
        self._since = 0.0
        match seen:
            case [int() as dev, int() as ino, int() as at, float() | int() as since]:
                self._seen, self._since = [dev, ino, at], since

    @property
    def seen(self) -> list[Plain] | None:
        return None if self._seen is None else [*self._seen, self._since]

    def may_break(self, path: str) -> bool:
        found = self._disk.look(path)
        if found is None:
            return False
        if found.kind == "file":
            owner = self._owner_of(path)
            if owner == "dead":
                return True
            if owner == "alive":
                return False
        elif found.kind != "folder":
            return False
        return self._is_old_and_still(found)

    def _is_old_and_still(self, found: FileStamp) -> bool:
        clock = self._clock
        unchanged = clock.monotonic() - self._since
        if self._seen != list(found.signature) or unchanged < 0:  # another lock, or the machine was started anew
            self._seen, self._since = list(found.signature), clock.monotonic()
            return False
        if unchanged >= BREAK_AFTER:
            return True
        return clock.now() - found.mtime_ns / 1e9 > BREAK_AFTER and unchanged >= WATCH_FOR
