"""
Rewriting a shared file so that no writer's change is lost, not even that of one who ignores every lock (D4).

The new version is written beside the old one, made durable, and *exchanged* with it in one step. What was
displaced is compared with what had been read: if another writer changed the file in between, our edit is made again
on their version, their additions are kept, and the files are exchanged again until nothing more turns up, or until
the others have been kept waiting for long enough. Readers see the old file or the new one, never a torn one.
"""

from __future__ import annotations

from atm.core.errors import FileBusy, UnreadableFile
from atm.files.adapters.whole_files import Version, read_whole
from atm.files.formats.json_record import NotJson

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Protocol

    from atm.core.plain import Plain
    from atm.files.adapters.locking import SharedLock
    from atm.files.adapters.remains.carrying import Carrying, RowsOf, Watch
    from atm.files.adapters.remains.displaced import Displaced
    from atm.files.formats.file_stamp import FileStamp
    from atm.files.ports.clock import Clock
    from atm.files.ports.disk import Disk
else:
    Protocol = object

MOST_ROUNDS = 100
"""A writer that changes the file between every two of our exchanges is an attack; then the message is spooled."""

LONGEST_HOLD, SHORTEST_HOLD = 2.0, 0.5
"""Seconds that a lock is held at most while others write without it: those who do lock are waiting all the while. And
for whoever got it when his time was up: to give it back unused would help nobody."""

FINE_TICK_NS = 50_000_000
COARSE_TICK_NS = 3_000_000_000
"""How long ago a file must have been changed for its time stamp to prove that it was not changed again since.
File systems stamp with the kernel's tick (up to 10 ms); some only with whole seconds (FAT: two)."""

TORN_TRIES, TORN_NAP = 25, 0.02
"""Claude Code writes in place at times: what cannot be read now may be whole in a moment. What takes long to read is
tried for the same half a second, and not so often."""


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


class Rewriter:
    """Rewrites one file under its lock."""

    __slots__ = (
        *("_aside", "_before", "_carrying", "_clock", "_disk", "_displaced", "_folder", "_insist"),
        *("_is_stable", "_lock", "_name", "_noted", "_path", "_placed", "_rows_of", "_until", "_versions", "_watch"),
        "_written",
        "merged",
    )

    def __init__(
        self,
        disk: Disk,
        clock: Clock,
        lock: SharedLock,
        path: str,
        set_aside: Callable[[bytes], str],
        *,
        rows_of: RowsOf | None = None,
        watch: Watch | None = None,
        insist: bool = True,
    ) -> None:
        self._disk = disk
        self._clock = clock
        self._lock = lock
        self._path = path
        self._folder, _, self._name = path.rpartition("/")
        self._aside = set_aside
        self._written = 0
        self._noted: Plain = None
        """The temporary file that a dead process has written down."""
        self._versions: list[Version] = []
        self._displaced: Displaced | None = None
        """Foreign versions, if there are any."""
        self._rows_of = rows_of
        self._watch = watch
        self._insist = insist
        self._carrying: Carrying | None = None
        self._before = b""
        """What was read, if the edit may take rows out."""
        self._placed: Version | None = None
        """Our version that was put in place last."""
        self._is_stable = True
        self._until = float("inf")
        self.merged = 0

    def end_at(self, deadline: float) -> None:
        """When to stop making room for others. Called with the lock in hand."""
        now = self._clock.monotonic()
        self._until = now + max(SHORTEST_HOLD, min(LONGEST_HOLD, deadline - now))

    def _is_late(self) -> bool:
        return self._clock.monotonic() >= self._until

    def apply(self, edit: Edit, *, again: bool = False) -> bool:
        """
        Make the edit; say whether the file changed. `merged` counts what foreign writers had added.

        `again` after a lost lock: a first exchange may have placed the edit already, so nothing is done unread.
        """
        carried = self._finish_for_the_dead(edit) or again
        if self._lock.private.body.get("carried") and self._rows_of is not None:
            vanished = self._carry_with(self._rows_of).bring_back(edit.carry, read_whole(self._disk, self._path))
            self.merged += vanished
            carried = carried or vanished > 0
        patience = self._torn_patience(self._until)
        while True:
            source = self._opened(self._path)
            try:
                if not self._is_settled(source):
                    source.settled = False
                    source.read()
                changed = self._apply_to(edit, source, carried)
            except (NotJson, EOFError):
                problem = source.read()
            else:
                if self._carrying is not None:
                    placed = self._placed.read() if self._placed is not None else self._before
                    self._carrying.settle(self._before, placed, is_stable=self._is_stable)
                return changed
            if not next(patience):
                break
        raise UnreadableFile(
            f"{self._path} is not a JSON file of the expected shape; a copy is at {self._aside(problem)}",
            "mend or remove the file, then run `atm spool retry`",
            self._path,
        )

    def _torn_patience(self, until: float) -> Iterator[bool]:
        """Naps, and says True, as long as what is torn may be whole in a moment."""
        until = min(until, self._clock.monotonic() + TORN_TRIES * TORN_NAP)
        for _ in range(TORN_TRIES):
            if self._clock.monotonic() >= until:
                break
            self._clock.sleep(TORN_NAP)
            yield True
        yield False

    def _is_settled(self, source: Version) -> bool:
        tick = FINE_TICK_NS if source.stamp.mtime_ns % 1_000_000_000 else COARSE_TICK_NS
        return self._clock.now() * 1e9 - source.stamp.mtime_ns > tick

    def _apply_to(self, edit: Edit, source: Version, careful: bool) -> bool:
        pieces = None if careful else edit.quick(source)
        if pieces is None:
            content = edit.full(source.read())
            if content is None:
                return False
            pieces, self._before = (0, content), source.read()
        private = self._lock.private
        was_ours = private.trusted == list(source.stamp.content) and not careful
        private.trusted = None
        placed = self._commit_until_stable(edit, pieces, source)
        if was_ours and not self.merged:
            private.trusted = list(placed)
        return True

    def _commit_until_stable(self, edit: Edit, pieces: tuple[int, bytes], expected: Version) -> tuple[int, ...]:
        """Commit, and again while foreign versions turn up. What lies there in the end."""
        for _ in range(MOST_ROUNDS):
            temporary, ours = self._write(pieces, expected), None
            try:
                ours = self._opened(temporary, None if pieces[0] else pieces[1])
                found = self._commit(temporary, ours, expected)
            except BaseException:  # Ctrl-C too: as long as it is not in place, nobody needs it
                if ours is None or ours.is_stamped_like(temporary):
                    self._disk.remove(temporary)
                raise
            content = None if found is None else self._merged(edit, ours, found)
            if content is None:
                self._forget_foreign()
                return ours.stamp.content
            if self._is_late():
                break
            expected, pieces = ours if found == temporary else self._versions[-1], (0, content)
            expected.settled = False
        if self._rows_of is not None and self._placed is not None and not self._insist:
            self._is_stable = False
            self._forget_foreign()
            return self._placed.stamp.content
        raise FileBusy(f"{self._path} is rewritten all the time by another program", "stop that program", self._path)

    def _opened(self, path: str, content: bytes | None = None) -> Version:
        """`content` if we know it: once the file is in place, others may write into it before we read it."""
        fd = self._disk.open_read(path)
        try:
            self._versions.append(Version(self._disk, fd, content))
        except BaseException:  # Ctrl-C too: nobody else knows that this file is open
            self._disk.close(fd)
            raise
        return self._versions[-1]

    def finish(self) -> None:
        """Make the new name durable. Outside the lock: others need not wait for the disk, only our caller must."""
        if self._placed is not None:
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
            return self._replace(temporary, ours, expected)
        self._placed = ours
        self._let_write(temporary)
        # A program that had the old file open may have written into it after we compared.
        if not expected.lies_at(temporary) or not expected.is_stamped_like(temporary):
            return temporary
        self._disk.remove(temporary)
        return None

    def _replace(self, temporary: str, ours: Version, expected: Version) -> str | None:
        """Where files cannot be exchanged: compare, then replace. The gap between the two is a few microseconds."""
        if not expected.lies_at(self._path):
            self._disk.remove(temporary)
            return self._path
        self._disk.rename(temporary, self._path)
        self._placed = ours
        return None

    def _merged(self, edit: Edit, ours: Version, found: str) -> bytes | None:
        """Our edit on a foreign writer's version; None if theirs stays unreadable and ours is in place."""
        displaced = self._remember()
        if found != self._path:
            displaced.foreign.append(found)
        patience = self._torn_patience(max(self._until, self._clock.monotonic() + SHORTEST_HOLD))
        while True:
            theirs = self._opened(found)
            try:
                added = edit.carry(ours.read(), theirs.read())
                self.merged += added
                base = theirs.read() if self._carrying is None else self._carrying.in_place(ours.read(), theirs.read())
                content = edit.full(base) or base
            except NotJson:
                if not next(patience):
                    break
            else:
                if self._rows_of is not None:
                    new = theirs.read() if added else b"[]"
                    self._carry_with(self._rows_of).write_down(self._before, ours.read(), new)
                    displaced.remove_foreign()
                elif not edit.keeps_additions:  # a later version replaces an earlier one
                    displaced.remove_foreign(but=1)
                return content
        if found == self._path:
            raise UnreadableFile(f"{self._path} is not readable", "mend or remove the file", self._path)
        displaced.give_up(found, theirs.read(), may_wait=edit.keeps_additions)
        return None

    def _let_write(self, displaced: str) -> None:
        """
        Whoever opened it before it was displaced may come to an end, even if it is whole: `open` empties a file, and
        can be kept from that for as long as the disk is busy.
        """
        fd = self._disk.open_read(displaced)
        try:
            patience = self._torn_patience(max(self._until, self._clock.monotonic() + SHORTEST_HOLD))
            while self._disk.is_written(fd) and next(patience):
                continue
        finally:
            self._disk.close(fd)

    def _remember(self) -> Displaced:
        if self._displaced is None:
            from atm.files.adapters.remains.displaced import Displaced  # most rewrites meet nobody

            self._displaced = Displaced(self._disk, self._path, self._aside)
        return self._displaced

    @property
    def _kept(self) -> list[str]:
        return [] if self._displaced is None else self._displaced.kept

    def _carry_with(self, rows_of: RowsOf) -> Carrying:
        if self._carrying is None:
            from atm.files.adapters.remains.carrying import Carrying

            self._carrying = Carrying(self._lock.private, rows_of, self._watch)
        return self._carrying

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
        """
        Not that of a displaced version which a dead process with our number left: it may be all there is of it. Nor one
        that its note tells of: the note lies there until we write ours, and what we are killed at is no version.
        """
        while True:
            self._written += 1
            path = f"{self._folder}/.{self._name}.atm-{self._lock.locks.pid}-{self._written}"
            if path not in (*self._kept, self._noted):
                return path

    def _create(self, path: str, like: FileStamp) -> int:
        try:
            return self._disk.create(path, like)
        except FileExistsError:  # a killed process with our number left it; we hold the lock, so it is dead
            self._disk.remove(path)
            return self._disk.create(path, like)

    def _note(self, temporary: str, ours: Version, expected: Version) -> None:
        note: dict[str, Plain] = {"temporary": temporary, "foreign": [*self._kept]}
        note |= {"placed": list(ours.stamp.signature[:2]), "expected": list(expected.stamp.content)}
        self._lock.private.note(rewrite=note)

    def _forget_foreign(self) -> None:
        if self._displaced is not None:
            self._displaced.remove_foreign()
        if self._kept:
            self._lock.private.note(rewrite={"temporary": "", "foreign": [*self._kept]})
        else:
            self._lock.private.body.pop("rewrite", None)

    def _finish_for_the_dead(self, edit: Edit) -> bool:
        """A process of ours was killed in the middle, or has put something off."""
        if not self._lock.private.left_behind:
            return False
        past = self._lock.private.body.get("rewrite"), edit.carry, self._clock
        self._noted = past[0].get("temporary") if isinstance(past[0], dict) else None
        carried = self._remember().take_over(*past, are_merged=edit.keeps_additions, is_late=self._is_late)
        if not carried:
            self._forget_foreign()
        self.merged += carried
        return carried > 0
