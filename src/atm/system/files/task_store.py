"""Task lists on disk, read for an overview: implements `ports.surroundings.Tasks`."""

from __future__ import annotations

from atm.formats.json_record import NotJson
from atm.formats.task import decode_task, task_number
from atm.system.files.rewriting import read_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.formats.layout import Layout
    from atm.ports.disk import Disk


class TaskFolder:
    """Claude Code deletes finished lists, so an empty answer says nothing about the past."""

    def __init__(self, disk: Disk, layout: Layout) -> None:
        self._disk = disk
        self._layout = layout

    def counts(self, team: str) -> dict[str, int]:
        folder = self._layout.tasks(team)
        found: dict[str, int] = {}
        for name in self._disk.names(folder):
            if task_number(name) is None:
                continue
            try:
                status = decode_task(read_whole(self._disk, f"{folder}/{name}")).status
            except (NotJson, OSError):
                status = "unreadable"
            found[status] = found.get(status, 0) + 1
        return found
