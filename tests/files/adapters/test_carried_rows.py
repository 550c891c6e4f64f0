"""Rows of others that were brought along: written down, watched for a moment, let go. With a clock of ours."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from atm.files.adapters.locking import Locks, PrivateLock
from atm.files.adapters.remains import carried_rows
from atm.files.adapters.remains.carried_rows import LONGEST_WATCH, PUT_BACK_WITHIN, WATCH_FOR, CarriedRows
from atm.testing import FakeChance, FakeClock, QuickDisk

ONE, TWO, THREE = '{"n": 1}', '{\n    "n": 2\n  }', '{"n": "3, [4]"}'


@pytest.fixture
def clock() -> FakeClock:
    made = FakeClock()
    made.pass_time(1000.0)
    return made


@pytest.fixture
def locks(tmp_path, clock) -> Locks:
    return Locks(QuickDisk(), clock, FakeChance(1), str(tmp_path / "locks"), pid=os.getpid(), host="here")


def held(locks: Locks) -> PrivateLock:
    return locks.private("/somewhere/ann.json")


def watched(locks: Locks) -> list[Any]:
    """What the next holder of the lock would look for."""
    with held(locks) as lock:
        found: list[Any] = json.loads(CarriedRows(lock).due())
        return found


def add(locks: Locks, *rows: str) -> None:
    with held(locks) as lock:
        CarriedRows(lock).add([*rows])


def look(locks: Locks, *, had_vanished: bool = False, watch: bool = True) -> None:
    """Somebody had the lock, and all rows lie in the file afterwards."""
    with held(locks) as lock:
        CarriedRows(lock).placed(had_vanished=had_vanished, watch=watch)


def files(locks: Locks) -> list[str]:
    return sorted(name for name in os.listdir(locks.folder) if "carried" in name)


def test_rows_are_kept_to_the_letter_and_in_order(locks):
    add(locks, ONE, TWO)
    add(locks, THREE)
    with held(locks) as lock:
        assert CarriedRows(lock).due() == f"[{ONE},\n{TWO},\n{THREE}]\n".encode()


def test_what_nobody_has_seen_in_the_file_is_owed_however_long_that_takes(locks, clock):
    add(locks, ONE)
    clock.pass_time(10 * PUT_BACK_WITHIN)
    assert watched(locks) == [json.loads(ONE)]


def test_what_lies_in_the_file_is_watched_for_a_moment_and_looked_at_once_more_then(locks, clock):
    add(locks, ONE)
    look(locks)
    clock.pass_time(WATCH_FOR - 0.1)
    look(locks)
    assert len(watched(locks)) == 1
    clock.pass_time(0.1)
    assert len(watched(locks)) == 1  # the last look
    look(locks)
    assert watched(locks) == []
    assert files(locks) == []


def test_each_row_has_a_moment_of_its_own(locks, clock):
    add(locks, ONE)
    look(locks)
    clock.pass_time(WATCH_FOR / 2)
    add(locks, TWO, THREE)
    look(locks)
    clock.pass_time(WATCH_FOR / 2)
    look(locks)
    assert watched(locks) == [json.loads(TWO), json.loads(THREE)]


def test_a_row_that_vanished_is_watched_anew_but_not_for_ever(locks, clock):
    add(locks, ONE)
    look(locks)
    begun = clock.monotonic()
    while watched(locks):
        clock.pass_time(WATCH_FOR)
        look(locks, had_vanished=True)
    assert LONGEST_WATCH <= clock.monotonic() - begun <= LONGEST_WATCH + WATCH_FOR


def test_a_row_that_was_there_long_ago_may_have_been_taken_out_on_purpose(locks, clock):
    add(locks, ONE)
    look(locks)
    clock.pass_time(PUT_BACK_WITHIN)
    assert len(watched(locks)) == 1
    clock.pass_time(0.1)
    assert watched(locks) == []


def test_after_a_new_start_of_the_machine_there_is_one_last_look(locks, tmp_path):
    add(locks, ONE)
    look(locks)
    again = Locks(QuickDisk(), FakeClock(), FakeChance(1), locks.folder, pid=os.getpid(), host="here")
    assert len(watched(again)) == 1
    look(again)
    assert watched(again) == []


def test_where_absence_says_nothing_rows_are_let_go_once_they_are_placed(locks):
    add(locks, ONE)
    look(locks, watch=False)
    assert watched(locks) == []
    assert files(locks) == []


def test_rows_that_we_took_out_ourselves_do_not_come_back(locks):
    add(locks, ONE, TWO)
    add(locks, THREE)
    with held(locks) as lock:
        CarriedRows(lock).forget({ONE, THREE})
    assert watched(locks) == [json.loads(TWO)]
    with held(locks) as lock:
        CarriedRows(lock).forget({TWO})
    assert files(locks) == []


def test_there_are_never_many_and_the_oldest_go_first(locks, monkeypatch):
    monkeypatch.setattr(carried_rows, "MOST_ROWS", 3)
    for number in range(5):
        add(locks, f"[{number}, 0]", f"[{number}, 1]")
    assert watched(locks) == [[3, 1], [4, 0], [4, 1]]
    monkeypatch.setattr(carried_rows, "MOST_BYTES", 10)
    add(locks, '"0123456789"')
    assert watched(locks) == ["0123456789"]


def test_a_kill_between_the_rows_and_the_note_lets_none_go(locks, clock):
    add(locks, ONE)
    look(locks)
    Path(locks.folder, files(locks)[0]).write_text(f"[{ONE}, {TWO}]")
    clock.pass_time(2 * PUT_BACK_WITHIN)
    assert len(watched(locks)) == 2


@pytest.mark.parametrize("content", [None, "torn ["])
def test_rows_that_cannot_be_read_are_no_reason_to_stop(locks, content):
    add(locks, ONE)
    path = Path(locks.folder, files(locks)[0])
    path.unlink() if content is None else path.write_text(content)
    assert watched(locks) == []
    add(locks, TWO)
    assert watched(locks) == [json.loads(TWO)]


def test_a_note_that_is_not_ours_makes_all_rows_owed(locks, clock):
    add(locks, ONE)
    look(locks)
    Path(held(locks).path).write_text('{"carried": ["x"]}')
    clock.pass_time(2 * PUT_BACK_WITHIN)
    assert watched(locks) == [json.loads(ONE)]
