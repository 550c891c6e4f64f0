"""A foreign lock whose time stamp lies ahead, or a clock that was set back: time that nobody can set decides."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from atm.core.errors import FileBusy
from atm.files.adapters.locking import PATIENCE, Locks
from atm.files.adapters.remains.stale_locks import BREAK_AFTER
from atm.testing import FakeChance, FakeClock, QuickDisk

FAR = 3600.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(1_800_000_000.0)


@pytest.fixture
def locks(tmp_path, clock) -> Locks:
    return Locks(QuickDisk(), clock, FakeChance(1), str(tmp_path / "locks"), pid=os.getpid(), host="here")


@pytest.fixture
def target(tmp_path) -> str:
    (tmp_path / "inboxes").mkdir()
    path = tmp_path / "inboxes" / "ann.json"
    path.write_text("[]")
    return str(path)


@pytest.fixture
def folder(target, clock) -> Path:
    """A lock that another program made an hour from now."""
    path = Path(f"{target}.lock")
    path.mkdir()
    at(path, clock.now() + FAR)
    return path


def at(path: Path, seconds: float) -> None:
    os.utime(path, (seconds, seconds))


def is_taken(locks: Locks, target: str, patience: float = PATIENCE) -> bool:
    """Somebody comes, waits for a few seconds, and gets the lock or goes away."""
    try:
        with locks.shared(target, patience):
            return True
    except FileBusy:
        return False


def note_in(locks: Locks, target: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(locks.file_for(target)).read_text().strip() or "{}")
    return found


def test_a_lock_from_the_future_is_broken_after_half_a_minute_of_real_time(locks, target, folder, clock):
    begun, tries = clock.monotonic(), 0
    while not is_taken(locks, target):
        tries += 1
        assert folder.exists()
        clock.pass_time(1.0)
    assert BREAK_AFTER <= clock.monotonic() - begun < BREAK_AFTER + PATIENCE + 1
    assert tries >= 4
    assert not folder.exists()
    assert note_in(locks, target) == {}


def test_those_who_only_try_see_it_too(locks, target, folder, clock):
    assert not is_taken(locks, target, 0.0)
    clock.pass_time(BREAK_AFTER - 0.1)
    assert not is_taken(locks, target, 0.0)
    clock.pass_time(0.1)
    assert is_taken(locks, target, 0.0)


def test_one_that_is_refreshed_is_alive_whatever_its_time_says(locks, target, folder, clock):
    for turn in range(20):
        assert not is_taken(locks, target)
        at(folder, clock.now() + FAR + turn)
    assert folder.exists()


def test_another_lock_at_the_same_place_is_watched_anew(locks, target, folder, clock):
    assert not is_taken(locks, target)
    clock.pass_time(BREAK_AFTER - 6)
    folder.rmdir()
    folder.mkdir()
    at(folder, clock.now() + 2 * FAR)
    for _ in range(2):
        assert not is_taken(locks, target)
    assert folder.exists()


def test_what_was_seen_before_the_machine_was_started_anew_does_not_count(tmp_path, locks, target, folder, clock):
    clock.pass_time(500.0)
    assert not is_taken(locks, target)
    again = Locks(QuickDisk(), FakeClock(clock.now()), FakeChance(1), locks.folder, pid=os.getpid(), host="here")
    assert not is_taken(again, target)
    assert folder.exists()


def test_a_clock_that_is_set_back_keeps_no_old_lock_alive(locks, target, folder, clock):
    at(folder, clock.now())
    clock.jump(-FAR)
    assert not is_taken(locks, target)
    clock.pass_time(BREAK_AFTER)
    assert is_taken(locks, target)


def test_one_with_something_inside_is_left_alone_for_ever(locks, target, folder, clock):
    (folder / "pid").write_text("1")
    for _ in range(10):
        assert not is_taken(locks, target)
    assert (folder / "pid").exists()


def test_a_lock_file_of_a_live_process_is_not_broken_by_watching_it(locks, target, clock):
    path = Path(f"{target}.lock")
    path.write_text(json.dumps({"pid": os.getpid(), "host": "here"}))
    for _ in range(10):
        assert not is_taken(locks, target)
    assert path.exists()


def test_a_body_that_nobody_of_us_wrote_is_no_proof(locks, target, folder, clock):
    is_taken(locks, target, 0.0)
    Path(locks.file_for(target)).write_text(json.dumps({"seen": ["x", 1, 2, -1e9]}))
    assert not is_taken(locks, target)
    assert folder.exists()


def test_what_was_seen_is_kept_beside_what_a_killed_process_left(locks, target, folder, clock):
    is_taken(locks, target, 0.0)
    left = {"pid": 1, "host": "here", "rewrite": {"temporary": "somewhere"}}
    Path(locks.file_for(target)).write_text(json.dumps(left))
    assert not is_taken(locks, target)
    assert {key: note_in(locks, target)[key] for key in left} == left
    clock.pass_time(BREAK_AFTER)
    assert is_taken(locks, target)
    assert note_in(locks, target) == {"rewrite": {"temporary": "somewhere"}}
