"""
The stall watch, stopped at every single step: by kill -9, by a full or broken disk, by a real signal.

Whatever the step, the next rounds of a fresh process tell the owner and then the lead, each once and never twice, the
journal says so, and nothing half-made lies about.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.chaos import ROUNDS, refusals
from tests.crash.conftest import Left, silent_kills

from atm.board.services import planning
from atm.board.services import working as board
from atm.board.services.new_tasks import NewTask
from atm.board.services.stall_watch import Alert, watch_stalls
from atm.core.errors import AtmError, NoSuchTeam
from atm.files.adapters.locking import Locks
from atm.files.adapters.machine import find_layout
from atm.files.adapters.record_store import RecordFiles
from atm.files.ports.disk import Disk
from atm.files.ports.records import STALLS
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send
from atm.roster.services.full_boardroom import FullBoardroom
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.testing import Crash, FaultyDisk, MemoryPrograms, QuickDisk
from atm.testing.time_and_chance import FakeChance
from atm.wiring.board import build_tasks
from atm.wiring.mail import build_room

pytestmark = pytest.mark.campaign  # there every step is looked at, and is refused in every way

LEAD = "team-lead"
MINUTES = 30.0


class HurriedClock:
    """Real time, but waiting takes none, unless there are rivals to wait for."""

    def __init__(self, ahead: float = 0.0, *, patient: bool = False) -> None:
        self._ahead = ahead
        self._patient = patient

    def now(self) -> float:
        return time.time() + self._ahead

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead

    def sleep(self, seconds: float) -> None:
        if self._patient:
            time.sleep(seconds)
        else:
            self._ahead += seconds


class Watch:
    """The stall watch of one process over real files, so many minutes after the task was claimed."""

    def __init__(
        self, home: Path, minutes: float = 0.0, disk: Disk | None = None, *, among_rivals: bool = False
    ) -> None:
        layout, clock = find_layout({"ATM_HOME": str(home)}), HurriedClock(minutes * 60, patient=among_rivals)
        disk = disk or QuickDisk()
        room = build_room(layout, disk=disk, clock=clock)
        tasks = build_tasks(layout, disk=disk, clock=clock)
        locks = Locks(disk, clock, FakeChance(os.getpid()), layout.locks, pid=os.getpid(), host="here")
        self.boardroom = FullBoardroom(room=room, tasks=tasks, programs=MemoryPrograms)
        self.records = RecordFiles(disk, clock, locks, layout)

    def look(self) -> list[Alert]:
        return watch_stalls(self.boardroom, self.records, self.boardroom.room.rosters.load("crew"), MINUTES)

    def mail(self, name: str) -> list[str]:
        return [row.id or "" for row in self.boardroom.room.inboxes.rows("crew", name) if row.sender == "atm"]


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A team in which ann has claimed #1 and bob #2 and both fell silent."""
    home = tmp_path_factory.mktemp("first") / "home"
    boardroom = Watch(home).boardroom
    create_team(boardroom.room, "crew", lead=LEAD)
    for name in (LEAD, "ann", "bob"):
        if boardroom.room.rosters.load("crew").member(name) is None:
            add_member(boardroom.room, "crew", Member(name))
    planning.add(boardroom, "crew", LEAD, [NewTask("the parser"), NewTask("the printer")])
    board.claim(boardroom, "crew", "ann", "1")
    board.claim(boardroom, "crew", "bob", "2")
    return home


def copy_of(first: Path, home: Path) -> Path:
    shutil.copytree(first, home, symlinks=True)
    return home


def told_by_owner(first: Path, home: Path) -> Path:
    """The same, half an hour after both owners were told."""
    copy_of(first, home)
    assert len(Watch(home, 31).look()) == 2
    return home


STAGES: dict[str, tuple[Callable[[Path, Path], Path], float]] = {
    "telling the owners": (copy_of, 31.0),
    "telling the lead": (told_by_owner, 62.0),
}


def steps_of(home: Path, minutes: float) -> list[str]:
    disk = FaultyDisk(QuickDisk())
    assert len(Watch(home, minutes, disk).look()) == 2
    return disk.steps


def check_settles(home: Path, minutes: float, where: str) -> None:
    """The next rounds of fresh processes: each person is told once, and the journal ends as it should."""
    for later in (1.0, 2.0, 33.0, 34.0, 70.0, 71.0):
        problems = [alert.problem for alert in Watch(home, minutes + later).look() if alert.problem]
        assert problems == [], where
    watch = Watch(home, minutes + 72)
    assert [len(watch.mail(name)) for name in ("ann", "bob")] == [1, 1], where
    assert len(watch.mail(LEAD)) == len(set(watch.mail(LEAD))) == 2, where
    journal = watch.records.read("crew", STALLS)
    assert sorted((r["taskId"], r["kind"], r["state"]) for r in journal.values()) == [
        ("1", "lead", "alerted"),
        ("1", "owner", "alerted"),
        ("2", "lead", "alerted"),
        ("2", "owner", "alerted"),
    ], where
    assert watch.look() == [], where
    for name in ("ann", "bob", LEAD):  # what a killed sender leaves, the next one clears away
        send(watch.boardroom.room, "crew", name, Draft(sender="somebody", text="hello"))
    assert litter(home) == [], where


def litter(home: Path) -> list[str]:
    """Half-made files, locks, and what was put aside as damaged: we damage nothing."""
    found = [path for path in home.rglob("*") if ".claude" in path.parts]
    return [str(path) for path in found if "atm-" in path.name or path.suffix == ".lock" or "corrupt" in path.name]


@pytest.mark.parametrize("stage", STAGES)
def test_a_round_takes_a_known_number_of_steps(first, tmp_path, stage):
    prepare, minutes = STAGES[stage]
    steps = steps_of(prepare(first, tmp_path / "count"), minutes)
    assert {"lock", "exchange", "sync"} <= set(steps)
    assert len(steps) < 500


@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("stage", STAGES)
def test_killed_at_any_step_everybody_is_told_once(first, tmp_path, stage, part):
    prepare, minutes = STAGES[stage]
    steps = steps_of(prepare(first, tmp_path / "count"), minutes)
    ready, left = prepare(first, tmp_path / "ready"), Left()
    for step in silent_kills(steps)[part::2]:
        home = copy_of(ready, tmp_path / "home")
        with pytest.raises(Crash):
            Watch(home, minutes, FaultyDisk(QuickDisk(), stop_at=step)).look()
        if left.is_new(home):
            check_settles(home, minutes, f"killed at step {step} ({steps[step]})")
        shutil.rmtree(home)


@pytest.mark.parametrize("turn", ROUNDS)
@pytest.mark.parametrize("part", range(2))
def test_an_error_at_any_step_tells_nobody_twice_and_is_no_traceback(first, tmp_path, part, turn):
    steps, left = steps_of(copy_of(first, tmp_path / "count"), 31), Left()
    for refusal in [*refusals(steps, turn)][part::2]:
        home = copy_of(first, tmp_path / "home")
        disk = FaultyDisk(QuickDisk(), stop_at=refusal.step, error=refusal.error)
        try:
            Watch(home, 31, disk).look()
        except AtmError:
            pass  # the daemon says so in its log, and comes again
        for fd in disk._open:
            os.close(fd)
        if left.is_new(home):
            check_settles(home, 31, str(refusal))
        shutil.rmtree(home)


def look_and_die(home: str, step: str) -> None:
    Watch(Path(home), 31, FaultyDisk(QuickDisk(), stop_at=int(step), for_real=True)).look()


def test_a_real_signal_leaves_the_same(first, tmp_path, zygote):
    steps = steps_of(copy_of(first, tmp_path / "count"), 31)
    writing = [step for step, name in enumerate(steps) if name in ("write", "exchange", "replace", "rename", "append")]
    assert len(writing) > 8
    look_in_a_process = zygote(look_and_die)
    for step in writing[::2]:
        home = copy_of(first, tmp_path / "home")
        assert look_in_a_process(home, step) == -9, step
        check_settles(home, 31, f"a signal at step {step} ({steps[step]})")
        shutil.rmtree(home)


def test_watches_of_several_processes_at_once_tell_everybody_once(first, tmp_path):
    home = copy_of(first, tmp_path / "home")
    gate = threading.Barrier(4)
    trouble: list[str] = []

    def look() -> None:
        gate.wait(timeout=30)
        try:
            Watch(home, 31, among_rivals=True).look()
        except AtmError as error:
            trouble.append(str(error))

    threads = [threading.Thread(target=look) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert trouble == []
    watch = Watch(home, 32)
    assert [len(watch.mail(name)) for name in ("ann", "bob")] == [1, 1]
    check_settles(home, 31, "four at once")


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe\x00",
        b'{"schemaVersion": 999, "records": {}}',
        json.dumps({"schemaVersion": 1, "records": [1, 2]}).encode(),
    ],
)
def test_a_journal_that_was_damaged_tells_nobody_twice(first, tmp_path, garbage):
    home = told_by_owner(first, tmp_path / "home")
    journal = Path(find_layout({"ATM_HOME": str(home)}).records("crew", STALLS))
    assert journal.exists()
    journal.write_bytes(garbage)
    assert Watch(home, 32).look() == []
    assert len(Watch(home, 62).look()) == 2
    watch = Watch(home, 63)
    assert [len(watch.mail(name)) for name in ("ann", "bob", LEAD)] == [1, 1, 2]


def test_a_team_that_is_deleted_meanwhile_is_no_traceback(first, tmp_path):
    home = copy_of(first, tmp_path / "home")
    watch = Watch(home, 31)
    team = watch.boardroom.room.rosters.load("crew")
    shutil.rmtree(home / ".claude" / "teams" / "crew")
    with pytest.raises(NoSuchTeam):
        watch_stalls(watch.boardroom, watch.records, team, MINUTES)
    assert not (home / ".claude" / "teams" / "crew").exists()
