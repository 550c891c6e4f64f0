"""The archive: rows before clean-up removes them, and unreadable files before the user mends or we replace them."""

from __future__ import annotations

from atm.formats.files.times import for_name
from atm.system.files.refusals import refused
from atm.system.files.whole_files import write_new

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.formats.files.layout import Layout
    from atm.ports.files.clock import Clock
    from atm.ports.files.disk import Disk


class ArchiveFolder:
    """Implements `ports.stores.Archive`. Files are never overwritten."""

    __slots__ = ("_clock", "_disk", "_layout")

    def __init__(self, disk: Disk, clock: Clock, layout: Layout) -> None:
        self._disk = disk
        self._clock = clock
        self._layout = layout

    def keep(self, team: str, agent: str, content: bytes) -> str:
        return self._write(team, agent, "archive", content)

    def unreadable(self, team: str, agent: str) -> Callable[[bytes], str]:
        return lambda data: self._write(team, agent, "unreadable", data)

    def _write(self, team: str, agent: str, kind: str, data: bytes) -> str:
        """The name holds a checksum, so the same content is kept once however often we meet it."""
        folder = self._layout.archive(team, agent)
        import zlib  # few sends put anything aside

        mark = f"{zlib.crc32(data):08x}"
        try:
            self._disk.make_folders(folder, private=True)
            for name in self._disk.names(folder):
                if name.startswith(f"{kind}-") and name.endswith(f"-{mark}.json"):
                    return f"{folder}/{name}"
            path = f"{folder}/{kind}-{for_name(self._clock.now())}-{mark}.json"
            write_new(self._disk, path, data)
        except OSError as error:
            raise refused(folder, error) from error
        return path
