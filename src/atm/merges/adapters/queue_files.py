"""The merge queues of teams on disk: implements `merges.ports.Merges`."""

from __future__ import annotations

import hashlib

from atm.core.errors import FileBusy, UnreadableFile
from atm.core.untrusted_text import shell_words
from atm.core.work_errors import NotTrusted
from atm.files.adapters.refusals import explained
from atm.files.adapters.whole_files import read_whole, write_over
from atm.files.formats.json_record import NotJson, to_bytes, to_text
from atm.merges.formats.queue_file import decode_collisions, decode_queue, encode_collisions, encode_queue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from atm.files.adapters.locking import Locks
    from atm.files.formats.layout import Layout
    from atm.files.ports.disk import Disk
    from atm.merges.rules.items import MergeQueue
    from atm.merges.rules.radar import Collision


class MergeHold:
    """A queue that one process works off: a private lock, which dies with it."""

    def __init__(self, locks: Locks, path: str, team: str, seconds: float) -> None:
        self._lock = locks.private(path, seconds)
        self._team = team

    def __enter__(self) -> Self:
        try:
            self._lock.__enter__()
        except FileBusy:
            raise FileBusy(
                f"work of team {self._team!r} is being merged just now",
                f"wait for it; see `atm merge queue --team {shell_words(self._team)}`",
            ) from None
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class MergeFiles:
    """One file in each team's folder."""

    def __init__(self, disk: Disk, locks: Locks, layout: Layout) -> None:
        self._disk = disk
        self._locks = locks
        self._layout = layout

    def hold(self, team: str, seconds: float = 0.3) -> MergeHold:
        return MergeHold(self._locks, self._layout.merges(team), team, seconds)

    def is_held(self, team: str) -> bool:
        try:
            with self._locks.private(self._layout.merges(team), 0.0):
                return False
        except FileBusy:
            return True

    def read(self, team: str) -> MergeQueue | None:
        path = self._layout.merges(team)
        try:
            data = read_whole(self._disk, path)
            found = decode_queue(data)
        except FileNotFoundError:
            return None
        except (NotJson, OSError) as error:
            raise UnreadableFile(f"the merge queue cannot be read: {error}", "mend or remove it", path) from None
        if _sum(data) not in self._sums(team) or found.team != team:
            raise NotTrusted(  # its folder is open to every agent of the user, and it says which branch is moved (D25)
                "the merge queue is not as atm wrote it",
                "look at it, and remove it: it is made anew from the board",
                path,
            )
        return found

    def note_collisions(self, team: str, found: Sequence[Collision]) -> None:
        path = self._layout.radar(team)
        with explained(path):
            self._disk.make_folders(path.rpartition("/")[0], private=True)
            write_over(self._disk, path, encode_collisions(found), durable=False)

    def collisions(self, team: str) -> list[Collision]:
        try:
            return decode_collisions(read_whole(self._disk, self._layout.radar(team)))
        except (OSError, NotJson):
            return []

    def _is_there(self, team: str, data: bytes) -> bool:
        try:
            return read_whole(self._disk, self._layout.merges(team)) == data and _sum(data) in self._sums(team)
        except FileNotFoundError:
            return False

    def _sums(self, team: str) -> list[str]:
        try:
            return to_text(read_whole(self._disk, self._layout.merges_seal(team))).split()
        except OSError:
            return []

    def write(self, queue: MergeQueue) -> None:
        path, seal, data = self._layout.merges(queue.team), self._layout.merges_seal(queue.team), encode_queue(queue)
        with explained(path):
            if self._is_there(queue.team, data):
                return  # as durable as it was made by whoever wrote it
            for one in (path, seal):
                self._disk.make_folders(one.rpartition("/")[0], private=True)
            # Both sums: whoever is killed before the next line leaves the former queue, which is as true as it was.
            write_over(self._disk, seal, to_bytes("\n".join([_sum(data), *self._sum_of_former(queue.team)])))
            write_over(self._disk, path, data)

    def _sum_of_former(self, team: str) -> list[str]:
        """Of what lies there, and not what the seal names first: whoever wrote that may have been killed before it."""
        try:
            found = _sum(read_whole(self._disk, self._layout.merges(team)))
        except OSError:
            return []
        return [found] if found in self._sums(team) else []


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
