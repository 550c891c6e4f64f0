"""
Sessions of Claude Code on this machine, as it notes them itself.

Implements `delivery.ports.agent_sessions.AgentSessions`.
"""

from __future__ import annotations

from atm.files.adapters.processes import began, process_is_alive
from atm.vendors.claude.session_note import LARGEST_NOTE, decode_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.files.formats.layout import Layout
    from atm.files.ports.disk import Disk
    from atm.vendors.claude.session_note import SessionNote

MOST_SESSIONS = 300
"""Files that are looked at. Claude Code takes those of sessions away that have ended; a few are left by crashes."""


def read_notes(disk: Disk, layout: Layout) -> ClaudeSessions:
    return ClaudeSessions(disk, layout.claude_sessions)


class ClaudeSessions:
    """One file for each process, named by its number. One whose process is gone says nothing."""

    __slots__ = ("_disk", "_folder")

    def __init__(self, disk: Disk, folder: str) -> None:
        self._disk = disk
        self._folder = folder

    def statuses(self) -> dict[str, str]:
        notes = (self._note(name) for name in self._names())
        return {note.session: note.status for note in notes if note is not None and _runs(note)}

    def _names(self) -> list[str]:
        try:
            names = self._disk.names(self._folder)
        except OSError:
            return []
        return [name for name in names if name.endswith(".json") and name[:-5].isdecimal()][-MOST_SESSIONS:]

    def _note(self, name: str) -> SessionNote | None:
        try:
            fd = self._disk.open_read(f"{self._folder}/{name}")
            try:
                note = decode_session(self._disk.read_at(fd, 0, LARGEST_NOTE + 1))
            finally:
                self._disk.close(fd)
        except OSError:
            return None
        return note if note is not None and name == f"{note.pid}.json" else None


def _runs(note: SessionNote) -> bool:
    return process_is_alive(note.pid) and (not note.began.isdecimal() or note.began == began(note.pid))
