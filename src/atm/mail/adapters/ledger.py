"""The ledger on disk: `mailbox.log`, append-only, one writer at a time (D6)."""

from __future__ import annotations

from atm.files.adapters.numbered_log import NumberedLog
from atm.files.adapters.refusals import explained, refused
from atm.files.adapters.whole_files import read_whole
from atm.files.formats.times import to_iso
from atm.mail.formats.journal import decode_about, decode_lines, decode_recent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from atm.mail.formats.journal import Entry, Line


RECENT = 128 * 1024
RECENT_SECONDS = 300.0
"""What every mail command looks back at for rows that were dropped: the last minutes, and not more than this."""


class LedgerFile(NumberedLog):
    """Implements `mail.ports.stores.Ledger`."""

    __slots__ = ()

    def path(self, team: str) -> str:
        return self._layout.ledger(team)

    def append(self, team: str, lines: list[Line]) -> list[int]:
        return self.append_to(self._layout.ledger(team), lines)

    def recent(self, team: str) -> list[Entry]:
        path = self._layout.ledger(team)
        with explained(path):
            try:
                fd = self._disk.open_read(path)
            except FileNotFoundError:
                return []
            try:
                size = self._disk.look_open(fd).size
                start = max(0, size - RECENT)
                data = self._disk.read_at(fd, start, size - start)
            finally:
                self._disk.close(fd)
        since = to_iso(self._locks.clock.now() - RECENT_SECONDS)
        return decode_recent(data.partition(b"\n")[2] if start else data, since)

    def about(self, team: str, ids: Collection[str]) -> list[Entry]:
        path = self._layout.ledger(team)
        try:
            return decode_about(read_whole(self._disk, path), ids)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise refused(path, error) from error

    def version(self, team: str) -> object:
        found = self._disk.look(self._layout.ledger(team))
        return None if found is None else found.content

    def mentions(self, team: str, word: str) -> bool:
        path = self._layout.ledger(team)
        try:
            return word.encode() in read_whole(self._disk, path)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise refused(path, error) from error

    def entries(self, team: str) -> tuple[list[Entry], int]:
        path = self._layout.ledger(team)
        try:
            return decode_lines(read_whole(self._disk, path))
        except FileNotFoundError:
            return [], 0
        except OSError as error:
            raise refused(path, error) from error
