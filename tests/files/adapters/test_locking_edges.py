"""Locks to the second: when waiting ends, what age breaks, and what is noted for the next holder."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from atm.core.errors import FileBusy
from atm.files.adapters.locking import REFRESH_AFTER, LockLost, Locks
from atm.files.adapters.remains.stale_locks import BREAK_AFTER, WATCH_FOR
from atm.testing import FakeChance, FakeClock, QuickDisk


class Ticking(FakeClock):
    """Every nap takes half a second, however short it was meant to be. The wall clock can stand still meanwhile."""

    def __init__(self) -> None:
        super().__init__(1000.0)
        self.wall_stands_still = False

    def sleep(self, seconds: float) -> None:  # noqa: ARG002
        self.pass_time(0.5)
        if self.wall_stands_still:
            self.jump(-0.5)


class Refusing(QuickDisk):
    """Refuses the steps that are named, and knows what is open."""

    def __init__(self) -> None:
        super().__init__()
        self.refused: set[str] = set()
        self.open: set[int] = set()

    def lock(self, path: str) -> int | None:
        fd = super().lock(path)
        self.open |= set() if fd is None else {fd}
        return fd

    def open_read(self, path: str) -> int:
        self._check("open_read")
        return super().open_read(path)

    def close(self, fd: int) -> None:
        self.open.discard(fd)
        super().close(fd)

    def read_at(self, fd: int, start: int, size: int) -> bytes:
        self._check("read_at")
        return super().read_at(fd, start, size)

    def replace_body(self, fd: int, data: bytes) -> None:
        self._check("replace_body")
        super().replace_body(fd, data)

    def remove_folder(self, path: str) -> None:
        self._check("remove_folder")
        super().remove_folder(path)

    def _check(self, step: str) -> None:
        if step in self.refused:
            raise OSError(errno.EIO, "Input/output error", step)


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def disk() -> Refusing:
    return Refusing()


@pytest.fixture
def locks(tmp_path, clock, disk) -> Locks:
    return Locks(disk, clock, FakeChance(1), str(tmp_path / "state" / "locks"), pid=os.getpid(), host="here")


@pytest.fixture
def target(tmp_path) -> str:
    (tmp_path / "inboxes").mkdir()
    path = tmp_path / "inboxes" / "ann.json"
    path.write_text("[]")
    return str(path)


@pytest.fixture
def folder(target) -> Path:
    """Where others lock."""
    return Path(f"{target}.lock")


def changed_at(path: Path, seconds: float) -> None:
    os.utime(path, (seconds, seconds))


def note_in(locks: Locks, target: str) -> dict[str, Any]:
    """What the private lock's file says."""
    found: dict[str, Any] = json.loads(Path(locks.file_for(target)).read_text() or "{}")
    return found


def leave_behind(locks: Locks, target: str, **facts: Any) -> None:
    """What a process of ours wrote before it was killed."""
    with locks.private(target):
        pass
    Path(locks.file_for(target)).write_text(json.dumps({"pid": 1, **facts}))


def signature(folder: Path) -> list[int]:
    found = folder.stat()
    return [found.st_dev, found.st_ino, found.st_mtime_ns]


# When waiting ends.


def test_who_has_no_patience_with_our_own_processes_does_not_nap(locks, target, clock):
    with locks.private(target):
        for lock in (locks.private(target, 0), locks.shared(target, 0)):
            with pytest.raises(FileBusy), lock:
                pass
    assert clock.monotonic() == 0


def test_who_has_no_patience_with_other_programs_does_not_nap(locks, target, folder, clock):
    folder.mkdir()
    with pytest.raises(FileBusy), locks.shared(target, 0):
        pass
    assert clock.monotonic() == 0


def test_who_has_no_patience_with_older_tools_does_not_nap(locks, target, clock):
    import fcntl

    with Path(target).with_name(".lock").open("w") as theirs:
        fcntl.flock(theirs, fcntl.LOCK_EX)
        with pytest.raises(FileBusy), locks.shared(target, 0):
            pass
    assert clock.monotonic() == 0


@pytest.mark.parametrize("kind", ["private", "shared"])
def test_waiting_ends_at_the_deadline_and_not_after_it(locks, target, clock, kind):
    with locks.private(target):
        with pytest.raises(FileBusy), getattr(locks, kind)(target, 2):
            pass
        assert clock.monotonic() == 2


def test_a_lock_that_comes_free_is_taken_and_the_one_who_waited_in_vain_holds_nothing(locks, target, folder, disk):
    folder.mkdir()
    with pytest.raises(FileBusy), locks.shared(target):
        pass
    assert disk.open == set()
    folder.rmdir()
    with locks.shared(target) as lock:
        lock.check()
    assert (disk.open, folder.exists()) == (set(), False)


def test_what_is_no_file_at_an_older_tools_place_is_nobodys_lock(locks, target, clock):
    Path(target).with_name(".lock").mkdir()
    with locks.shared(target):
        assert clock.monotonic() == 0


# What age breaks.


def test_a_directory_of_exactly_the_age_is_left_alone_and_a_little_older_it_goes(locks, target, folder, clock):
    clock.wall_stands_still = True
    folder.mkdir()
    changed_at(folder, clock.now() - BREAK_AFTER)
    with pytest.raises(FileBusy), locks.shared(target):
        pass
    assert folder.is_dir()
    changed_at(folder, clock.now() - BREAK_AFTER - 0.5)
    with locks.shared(target) as lock:
        lock.check()
    assert not folder.exists()


def test_an_old_directory_goes_when_it_was_watched_for_long_enough_and_not_before(locks, target, folder, clock):
    folder.mkdir()
    changed_at(folder, clock.now() - 100)
    with locks.shared(target):
        assert clock.monotonic() == WATCH_FOR


def test_a_lock_file_that_cannot_be_read_is_broken_only_by_age(locks, target, folder, clock, disk):
    folder.write_text('{"pid": 1}')
    changed_at(folder, clock.now())
    disk.refused = {"open_read"}
    with pytest.raises(FileBusy), locks.shared(target):
        pass
    assert folder.is_file()
    changed_at(folder, clock.now() - 100)
    with locks.shared(target):
        assert folder.is_dir()


# A long hold.


def test_a_hold_is_refreshed_when_two_seconds_have_passed_and_not_before(locks, target, folder, clock):
    with locks.shared(target) as lock:
        before = signature(folder)
        assert note_in(locks, target)["lockDirectory"] == before
        clock.pass_time(REFRESH_AFTER)
        lock.check()
        assert signature(folder) == before
        clock.pass_time(0.5)
        lock.check()
        assert signature(folder) != before
        assert note_in(locks, target)["lockDirectory"] == signature(folder), "or nobody would know it for an orphan"
        refreshed = signature(folder)
        clock.pass_time(REFRESH_AFTER)
        lock.check()
        assert signature(folder) == refreshed, "two seconds from the last time"
    assert not folder.exists()


def test_a_lock_that_somebody_else_made_anew_is_not_taken_for_ours(locks, target, folder):
    with locks.shared(target) as lock:
        changed_at(folder, 1)
        with pytest.raises(LockLost):
            lock.check()
    assert folder.is_dir()


# What the next holder must know.


def test_a_lock_that_cannot_say_who_holds_it_is_not_held(locks, target, disk):
    disk.refused = {"replace_body"}
    with pytest.raises(OSError, match="Input/output"), locks.private(target):
        pass
    assert disk.open == set()
    disk.refused = set()
    with locks.private(target):
        pass


def test_a_lock_whose_body_cannot_be_read_is_not_held(locks, target, disk):
    leave_behind(locks, target)
    disk.refused = {"read_at"}
    for lock in (locks.private(target), locks.shared(target)):
        with pytest.raises(OSError, match="Input/output"), lock:
            pass
        assert disk.open == set()


def test_who_only_looks_in_leaves_what_a_killed_process_wrote(locks, target, clock):
    leave_behind(locks, target, lockDirectory=[1, 2, 3])
    before = note_in(locks, target)
    lock = locks.private(target)
    lock.acquire(clock.monotonic())
    assert lock.left_behind == before
    lock.release()
    assert note_in(locks, target) == before


def test_who_took_the_whole_lock_has_cleared_up_after_a_killed_process(locks, target):
    leave_behind(locks, target, lockDirectory=[1, 2, 3])
    with locks.shared(target) as lock:
        assert lock.private.left_behind["lockDirectory"] == [1, 2, 3]
    with locks.shared(target) as lock:
        assert lock.private.left_behind == {}


def test_a_rewrite_that_nobody_finished_is_handed_on_until_somebody_does(locks, target):
    leave_behind(locks, target, rewrite={"temporary": "somewhere"})
    for _ in range(2):
        with locks.shared(target) as lock:
            assert note_in(locks, target)["rewrite"] == {"temporary": "somewhere"}
            assert lock.private.left_behind["rewrite"] == {"temporary": "somewhere"}
    assert "pid" not in note_in(locks, target)


def test_the_version_that_we_left_is_remembered_until_a_writer_is_interrupted(locks, target):
    with locks.private(target) as lock:
        assert lock.trusted is None
        lock.trusted = [1, 2, 3, 4]
    with locks.private(target) as lock:
        assert (lock.trusted, lock.left_behind) == ([1, 2, 3, 4], {})
    Path(locks.file_for(target)).write_text(json.dumps({"pid": 1, "trusted": [1, 2, 3, 4]}))
    with locks.private(target) as lock:
        assert lock.trusted is None


@pytest.mark.parametrize("kind", ["the noted folder", "another folder", "a file"])
def test_an_orphan_is_the_folder_that_was_noted_and_nothing_else(locks, target, folder, clock, kind):
    if kind == "a file":
        folder.write_text("")
    else:
        folder.mkdir()
    noted = signature(folder)
    if kind == "another folder":
        changed_at(folder, clock.now())
    leave_behind(locks, target, lockDirectory=noted)
    if kind == "the noted folder":
        with locks.shared(target, 0):
            assert clock.monotonic() == 0
    else:
        with pytest.raises(FileBusy), locks.shared(target, 0):
            pass
        assert folder.exists()


def test_a_folder_that_cannot_be_removed_after_the_commit_is_no_failure_of_the_write(locks, target, folder, disk):
    disk.refused = {"remove_folder"}
    with locks.shared(target):
        pass
    assert folder.is_dir()
    assert disk.open == set()


def test_our_notes_are_ours_alone(locks, target):
    former = os.umask(0)
    try:
        with locks.private(target):
            path = Path(locks.file_for(target))
            assert [each.stat().st_mode & 0o777 for each in (path, path.parent)] == [0o600, 0o700]
    finally:
        os.umask(former)
