"""Locks: who is waited for, who is broken, and that nobody's lock is taken away by us."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.proving import proves

from atm.core.errors import FileBusy, NoSuchTeam
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.locking import LockLost, Locks, SharedLock
from atm.files.adapters.machine import RealChance
from atm.testing import FakeClock


class Steered(FakeClock):
    """Begins at the real time, so that ages of real files mean something. `on_sleep` runs at every nap."""

    def __init__(self) -> None:
        super().__init__(time.time())
        self.on_sleep = lambda: None

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.on_sleep()


@pytest.fixture
def clock():
    return Steered()


@pytest.fixture
def locks(tmp_path, clock):
    return Locks(RealDisk(), clock, RealChance(), str(tmp_path / "locks"), pid=os.getpid(), host=socket.gethostname())


@pytest.fixture
def target(tmp_path):
    path = tmp_path / "inboxes" / "ann.json"
    path.parent.mkdir()
    path.write_text("[]")
    return path


@pytest.fixture
def lock_path(target):
    return target.parent / "ann.json.lock"


def shared(locks: Locks, target: Path) -> SharedLock:
    return locks.shared(str(target))


def aged(path, seconds, now=None):
    """So old for a clock that says `now`: the steered one stands still while a slow machine works."""
    then = (time.time() if now is None else now) - seconds
    os.utime(path, (then, then))


def a_dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    return process.pid


@proves(
    "R000-lock-04",
    "R000-lock-05",
    "R000-lock-11",
    "R000-lock-17",
    "R000-lock-24",
    "R001-3.2-08",
    "R001-3.2-27",
    "R001-8.1-03",
)
def test_the_lock_is_an_empty_directory_and_goes_when_released(locks, target, lock_path):
    with shared(locks, target):
        assert lock_path.is_dir()
        assert list(lock_path.iterdir()) == []
    assert not lock_path.exists()


@proves("R000-lock-07", "R000-lock-08", "R000-lock-09", "R000-lock-10", "R000-lock-11", "R000-lock-21", "R001-3.2-08")
def test_the_private_lock_says_who_holds_it(locks, target):
    with shared(locks, target):
        body = json.loads(Path(locks.file_for(str(target))).read_text())
        assert body["pid"] == os.getpid()
        assert body["host"] == socket.gethostname()
        assert body["ttlSeconds"] == 30
        assert body["createdAt"].endswith("Z")


def test_a_private_lock_without_a_directory_says_it_too(locks, target):
    """By this the next holder knows that somebody was killed while they held it."""
    with locks.private(str(target)):
        assert json.loads(Path(locks.file_for(str(target))).read_text())["pid"] == os.getpid()
    with locks.private(str(target)) as lock:
        assert lock.left_behind == {}


@proves("R000-lock-06", "R001-3.2-35", "R001-10-05", "R004-messaging-M3b")
def test_our_own_processes_wait_for_one_another(locks, target):
    with shared(locks, target), pytest.raises(FileBusy), shared(locks, target):
        pass


@proves("R001-3.2-41")
def test_a_young_foreign_directory_is_waited_for_and_never_broken(locks, target, lock_path):
    lock_path.mkdir()
    with pytest.raises(FileBusy), shared(locks, target):
        pass
    assert lock_path.is_dir()


@proves("R000-lock-16", "R000-delivery-retry-03", "R001-3.2-11", "R004-task-system-T4d")
def test_waiting_ends_after_about_five_seconds(locks, target, lock_path, clock):
    lock_path.mkdir()
    with pytest.raises(FileBusy), shared(locks, target):
        pass
    assert 5.0 <= clock.monotonic() < 5.2


@proves("R000-lock-13", "R001-3.2-06")
def test_an_old_foreign_directory_is_broken_after_a_second_of_watching(locks, target, lock_path, clock):
    lock_path.mkdir()
    aged(lock_path, 40, clock.now())
    with shared(locks, target):
        assert 1.0 <= clock.monotonic() < 1.3
    assert not lock_path.exists()


def test_a_directory_of_twenty_nine_seconds_is_left_to_its_owner(locks, target, lock_path, clock):
    lock_path.mkdir()
    aged(lock_path, 24, clock.now())  # and 29 when the waiting ends
    with pytest.raises(FileBusy), shared(locks, target):
        pass
    assert lock_path.is_dir()


def test_a_directory_that_is_touched_while_we_watch_belongs_to_somebody_alive(locks, target, lock_path, clock):
    lock_path.mkdir()
    aged(lock_path, 100, clock.now())
    clock.on_sleep = lambda: aged(lock_path, 90, clock.now())
    with pytest.raises(FileBusy), shared(locks, target):
        pass
    assert lock_path.is_dir()


def test_a_directory_from_the_future_is_not_old(locks, target, lock_path):
    lock_path.mkdir()
    aged(lock_path, -3600)
    with pytest.raises(FileBusy), shared(locks, target):
        pass


@proves("R000-lock-13")
def test_a_lock_file_of_a_live_process_is_never_broken_by_age(locks, target, lock_path):
    lock_path.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "ttlSeconds": 30}))
    aged(lock_path, 10_000)
    with pytest.raises(FileBusy), shared(locks, target):
        pass
    assert lock_path.is_file()


@proves("R000-lock-14")
def test_a_lock_file_of_a_dead_process_is_removed_at_once(locks, target, lock_path, clock):
    lock_path.write_text(json.dumps({"pid": a_dead_pid(), "host": socket.gethostname()}))
    with shared(locks, target):
        assert clock.monotonic() < 0.1


@pytest.mark.parametrize("body", ["", '{"pid": 12', "garbage", '{"pid": "x"}'])
def test_an_empty_or_torn_lock_file_is_broken_only_by_age(locks, target, lock_path, clock, body):
    lock_path.write_text(body)
    with pytest.raises(FileBusy), shared(locks, target):
        pass
    aged(lock_path, 40, clock.now())
    with shared(locks, target):
        assert lock_path.is_dir()


def test_a_lock_file_of_another_host_is_judged_by_age_alone(locks, target, lock_path):
    lock_path.write_text(json.dumps({"pid": a_dead_pid(), "host": "elsewhere"}))
    with pytest.raises(FileBusy), shared(locks, target):
        pass
    assert lock_path.is_file()


def test_a_directory_with_something_inside_is_never_touched(locks, target, lock_path):
    lock_path.mkdir()
    (lock_path / "pid").write_text("1")
    aged(lock_path, 1000)
    with pytest.raises(FileBusy), shared(locks, target):
        pass
    assert (lock_path / "pid").exists()


def test_a_symbolic_link_is_never_touched(locks, target, lock_path, tmp_path):
    lock_path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileBusy), shared(locks, target):
        pass
    assert lock_path.is_symlink()


@proves("R000-lock-18")
def test_releasing_leaves_a_strangers_lock_alone(locks, target, lock_path):
    with shared(locks, target):
        lock_path.rmdir()
        lock_path.mkdir()
        aged(lock_path, 1)
    assert lock_path.is_dir()


@proves("R000-lock-22")
def test_a_lock_that_was_taken_away_is_noticed_before_the_commit(locks, target, lock_path):
    with shared(locks, target) as lock:
        lock.check()
        lock_path.rmdir()
        with pytest.raises(LockLost):
            lock.check()


def test_a_long_hold_is_refreshed_so_that_claude_code_does_not_take_over(locks, target, lock_path, clock):
    with shared(locks, target) as lock:
        aged(lock_path, 9)
        found = RealDisk().look(str(lock_path))
        assert found is not None
        lock._mine = found.signature
        clock.pass_time(3)
        now = time.time()
        lock.check()
        assert lock_path.stat().st_mtime > now - 2
        lock.check()


@proves("R000-lock-19")
def test_an_orphan_of_ours_is_removed_at_once(locks, target, lock_path, clock):
    script = f"""
import os, signal, socket
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.locking import Locks
from atm.files.adapters.machine import RealChance, RealClock
locks = Locks(RealDisk(), RealClock(), RealChance(), {locks.folder!r}, pid=os.getpid(), host=socket.gethostname())
with locks.shared({str(target)!r}):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert lock_path.is_dir()
    with shared(locks, target):
        assert clock.monotonic() < 0.1


def test_a_foreign_lock_after_our_orphan_is_not_mistaken_for_it(locks, target, lock_path):
    script = f"""
import os, signal, socket
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.locking import Locks
from atm.files.adapters.machine import RealChance, RealClock
locks = Locks(RealDisk(), RealClock(), RealChance(), {locks.folder!r}, pid=os.getpid(), host=socket.gethostname())
with locks.shared({str(target)!r}):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", script], check=False)
    lock_path.rmdir()
    lock_path.mkdir()
    aged(lock_path, 1)  # it may have the same number, and on a quick machine the same time stamp
    with pytest.raises(FileBusy), shared(locks, target):
        pass
    assert lock_path.is_dir()


@pytest.mark.parametrize("name", [".lock", "ann.lock"])
def test_the_lock_files_of_older_tools_are_taken_as_well(locks, target, name):
    import fcntl

    with open(target.parent / name, "w") as theirs:
        fcntl.flock(theirs, fcntl.LOCK_EX)
        with pytest.raises(FileBusy), shared(locks, target):
            pass
        fcntl.flock(theirs, fcntl.LOCK_UN)
        with shared(locks, target), pytest.raises(BlockingIOError):
            fcntl.flock(theirs, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(theirs, fcntl.LOCK_EX | fcntl.LOCK_NB)  # and given back


def test_a_folder_that_is_gone_is_a_team_that_is_gone(locks, target):
    target.unlink()
    target.parent.rmdir()
    with pytest.raises(NoSuchTeam):
        shared(locks, target).__enter__()


def test_two_long_paths_do_not_share_a_private_lock(locks):
    one, other = "/a" * 200 + "/x.json", "/b" * 200 + "/x.json"
    assert locks.file_for(one) != locks.file_for(other)
    assert len(os.path.basename(locks.file_for(one))) < 200
