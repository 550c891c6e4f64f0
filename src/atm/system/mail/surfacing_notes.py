"""Notes of mail that is being shown, and endpoints of agents, on disk: implements `ports.surfacing`."""

from __future__ import annotations

from atm.domain.errors import FileBusy
from atm.domain.identifiers import derived_id
from atm.formats.mail.surfacing_note import decode_note, encode_note
from atm.system.files.refusals import explained
from atm.system.files.whole_files import read_whole, write_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.mail.surfacing import ShowingNote
    from atm.formats.files.layout import Layout
    from atm.ports.files.disk import Disk
    from atm.system.files.locking import Locks

MOST_TEXTS = 50
"""Long texts that are kept for one agent; they lie in the ledger anyway."""


class SurfacingNotes:
    """Implements `ports.surfacing.Surfacings`."""

    __slots__ = ("_disk", "_layout", "_locks")

    def __init__(self, disk: Disk, locks: Locks, layout: Layout) -> None:
        self._disk = disk
        self._locks = locks
        self._layout = layout

    def turn(self, team: str, member: str, patience: float = 0.0) -> _NotesTurn:
        return _NotesTurn(self._disk, self._locks, self._layout.surfacing(team, member), patience)

    def is_cut_off(self, team: str, member: str) -> bool:
        return self.cut_off_since(team, member) is not None

    def cut_off_since(self, team: str, member: str) -> float | None:
        path = self._layout.surfacing(team, member)
        with explained(path):
            found = self._disk.look(path)
        return found.mtime_ns / 1e9 if found is not None else None

    def keep_text(self, team: str, member: str, id: str, text: str) -> str:
        folder = self._layout.pasted(team, member)
        path = f"{folder}/{derived_id(id)}.md"  # whatever the id is made of
        with explained(path):
            self._disk.make_folders(folder, private=True)
            write_over(self._disk, path, text.encode("utf-8", "replace"), durable=False)
            found = self._disk.versions(folder)
            for name in sorted(found, key=lambda name: found[name][2])[:-MOST_TEXTS]:
                self._disk.remove(f"{folder}/{name}")
        return path


class _NotesTurn:
    """One agent's mail, held by a lock that dies with its process."""

    __slots__ = ("_disk", "_lock", "_path")

    def __init__(self, disk: Disk, locks: Locks, path: str, patience: float) -> None:
        self._disk = disk
        self._lock = locks.private(path, patience=patience)
        self._path = path

    def __enter__(self) -> bool:
        clock = self._lock.locks.clock
        try:
            with explained(self._path):
                self._lock.acquire(clock.monotonic() + self._lock.patience)
        except FileBusy:
            return False
        return True

    def __exit__(self, *_: object) -> None:
        with explained(self._path):
            self._lock.release()

    def abandoned(self) -> ShowingNote | None:
        with explained(self._path):  # one that cannot be read is not none: mail may be behind it
            try:
                return decode_note(read_whole(self._disk, self._path))
            except FileNotFoundError:
                return None

    def begin(self, note: ShowingNote) -> None:
        with explained(self._path):
            self._disk.make_folders(self._path.rpartition("/")[0], private=True)
            write_over(self._disk, self._path, encode_note(note))

    def end(self) -> None:
        try:
            self._disk.remove(self._path)
        except OSError:
            return  # found again by the next turn, which sees in the ledger that it was shown
