"""Where sessions run, one file for each member: implements `team.ports.endpoints.Endpoints`."""

from __future__ import annotations

from atm.core.names import is_safe_name
from atm.files.adapters.whole_files import read_whole, write_over
from atm.files.formats.layout import inbox_owner
from atm.team.formats.endpoint import decode_endpoint, encode_endpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.files.formats.layout import Layout
    from atm.files.ports.disk import Disk
    from atm.team.rules.endpoints import Endpoint


class EndpointFiles:
    """Not made durable: after a power cut no session runs."""

    __slots__ = ("_disk", "_layout")

    def __init__(self, disk: Disk, layout: Layout) -> None:
        self._disk = disk
        self._layout = layout

    def of(self, team: str, member: str) -> Endpoint | None:
        try:
            return decode_endpoint(read_whole(self._disk, self._layout.endpoint(team, member)))
        except OSError:
            return None

    def known(self, team: str) -> list[str]:
        try:
            owners = [inbox_owner(name) for name in self._disk.names(f"{self._layout.our_data(team)}/endpoints")]
        except OSError:
            return []
        return sorted(name for name in owners if name is not None and is_safe_name(name))

    def put(self, team: str, member: str, endpoint: Endpoint) -> None:
        path = self._layout.endpoint(team, member)
        try:
            self._write(path, encode_endpoint(member, endpoint))
        except OSError:
            return

    def _write(self, path: str, data: bytes) -> None:
        try:
            write_over(self._disk, path, data, durable=False)
        except FileNotFoundError:
            folder = path.rpartition("/")[0]
            if folder.startswith(self._layout.state_root):
                self._disk.make_folders(folder, private=True)
            else:
                self._disk.make_folder(folder, private=True)  # never a team's own: one that is gone stays gone
            write_over(self._disk, path, data, durable=False)

    def forget(self, team: str, member: str) -> None:
        try:
            self._disk.remove(self._layout.endpoint(team, member))
        except OSError:
            return
