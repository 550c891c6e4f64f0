"""The archive: rows before clean-up removes them, and unreadable files before the user mends or we replace them."""

from __future__ import annotations

from atm.files.adapters.refusals import explained, refused
from atm.files.adapters.whole_files import write_new
from atm.files.formats.times import for_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.files.formats.layout import Layout
    from atm.files.ports.clock import Clock
    from atm.files.ports.disk import Disk

MOST_UNREADABLE, MOST_UNREADABLE_BYTES = 10, 32 << 20
"""Copies of one file that nobody could read, of which the oldest go: another program can leave it torn in ever new
ways. What clean-up took out is never removed."""


class ArchiveFolder:
    """Implements `mail.ports.stores.Archive`. Files are never overwritten."""

    __slots__ = ("_clock", "_disk", "_layout")

    def __init__(self, disk: Disk, clock: Clock, layout: Layout) -> None:
        self._disk = disk
        self._clock = clock
        self._layout = layout

    def keep(self, team: str, agent: str, content: bytes) -> str:
        return self._write(team, agent, "archive", content)

    def put_aside(self, team: str, agent: str, data: bytes) -> str:
        path = self._write(team, agent, "unreadable", data)
        folder, _, newest = path.rpartition("/")
        with explained(folder):
            names = sorted(name for name in self._disk.names(folder) if name.startswith("unreadable-"))
            size = 0
            for place, name in enumerate([newest, *(name for name in reversed(names) if name != newest)]):
                found = self._disk.look(f"{folder}/{name}")
                size += found.size if found else 0
                if found and place and (place >= MOST_UNREADABLE or size > MOST_UNREADABLE_BYTES):
                    self._disk.remove(f"{folder}/{name}")
        return path

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
