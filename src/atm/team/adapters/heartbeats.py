"""Heartbeats on disk: implements `team.ports.presence.Presence`."""

from __future__ import annotations

from atm.core.names import is_safe_name
from atm.files.adapters.processes import began, boot_id, process_is_alive
from atm.files.adapters.refusals import refused, untold
from atm.files.adapters.whole_files import read_whole, write_over
from atm.files.formats.json_record import NotJson
from atm.files.formats.layout import inbox_owner
from atm.team.formats.heartbeat import decode_beat, encode_beat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.files.formats.layout import Layout
    from atm.files.ports.clock import Clock
    from atm.files.ports.disk import Disk
    from atm.team.rules.liveness import Beat


FRESH_NS = 2_000_000_000
"""A file that changed so recently may change again without looking as if it had."""


class HeartbeatFiles:
    """One file for each member. Not made durable: after a power cut no agent's heart beats anyway."""

    __slots__ = ("_clock", "_disk", "_known", "_layout", "_tell", "boot", "host")

    def __init__(
        self, disk: Disk, clock: Clock, layout: Layout, host: str, tell: Callable[[str], None] = untold
    ) -> None:
        self._tell = tell
        self._clock = clock
        self._disk = disk
        self._layout = layout
        self._known: dict[str, tuple[tuple[int, int, int, int], Beat | None]] = {}
        """By path: what was read of a file that had not changed for a while, and its stamp."""
        self.host = host
        self.boot = boot_id()

    def uptime(self) -> float:
        return self._clock.monotonic()

    def last(self, team: str, member: str) -> Beat | None:
        path = self._layout.heartbeat(team, member)
        try:
            stamp = self._disk.look(path)
            known = self._known.get(path)
            if stamp is not None and known is not None and known[0] == stamp.content:
                return known[1]
            found = decode_beat(read_whole(self._disk, path))
        except (OSError, NotJson):
            return None
        if stamp is not None and stamp.kind == "file" and self._clock.now() * 1e9 - stamp.mtime_ns > FRESH_NS:
            self._known[path] = (stamp.content, found)
        return found

    def beat(self, team: str, member: str, beat: Beat) -> None:
        path = self._layout.heartbeat(team, member)
        try:
            self._write(path, encode_beat(member, beat))
        except (FileExistsError, FileNotFoundError):
            return  # another process of this member was writing: one of the two beats is enough
        except OSError as error:
            self._tell(f"no sign of life was left, so others may take {member!r} for gone: {refused(path, error)}")

    def _write(self, path: str, data: bytes) -> None:
        try:
            write_over(self._disk, path, data, durable=False)
        except FileNotFoundError:
            self._make_folder(path.rpartition("/")[0])
            write_over(self._disk, path, data, durable=False)

    def _make_folder(self, folder: str) -> None:
        """Never a team's own: if that is gone, the team is gone, and a late sign of life brings nothing back."""
        if folder.startswith(self._layout.state_root):
            self._disk.make_folders(folder, private=True)
        else:
            try:
                self._disk.make_folder(folder, private=True)
            except FileExistsError:
                return  # another member's first heartbeat was quicker; without ours, our claim would be taken back

    def forget(self, team: str, member: str) -> None:
        try:
            self._disk.remove(self._layout.heartbeat(team, member))
        except OSError:
            return

    def heard_of(self, team: str) -> list[str]:
        try:
            owners = [inbox_owner(name) for name in self._disk.names(self._layout.heartbeats(team))]
        except OSError:
            return []
        return sorted(name for name in owners if name is not None and is_safe_name(name))

    def process_runs(self, pid: int) -> bool:
        return process_is_alive(pid)

    def began(self, pid: int) -> str:
        return began(pid)
