"""Fields that our formats do not know, each entered once: a sign that Claude Code's files have moved on."""

from __future__ import annotations

from atm.files.adapters.whole_files import read_whole
from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text
from atm.files.formats.times import to_iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.files.formats.layout import Layout
    from atm.files.ports.clock import Clock
    from atm.files.ports.disk import Disk


class DriftLog:
    """Implements `ports.surroundings.Drift`. It is a diary: failing to write it fails nothing else."""

    def __init__(self, disk: Disk, clock: Clock, layout: Layout) -> None:
        self._disk = disk
        self._clock = clock
        self._path = layout.drift_log

    def note(self, kind: str, names: list[str]) -> None:
        known = {(entry.get("kind"), entry.get("field")) for entry in self.seen()}
        new = sorted({name for name in names if (kind, name) not in known})
        if not new:
            return
        lines = [{"kind": kind, "field": name, "first_seen": to_iso(self._clock.now())} for name in new]
        try:
            self._disk.make_folders(self._path.rpartition("/")[0], private=True)
            fd = self._disk.open_append(self._path)
            self._disk.write(fd, to_bytes("".join(encode(line) + "\n" for line in lines)))
            self._disk.close(fd)
        except OSError:
            return

    def seen(self) -> list[dict[str, str]]:
        try:
            text = to_text(read_whole(self._disk, self._path))
        except OSError:
            return []
        found = []
        for line in text.split("\n"):
            try:
                found.append({key: str(value) for key, value in decode_object(line).items()})
            except NotJson:
                continue
        return found
