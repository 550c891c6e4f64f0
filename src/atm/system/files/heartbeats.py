"""Heartbeats on disk: implements `ports.presence.Presence`."""

from __future__ import annotations

from atm.formats.heartbeat import decode_beat, encode_beat
from atm.formats.json_record import NotJson
from atm.system.files.liveness import process_is_alive
from atm.system.files.rewriting import read_whole, write_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.liveness import Beat
    from atm.formats.layout import Layout
    from atm.ports.disk import Disk


class HeartbeatFiles:
    """One file for each member. Not made durable: after a power cut nobody's heart beats anyway."""

    __slots__ = ("_disk", "_layout", "host")

    def __init__(self, disk: Disk, layout: Layout, host: str) -> None:
        self._disk = disk
        self._layout = layout
        self.host = host

    def last(self, team: str, member: str) -> Beat | None:
        try:
            return decode_beat(read_whole(self._disk, self._layout.heartbeat(team, member)))
        except (OSError, NotJson):
            return None

    def beat(self, team: str, member: str, beat: Beat) -> None:
        path = self._layout.heartbeat(team, member)
        try:
            self._write(path, encode_beat(member, beat))
        except OSError:
            return  # another process of the same member was writing: one of the two beats is enough

    def _write(self, path: str, data: bytes) -> None:
        try:
            write_over(self._disk, path, data, durable=False)
        except FileNotFoundError:
            self._disk.make_folders(path.rpartition("/")[0], 0o700)
            write_over(self._disk, path, data, durable=False)

    def forget(self, team: str, member: str) -> None:
        try:
            self._disk.remove(self._layout.heartbeat(team, member))
        except OSError:
            return

    def process_runs(self, pid: int) -> bool:
        return process_is_alive(pid)
