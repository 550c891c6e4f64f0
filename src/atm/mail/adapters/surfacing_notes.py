"""Notes of mail that is being shown, and endpoints of agents, on disk: implements `mail.ports.surfacing`."""

from __future__ import annotations

from atm.core.errors import FileBusy
from atm.core.identifiers import derived_id
from atm.files.adapters.refusals import explained, refused, untold
from atm.files.adapters.whole_files import read_whole, write_over
from atm.mail.formats.surfacing_note import decode_note, encode_note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.files.adapters.locking import Locks
    from atm.files.formats.layout import Layout
    from atm.files.ports.disk import Disk
    from atm.mail.rules.surfacing import ShowingNote

MOST_TEXTS = 50
"""Long texts that are kept for one agent; they lie in the ledger anyway."""


class SurfacingNotes:
    """
    Implements `mail.ports.surfacing.Surfacings`.

    Notes are for the one case that whoever shows mail is killed. Where they cannot be kept, a folder of root's or
    something else in their place, mail is shown without them, and that is noted.
    """

    __slots__ = ("_disk", "_layout", "_locks", "_tell")

    def __init__(self, disk: Disk, locks: Locks, layout: Layout, tell: Callable[[str], None] = untold) -> None:
        self._disk = disk
        self._locks = locks
        self._layout = layout
        self._tell = tell

    def turn(self, team: str, member: str, patience: float = 0.0) -> _NotesTurn:
        return _NotesTurn(self._disk, self._locks, self._layout.surfacing(team, member), patience, self._tell)

    def is_cut_off(self, team: str, member: str) -> bool:
        return self.cut_off_since(team, member) is not None

    def cut_off_since(self, team: str, member: str) -> float | None:
        path = self._layout.surfacing(team, member)
        try:
            found = self._disk.look(path)
        except OSError as error:
            self._tell(_unseen(path, error))
            return None
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
    """
    One agent's mail, held by a lock that dies with its process.

    Where that lock cannot be had at all, the turn goes on without: marking decides who shows a row. A note that lies
    there then, or one that cannot be read, is neither written over nor removed: mail may be behind it (G1).
    """

    __slots__ = ("_disk", "_keeps_notes", "_lock", "_path", "_tell")

    def __init__(self, disk: Disk, locks: Locks, path: str, patience: float, tell: Callable[[str], None]) -> None:
        self._disk = disk
        self._lock = locks.private(path, patience=patience)
        self._keeps_notes = False
        self._path = path
        self._tell = tell

    def __enter__(self) -> bool:
        clock = self._lock.locks.clock
        try:
            self._lock.acquire(clock.monotonic() + self._lock.patience)
        except FileBusy:
            return False
        except OSError as error:
            self._tell(_unkept(self._lock.path, error))
            return True
        self._keeps_notes = True
        return True

    def __exit__(self, *_: object) -> None:
        self._keeps_notes = False
        with explained(self._path):
            self._lock.release()

    def abandoned(self) -> ShowingNote | None:
        if not self._keeps_notes:
            return None
        try:
            return decode_note(read_whole(self._disk, self._path))
        except FileNotFoundError:
            return None
        except OSError as error:
            self._keeps_notes = False
            self._tell(_unseen(self._path, error))
            return None

    def begin(self, note: ShowingNote) -> None:
        if not self._keeps_notes:
            return
        try:
            self._disk.make_folders(self._path.rpartition("/")[0], private=True)
            write_over(self._disk, self._path, encode_note(note))
        except OSError as error:
            self._tell(_unkept(self._path, error))

    def end(self) -> None:
        if not self._keeps_notes:
            return
        try:
            self._disk.remove(self._path)
        except OSError:
            return  # found again by the next turn, which sees in the ledger that it was shown


def _unseen(path: str, error: OSError) -> str:
    return f"nobody can tell whether mail was taken and not shown; it may count as read: {refused(path, error)}"


def _unkept(path: str, error: OSError) -> str:
    return f"nobody can tell later what is shown now; if this is cut off, it counts as read: {refused(path, error)}"
