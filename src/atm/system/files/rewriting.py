"""
Rewriting a shared file so that no writer's change is lost, not even that of one who ignores every lock (D4).

The new version is written beside the old one, made durable, and *exchanged* with it in one step. What was
displaced is compared with what had been read: if another writer changed the file in between, our edit is made again
on their version, their additions are kept, and the files are exchanged again until nothing more turns up.
Readers see the old file or the new one, never a torn one.
"""

from __future__ import annotations

from atm.domain.errors import FileBusy, UnreadableFile
from atm.formats.files.json_record import NotJson
from atm.system.files.whole_files import read_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from atm.domain.plain import Plain
    from atm.ports.files.clock import Clock
    from atm.ports.files.disk import Disk, FileStamp
    from atm.system.files.locking import SharedLock
else:
    Protocol = object

MOST_ROUNDS = 100
"""A writer that changes the file between every two of our exchanges is an attack; then the message is spooled."""

FINE_TICK_NS = 50_000_000
COARSE_TICK_NS = 3_000_000_000
"""How long ago a file must have been changed for its time stamp to prove that it was not changed again since.
File systems stamp with the kernel's tick (up to 10 ms); some only with whole seconds (FAT: two)."""

TORN_TRIES, TORN_NAP = 25, 0.02
"""Claude Code writes in place at times: what cannot be read now may be whole in a moment."""


class Edit(Protocol):
    """A change of a file's content that can be made again on another version of it."""

    keeps_additions: bool
    """Is the file a list to which others add? Else one version replaces another."""

    def quick(self, source: Version) -> tuple[int, bytes] | None:
        """How many bytes from the start to keep and what follows them, without reading everything; or None."""

    def full(self, data: bytes) -> bytes | None:
        """The new content, or None if there is nothing to change. Raises NotJson if the content is not readable."""

    def carry(self, ours: bytes, foreign: bytes) -> int:
        """Remember what a foreign version has and ours has not; `full` must keep it. How much that was."""


class Version:
    """One version of the file: open, stamped, and read as far as the caller asked."""

    __slots__ = ("_data", "_disk", "_fd", "settled", "size", "stamp")

    def __init__(self, disk: Disk, fd: int) -> None:
        self._disk = disk
        self._fd = fd
        self.stamp: FileStamp = disk.look_open(fd)
        self.size = self.stamp.size
        self._data: bytes | None = None
        self.settled = True
        """Was it old enough when we opened it for its stamp to show every later change?"""
        if not disk.may_stay_open:
            self.read()
            disk.close(fd)

    def head(self, size: int) -> bytes:
        return self._data[:size] if self._data is not None else self._disk.read_at(self._fd, 0, size)

    def tail(self, size: int) -> bytes:
        if self._data is not None:
            return self._data[-size:]
        return self._disk.read_at(self._fd, max(0, self.size - size), size)

    def read(self) -> bytes:
        if self._data is None:
            self._data = self._disk.read_at(self._fd, 0, self.size)
        return self._data

    def is_stamped_like(self, path: str) -> bool:
        found = self._disk.look(path)
        return found is not None and found.content == self.stamp.content

    def lies_at(self, path: str) -> bool:
        """Has nobody touched it? By stamp where that proves it, else by content."""
        return self.is_stamped_like(path) and (self.settled or read_whole(self._disk, path) == self.read())

    def copy_start(self, target: int, size: int) -> None:
        """The first `size` bytes into another open file; in the kernel where that is possible."""
        if self._disk.may_stay_open:
            self._disk.copy(self._fd, target, size)
        else:
            self._disk.write(target, self.read()[:size])

    def close(self) -> None:
        if self._disk.may_stay_open:
            self._disk.close(self._fd)


class Rewriter:
    """Rewrites one file under its lock."""

    __slots__ = (
        "_aside",
        "_clock",
        "_committed",
        "_disk",
        "_folder",
        "_foreign",
        "_lock",
        "_name",
        "_path",
        "_versions",
        "_written",
        "merged",
    )

    def __init__(
        self, disk: Disk, clock: Clock, lock: SharedLock, path: str, set_aside: Callable[[bytes], str]
    ) -> None:
        self._disk = disk
        self._clock = clock
        self._lock = lock
        self._path = path
        self._folder, _, self._name = path.rpartition("/")
        self._aside = set_aside
        self._written = 0
        self._committed = False
        self._versions: list[Version] = []
        self._foreign: list[str] = []
        """Displaced foreign versions, kept until what they added lies safely in the file."""
        self.merged = 0

    def apply(self, edit: Edit, *, again: bool = False) -> bool:
        """
        Make the edit; say whether the file changed. `merged` counts what foreign writers had added.

        `again` after a lost lock: a first exchange may have placed the edit already, so nothing is done unread.
        """
        carried = self._finish_for_the_dead(edit) or again
        for _ in range(TORN_TRIES):
            source = self._opened(self._path)
            try:
                if not self._is_settled(source):
                    source.settled = False
                    source.read()
                return self._apply_to(edit, source, carried)
            except (NotJson, EOFError):
                problem = source.read()
            self._clock.sleep(TORN_NAP)
        raise UnreadableFile(
            f"{self._path} is not a JSON file of the expected shape; a copy is at {self._aside(problem)}",
            "mend or remove the file, then run `atm spool retry`",
            self._path,
        )

    def _is_settled(self, source: Version) -> bool:
        tick = FINE_TICK_NS if source.stamp.mtime_ns % 1_000_000_000 else COARSE_TICK_NS
        return self._clock.now() * 1e9 - source.stamp.mtime_ns > tick

    def _apply_to(self, edit: Edit, source: Version, careful: bool) -> bool:
        pieces = None if careful else edit.quick(source)
        if pieces is None:
            content = edit.full(source.read())
            if content is None:
                return False
            pieces = (0, content)
        private = self._lock.private
        was_ours = private.trusted == list(source.stamp.content) and not careful
        private.trusted = None
        temporary = self._write(pieces, source)
        placed = self._commit_until_stable(edit, temporary, source)
        if was_ours and not self.merged:
            private.trusted = list(placed)
        return True

    def _commit_until_stable(self, edit: Edit, temporary: str, expected: Version) -> tuple[int, int, int, int]:
        """Commit, and again while foreign versions turn up. What lies there in the end."""
        for _ in range(MOST_ROUNDS):
            ours = self._opened(temporary)
            found = self._commit(temporary, ours, expected)
            content = None if found is None else self._merged(edit, ours, found)
            if content is None:
                self._forget_foreign()
                return ours.stamp.content
            expected = ours if found == temporary else self._versions[-1]
            temporary = self._write((0, content), expected)
        raise FileBusy(f"{self._path} is rewritten all the time by another program", "stop that program", self._path)

    def _opened(self, path: str) -> Version:
        fd = self._disk.open_read(path)
        try:
            self._versions.append(Version(self._disk, fd))
        except BaseException:  # Ctrl-C too: nobody else knows that this file is open
            self._disk.close(fd)
            raise
        return self._versions[-1]

    def finish(self) -> None:
        """Make the new name durable. Outside the lock: others need not wait for the disk, only our caller must."""
        if self._committed:
            self._disk.sync_folder(self._folder)

    def close(self) -> None:
        """Let go of every version. Outside the lock: giving a large file's blocks back takes milliseconds."""
        for version in self._versions:
            version.close()
        self._versions = []

    def _commit(self, temporary: str, ours: Version, expected: Version) -> str | None:
        """Put our version in place. None when all is well, or the path where a foreign version lies."""
        self._lock.check()
        self._note(temporary, ours, expected)
        try:
            exchanged = self._disk.exchange(temporary, self._path)
        except FileNotFoundError:
            exchanged = False
        if not exchanged:
            return self._replace(temporary, expected)
        self._committed = True
        if not expected.lies_at(temporary):
            return temporary
        # A program that had the old file open may have written into it after we compared.
        if not expected.is_stamped_like(temporary):
            return temporary
        self._disk.remove(temporary)
        return None

    def _replace(self, temporary: str, expected: Version) -> str | None:
        """Where files cannot be exchanged: compare, then replace. The gap between the two is a few microseconds."""
        if not expected.lies_at(self._path):
            self._disk.remove(temporary)
            return self._path
        self._disk.rename(temporary, self._path)
        self._committed = True
        return None

    def _merged(self, edit: Edit, ours: Version, found: str) -> bytes | None:
        """Our edit on a foreign writer's version; None if theirs stays unreadable and ours is in place."""
        if found != self._path:
            self._foreign.append(found)
        for _ in range(TORN_TRIES):
            theirs = self._opened(found)
            try:
                self.merged += edit.carry(ours.read(), theirs.read())
                return edit.full(theirs.read()) or theirs.read()
            except NotJson:
                self._clock.sleep(TORN_NAP)
        if found == self._path:
            raise UnreadableFile(f"{self._path} is not readable", "mend or remove the file", self._path)
        self._aside(theirs.read())
        return None

    def _write(self, pieces: tuple[int, bytes], source: Version) -> str:
        """A durable new version beside the file. Its name does not end in `.json`, so nobody takes it for an inbox."""
        keep, rest = pieces
        path = self._next_name()
        fd = self._create(path, source.stamp)
        try:
            if keep:
                source.copy_start(fd, keep)
            self._disk.write(fd, rest)
            self._disk.sync(fd)
        except BaseException:  # Ctrl-C too: half a version must not stay
            self._disk.close(fd)
            self._disk.remove(path)
            raise
        self._disk.close(fd)
        return path

    def _next_name(self) -> str:
        """Not that of a displaced version which a dead process with our number left: it may be all there is of it."""
        while True:
            self._written += 1
            path = f"{self._folder}/.{self._name}.atm-{self._lock.locks.pid}-{self._written}"
            if path not in self._foreign:
                return path

    def _create(self, path: str, like: FileStamp) -> int:
        try:
            return self._disk.create(path, like)
        except FileExistsError:  # a killed process with our number left it; we hold the lock, so it is dead
            self._disk.remove(path)
            return self._disk.create(path, like)

    def _note(self, temporary: str, ours: Version, expected: Version) -> None:
        self._lock.private.note(
            rewrite={
                "temporary": temporary,
                "placed": list(ours.stamp.signature[:2]),
                "expected": list(expected.stamp.content),
                "foreign": [*self._foreign],
            }
        )

    def _forget_foreign(self) -> None:
        for path in self._foreign:
            self._disk.remove(path)
        self._foreign = []
        self._lock.private.body.pop("rewrite", None)

    def _finish_for_the_dead(self, edit: Edit) -> bool:
        """
        A process of ours was killed in the middle: keep what foreign writers had added, remove what it left.

        Its temporary file is either the version it was about to place (the inode it noted), which nobody was
        told about, or the version it displaced, which may hold rows that exist nowhere else.
        """
        private = self._lock.private
        if not private.left_behind:
            return False
        noted = private.body.get("rewrite")
        carried = 0
        if isinstance(noted, dict) and (edit.keeps_additions or self._still_placed(noted)):
            for path in self._displaced_by_the_dead(noted):
                carried += self._carry_from(edit, path)
                self._foreign.append(path)
        for name in self._disk.names(self._folder):
            path = f"{self._folder}/{name}"
            if name.startswith(f".{self._name}.atm-") and path not in self._foreign:
                self._disk.remove(path)
        if not carried:
            self._forget_foreign()
        self.merged += carried
        return carried > 0

    def _still_placed(self, noted: dict[str, Plain]) -> bool:
        """Does what the dead process had placed lie there yet? If not, another writer left a newer version since."""
        found = self._disk.look(self._path)
        return found is not None and list(found.signature[:2]) == noted.get("placed")

    def _displaced_by_the_dead(self, noted: dict[str, Plain]) -> list[str]:
        foreign = noted.get("foreign")
        found = [path for path in foreign if isinstance(path, str)] if isinstance(foreign, list) else []
        temporary = str(noted.get("temporary"))
        stamp = self._disk.look(temporary)
        was_displaced = stamp is not None and list(stamp.signature[:2]) != noted.get("placed")
        if stamp is not None and was_displaced and list(stamp.content) != noted.get("expected"):
            found.append(temporary)
        found = list(dict.fromkeys(found))
        return [
            path for path in found if path.startswith(f"{self._folder}/.{self._name}.atm-") and self._disk.look(path)
        ]

    def _carry_from(self, edit: Edit, path: str) -> int:
        data = read_whole(self._disk, path)
        try:
            return edit.carry(read_whole(self._disk, self._path), data)
        except NotJson:
            self._aside(data)
            return 0
