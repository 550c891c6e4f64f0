"""Remembers, beside our own state, that a clean-up pass found nothing, so that the next send does not pay for one."""

from __future__ import annotations

from atm.files.adapters.whole_files import read_whole, write_over
from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.files.formats.layout import Layout
    from atm.files.ports.disk import Disk

GROWTH = 1.25
"""A pass that found nothing is repeated when the file has grown by a quarter, or when its time has come."""


class UpkeepMarkFiles:
    """Implements `mail.ports.stores.UpkeepMarks`. Losing a mark costs one pass, so nothing is synced here."""

    __slots__ = ("_disk", "_layout")

    def __init__(self, disk: Disk, layout: Layout) -> None:
        self._disk = disk
        self._layout = layout

    def is_due(self, team: str, agent: str, size: int, now: float) -> bool:
        try:
            mark = decode_object(to_text(read_whole(self._disk, self._layout.upkeep_mark(team, agent))))
        except (OSError, NotJson):
            return True
        seen, until = mark.get("size"), mark.get("until")
        if not isinstance(seen, int | float) or not isinstance(until, int | float):
            return True
        return size >= seen * GROWTH or now >= until

    def put_off(self, team: str, agent: str, size: int, until: float) -> None:
        path = self._layout.upkeep_mark(team, agent)
        try:
            self._disk.make_folders(path.rpartition("/")[0], private=True)
            write_over(self._disk, path, to_bytes(encode({"size": size, "until": until})))
        except OSError:
            return
