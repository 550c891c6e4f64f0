"""
The world stops, or the disk refuses, at every single step of changing records, putting a damaged file aside, noting
and making a secret.

Afterwards a fresh process finds the old record or the new one, never half a file, and can go on at once. A damaged
file is never lost: it lies where it lay, or beside.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.chaos import ROUNDS, WAYS, an_error, kills, refusals
from tests.proving import proves

from atm.core.errors import AtmError
from atm.files.adapters.locking import Locks
from atm.files.adapters.machine import RealChance, find_layout, host_name
from atm.files.adapters.record_store import RecordFiles
from atm.files.formats.layout import Layout
from atm.files.formats.record_file import SEALED_FROM
from atm.files.ports.disk import Disk
from atm.files.ports.records import STALLS, STATUS
from atm.team.adapters.team_secrets import SecretFiles
from atm.team.formats.team_config import new_team
from atm.testing import Crash, FaultyDisk, QuickDisk
from atm.wiring.mail import build_room
from atm.worksync.adapters import JournalFiles

OLD: Any = {"n": 1}
NEW: Any = {"n": 2}
DAMAGED = b'{"schemaName": "member-work-sync.status", "schemaVersion": 1, "da'
ODD = b'{"schemaName": "member-work-sync.status", "schemaVersion": 1, "data": {"members": {"ann": {"n": 1}, "bob": 7}}}'


class HurriedClock:
    """Real time, but waiting takes none."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def now(self) -> float:
        return time.time() + self._ahead

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead

    def sleep(self, seconds: float) -> None:
        self._ahead += seconds


class Home:
    """The files of one trial."""

    def __init__(self, path: Path) -> None:
        self.layout: Layout = find_layout({"ATM_HOME": str(path)})
        room = build_room(self.layout, disk=QuickDisk())
        room.rosters.create("crew", new_team("crew", description="", lead="team-lead", now=0))
        self.folder = Path(self.layout.sync_folder("crew"))

    def locks(self, disk: Disk) -> Locks:
        return Locks(disk, HurriedClock(), RealChance(), self.layout.locks, pid=os.getpid(), host=host_name())

    def records(self, disk: Disk | None = None) -> RecordFiles:
        disk = disk or QuickDisk()
        return RecordFiles(disk, HurriedClock(), self.locks(disk), self.layout)

    def secrets(self, disk: Disk | None = None) -> SecretFiles:
        disk = disk or QuickDisk()
        return SecretFiles(disk, self.locks(disk), self.layout, os.urandom)

    def journal(self, disk: Disk | None = None) -> JournalFiles:
        disk = disk or QuickDisk()
        return JournalFiles(disk, self.locks(disk), self.layout, largest=300)

    def status(self) -> dict[str, Any]:
        return {**self.records().read("crew", STATUS)}


Act = Callable[[Home, Disk], object]
Check = Callable[[Home, str], object]


def change(home: Home, disk: Disk, shelf: str = STATUS) -> None:
    home.records(disk).change("crew", shelf, lambda _: {"ann": NEW}, keys=["ann"])


# Each trial: what lies there before, what is done, and what must hold afterwards, whatever stopped it.


def nothing(home: Home) -> None:
    return None


def small(home: Home) -> None:
    home.records().change("crew", STATUS, lambda _: {"ann": OLD, "bob": {}})


def sealed(home: Home) -> None:
    home.records().change("crew", STATUS, lambda _: {"ann": OLD, "bob": {}, "cleo": {"text": "x" * SEALED_FROM}})


def stalls(home: Home) -> None:
    home.records().change("crew", STALLS, lambda _: {"ann": OLD})


def damaged(home: Home) -> None:
    small(home)
    (home.folder / "status.json").write_bytes(DAMAGED)


def damaged_six_times(home: Home) -> None:
    for number in range(5):
        small(home)
        (home.folder / "status.json").write_bytes(b"%d" % number)
        small(home)
    damaged(home)


def odd(home: Home) -> None:
    small(home)
    (home.folder / "status.json").write_bytes(ODD)


def old_or_new(home: Home, where: str) -> None:
    found = home.status()
    assert found.pop("ann", OLD) in (OLD, NEW), where
    assert found.pop("cleo", {"text": "x" * SEALED_FROM}) == {"text": "x" * SEALED_FROM}, where
    assert found in ({}, {"bob": {}}), where
    assert home.records().problem("crew", STATUS) == "", where


def complete(home: Home, where: str) -> None:
    """As `old_or_new`, where something was there before."""
    assert set(home.status()) >= {"ann", "bob"}, where
    old_or_new(home, where)


def in_the_journal(home: Home, where: str) -> None:
    assert home.records().read("crew", STALLS) in ({"ann": OLD}, {"ann": NEW}), where


def kept_aside(what: bytes) -> Check:
    def check(home: Home, where: str) -> None:
        contents = [path.read_bytes() for path in home.folder.glob("status.json*")]
        assert what in contents, f"what could not be used is lost: {where}"
        assert home.status() in ({}, {"ann": OLD}, {"ann": NEW}), where

    return check


TRIALS: dict[str, tuple[Callable[[Home], None], Act, Check]] = {
    "the first": (nothing, change, old_or_new),
    "a small file": (small, change, complete),
    "a sealed file": (sealed, change, complete),
    "the stall journal": (stalls, lambda home, disk: change(home, disk, STALLS), in_the_journal),
    "a damaged file": (damaged, change, kept_aside(DAMAGED)),
    "many damaged files": (damaged_six_times, change, kept_aside(DAMAGED)),
    "a record that is none": (odd, change, kept_aside(ODD)),
}


@contextmanager
def a_home(folder: Path, prepare: Callable[[Home], object] = nothing) -> Iterator[Home]:
    """For one step; gone afterwards."""
    home = Home(folder / "home")
    prepare(home)
    yield home
    shutil.rmtree(folder / "home")


def steps_of(folder: Path, prepare: Callable[[Home], object], act: Act) -> list[str]:
    disk = FaultyDisk(QuickDisk())
    with a_home(folder, prepare) as home:
        act(home, disk)
    return disk.steps


def ends(disk: FaultyDisk) -> None:
    """The process that met the error ends: what a refused `close` left open is closed, and its locks go."""
    for fd in disk._open:
        os.close(fd)


def is_done_later(home: Home, act: Act, where: str) -> None:
    """A fresh process does it once more, and leaves nothing half made."""
    act(home, QuickDisk())
    shelf = STALLS if Path(home.layout.records("crew", STALLS)).exists() else STATUS
    assert home.records().read("crew", shelf)["ann"] == NEW, where
    left = [path.name for path in [*home.folder.glob(".*.new"), *home.folder.parent.glob(".*.new")]]
    assert left == [], where


@pytest.mark.parametrize("trial", TRIALS)
def test_a_change_takes_a_known_number_of_steps(tmp_path, trial):
    prepare, act, _ = TRIALS[trial]
    steps = steps_of(tmp_path, prepare, act)
    assert {"lock", "create", "write", "sync", "rename", "sync_folder"} <= set(steps)
    assert len(steps) < 80


@proves("R002-8.0-52", "R002-11.3-08", "R002-16.7-33", "R002-20.3-16", "R002-27.1-15")
@pytest.mark.parametrize("trial", TRIALS)
def test_killed_at_any_step_the_old_or_the_new_is_there(tmp_path, trial):
    prepare, act, check = TRIALS[trial]
    steps = steps_of(tmp_path, prepare, act)
    for step in kills(steps):
        with a_home(tmp_path, prepare) as home:
            with pytest.raises(Crash):
                act(home, FaultyDisk(QuickDisk(), stop_at=step))
            where = f"killed at step {step} ({steps[step]})"
            check(home, where)
            is_done_later(home, act, where)


@proves("R002-17.4-07")
@pytest.mark.campaign
@pytest.mark.parametrize("turn", ROUNDS)
@pytest.mark.parametrize("trial", TRIALS)
def test_an_error_at_any_step_is_ours_and_leaves_the_old_or_the_new(tmp_path, trial, turn):
    prepare, act, check = TRIALS[trial]
    for refusal in refusals(steps_of(tmp_path, prepare, act), turn + [*TRIALS].index(trial)):
        with a_home(tmp_path, prepare) as home:
            disk = FaultyDisk(QuickDisk(), stop_at=refusal.step, error=refusal.error)
            try:
                act(home, disk)
            except AtmError:
                pass
            except OSError as error:
                raise AssertionError(f"not one of our errors: {refusal}") from error
            ends(disk)
            check(home, str(refusal))
            is_done_later(home, act, str(refusal))


def test_a_read_that_is_refused_is_said_and_puts_nothing_aside(tmp_path):
    home = Home(tmp_path)
    sealed(home)
    for way in WAYS:
        for step in range(20):
            disk = FaultyDisk(QuickDisk(), stop_at=step, error=an_error(way))
            try:
                found = home.records(disk).read("crew", STATUS, ["ann"])
            except AtmError:
                ends(disk)
                continue
            assert found == {"ann": OLD}
            ends(disk)
            if len(disk.steps) <= step:
                break
        else:
            raise AssertionError("it never came to its end")
    assert [path.name for path in home.folder.iterdir()] == ["status.json"]


def a_secret(home: Home, disk: Disk) -> bytes:
    return home.secrets(disk).secret("crew")


def test_killed_at_any_step_a_secret_is_whole_or_made_later_and_then_stays(tmp_path):
    for step in kills(steps_of(tmp_path, nothing, a_secret)):
        check_secret(tmp_path, FaultyDisk(QuickDisk(), stop_at=step))


@pytest.mark.campaign
@pytest.mark.parametrize("turn", ROUNDS)
def test_refused_at_any_step_a_secret_is_whole_or_made_later_and_then_stays(tmp_path, turn):
    for refusal in refusals(steps_of(tmp_path, nothing, a_secret), turn):
        check_secret(tmp_path, FaultyDisk(QuickDisk(), stop_at=refusal.step, error=refusal.error))


def check_secret(folder: Path, disk: FaultyDisk) -> None:
    with a_home(folder) as home:
        given = None
        try:
            given = a_secret(home, disk)
        except (Crash, AtmError):
            pass
        if not disk.dead:
            ends(disk)
        later = home.secrets().secret("crew")
        assert given in (None, later), f"a secret was given out and lost: {disk.steps}"
        assert home.secrets().secret("crew") == later
        assert len(later) == 32


def test_killed_at_any_step_of_a_note_no_line_that_was_there_is_lost(tmp_path):
    def note(home: Home, disk: Disk) -> None:
        home.journal(disk).note("crew", {"n": 9, "text": "x" * 100})

    def filled(home: Home) -> None:
        for number in range(6):
            home.journal().note("crew", {"n": number, "text": "x" * 100})

    steps = steps_of(tmp_path, filled, note)
    assert "rename" in steps, "the files are not turned over on the way"
    for step in kills(steps):
        with a_home(tmp_path, filled) as home:
            with pytest.raises(Crash):
                note(home, FaultyDisk(QuickDisk(), stop_at=step))
            home.journal().note("crew", {"n": 10})
            numbers = [record["n"] for record in home.journal().last("crew", 20)]
            where = f"killed at step {step} ({steps[step]})"
            assert numbers in ([0, 1, 2, 3, 4, 5, 10], [0, 1, 2, 3, 4, 5, 9, 10]), where
