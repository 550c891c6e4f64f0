"""
The book of synthetic members: which plugin plays whom, written down before the roster says so.

It lies in `members.json` in the plugin's data folder. Only the daemon writes it, so a daemon that finds entries of a
former one, which was killed, takes these members off their rosters.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from atm.core.names import is_safe_name
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.whole_files import read_whole, write_over
from atm.files.formats.json_record import NotJson, decode_object, indent, to_bytes, to_text
from atm.files.formats.layout import Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

Played = tuple[str, str]
"""(team, name)"""

FILE = "members.json"


class MemberBook:
    """Reads and writes are of small files and durable; the host makes them in its own thread, one at a time."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._disk = RealDisk(layout.private_roots)

    def played(self, plugin: str) -> dict[str, set[Played]]:
        """Whom a plugin plays, by place. What cannot be read says nothing."""
        try:
            data = decode_object(to_text(read_whole(self._disk, self._path(plugin))))
        except (OSError, NotJson):
            return {}
        found: dict[str, set[Played]] = {}
        listed = data.get("members")
        for entry in listed if isinstance(listed, list) else []:
            place, team, name = _parts(entry)
            if is_safe_name(team) and is_safe_name(name):
                found.setdefault(place, set()).add((team, name))
        return found

    def enter(self, plugin: str, place: str, played: Played) -> None:
        book = self.played(plugin)
        if played not in book.get(place, set()):
            book.setdefault(place, set()).add(played)
            self._write(plugin, book)

    def strike(self, plugin: str, place: str, played: Iterable[Played]) -> None:
        book, gone = self.played(plugin), set(played)
        if book.get(place, set()) & gone:
            book[place] -= gone
            self._write(plugin, book)

    def plugins(self) -> list[str]:
        """Every plugin that has a page."""
        folder = os.path.dirname(self._layout.plugin_data("any"))
        try:
            names = sorted(os.listdir(folder))
        except OSError:
            return []
        return [name for name in names if is_safe_name(name) and os.path.isfile(self._path(name))]

    def _write(self, plugin: str, book: dict[str, set[Played]]) -> None:
        entries = [
            {"place": place, "team": team, "name": name}
            for place, played in sorted(book.items())
            for team, name in sorted(played)
        ]
        path = self._path(plugin)
        self._disk.make_folders(path.rpartition("/")[0], private=True)
        write_over(self._disk, path, to_bytes(indent({"members": entries}) + "\n"))

    def _path(self, plugin: str) -> str:
        return f"{self._layout.plugin_data(plugin)}/{FILE}"


def _parts(entry: Plain) -> tuple[str, str, str]:
    fields = entry if isinstance(entry, dict) else {}
    place, team, name = (fields.get(key) for key in ("place", "team", "name"))
    ok = isinstance(place, str) and isinstance(team, str) and isinstance(name, str)
    return (place, team, name) if ok else ("", "", "")  # type: ignore[return-value]
