"""Threads of one process that want the same file."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from atm.core.errors import FileBusy
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.locking import Locks
from atm.files.adapters.machine import RealChance, RealClock
from atm.files.adapters.turns import Turns

THREADS = 30


class CountingDisk(RealDisk):
    """Counts how often the system was asked for a lock."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def lock(self, path: str) -> int | None:
        self.asked += 1
        return super().lock(path)


def locks_of(tmp_path: Path, turns: Turns, disk: RealDisk | None = None) -> Locks:
    return Locks(
        disk or RealDisk(),
        RealClock(),
        RealChance(),
        str(tmp_path / "locks"),
        pid=os.getpid(),
        host="here",
        turns=turns,
    )


def test_thirty_threads_each_ask_the_system_once(tmp_path: Path) -> None:
    disk = CountingDisk()
    locks = locks_of(tmp_path, Turns(), disk)
    (tmp_path / "locks").mkdir()
    inside, most, done = 0, 0, 0
    begin = threading.Barrier(THREADS)

    def work() -> None:
        nonlocal inside, most, done
        begin.wait()
        with locks.private(str(tmp_path / "board"), patience=60):
            inside += 1
            most = max(most, inside)
            done += 1
            inside -= 1

    threads = [threading.Thread(target=work) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (most, done, disk.asked) == (1, THREADS, THREADS)


def test_a_thread_that_waited_too_long_is_told_so_and_the_next_one_gets_the_file(tmp_path: Path) -> None:
    turns = Turns()
    locks = locks_of(tmp_path, turns)
    target = str(tmp_path / "board")
    told: list[str] = []

    def too_late() -> None:
        with pytest.raises(FileBusy) as error:
            locks.private(target, patience=0.05).acquire(locks.clock.monotonic() + 0.05)
        told.append(str(error.value))

    with locks.private(target):
        thread = threading.Thread(target=too_late)
        thread.start()
        thread.join(30)
    assert told == [f"another atm process holds {target}"]
    with locks.private(target, patience=0):
        pass


def test_files_that_nobody_wants_are_forgotten() -> None:
    turns = Turns()
    assert turns.take("a", 0)
    assert turns.take("b", 0)
    assert not turns.take("a", 0)
    turns.give("a")
    turns.give("b")
    assert turns._queues == {}


def test_a_lock_that_another_process_holds_gives_the_turn_back(tmp_path: Path) -> None:
    turns = Turns()
    alone = Locks(RealDisk(), RealClock(), RealChance(), str(tmp_path / "locks"), pid=os.getpid(), host="here")
    target = str(tmp_path / "board")
    with alone.private(target), pytest.raises(FileBusy):
        locks_of(tmp_path, turns).private(target, patience=0).acquire(0.0)
    assert turns._queues == {}
    with locks_of(tmp_path, turns).private(target, patience=0):
        assert list(turns._queues) == [alone.file_for(target)]


def test_who_is_interrupted_while_it_waits_has_no_turn_to_give_back(tmp_path):
    class Interrupted(Turns):
        given = 0

        def take(self, path: str, seconds: float) -> bool:  # noqa: ARG002
            raise KeyboardInterrupt

        def give(self, path: str) -> None:
            self.given += 1
            super().give(path)

    turns = Interrupted()
    with pytest.raises(KeyboardInterrupt), locks_of(tmp_path, turns).private(str(tmp_path / "target")):
        pass
    assert turns.given == 0
