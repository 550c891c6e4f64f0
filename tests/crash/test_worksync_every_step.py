"""
Work-sync, stopped at every single step: by kill -9, by a full or broken disk, by a real signal, by rivals.

Whatever the step, later rounds of fresh processes end in the same place: one nudge in the inbox for a member and a
fingerprint, an outbox that says so, a lease only where the reporter was told of one, and no report that got lost.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.chaos import ROUNDS, refusals
from tests.crash.conftest import Left, silent_kills
from tests.proving import proves

from atm.board.services import planning
from atm.board.services import working as board
from atm.board.services.new_tasks import NewTask
from atm.core.errors import AtmError
from atm.files.adapters.locking import Locks
from atm.files.adapters.machine import find_layout
from atm.files.adapters.record_store import RecordFiles
from atm.files.ports.disk import Disk
from atm.files.ports.records import INTENTS, SHELVES, STATUS
from atm.mail.services.spooling import drain
from atm.roster.services.full_boardroom import FullBoardroom
from atm.roster.services.members import add_member, create_team
from atm.team.adapters.team_secrets import SecretFiles
from atm.team.rules.team import Member
from atm.team.services.registry import find_team
from atm.testing import Crash, FaultyDisk, MemoryPrograms, QuickDisk
from atm.testing.time_and_chance import FakeChance
from atm.wiring.board import build_tasks
from atm.wiring.mail import build_room
from atm.worksync.adapters import JournalFiles
from atm.worksync.rules.identity import PROCESS_TEAM, Trusted
from atm.worksync.rules.nudges import CLAIM_SECONDS, DELIVERED, SENDER
from atm.worksync.rules.readiness import Thresholds
from atm.worksync.services.ladders import outbox
from atm.worksync.services.nudges import dispatch, plan
from atm.worksync.services.reading import view
from atm.worksync.services.reconcile import known_status, look_at, reconcile
from atm.worksync.services.reports import ReportAnswer, note_intent, replay, submit
from atm.worksync.services.rounds import run_round
from atm.worksync.services.syncroom import SyncPolicy, SyncRoom, issue

pytestmark = pytest.mark.campaign  # there every step is looked at, and is refused in every way

LEAD = "lena"
OPEN = SyncPolicy(thresholds=Thresholds(least_looks=1, least_hours=-1.0, most_would_nudges=1000.0))
"""Nudges may be sent from the first look on, also where a rival looked a thousandth of a second later than we."""
AFTER_A_WRITE = ("(sync_folder)", "(close)")
STEPS_OF_A_WRITE = ("write", "exchange", "replace", "rename", "append", "link", "create")


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


class Process:
    """The control plane of one process over real files, so many seconds after the team was made."""

    def __init__(self, home: Path, later: float = 0.0, disk: Disk | None = None, *, among_rivals: bool = False) -> None:
        self.home = home
        layout, clock = find_layout({"ATM_HOME": str(home)}), HurriedClock(later, patient=among_rivals)
        disk = disk or QuickDisk()
        self.room = build_room(layout, disk=disk, clock=clock)
        boardroom = FullBoardroom(
            room=self.room, tasks=build_tasks(layout, disk=disk, clock=clock), programs=MemoryPrograms
        )
        locks = Locks(disk, clock, FakeChance(os.getpid()), layout.locks, pid=os.getpid(), host="here")
        self.syncroom = SyncRoom(
            boardroom,
            RecordFiles(disk, clock, locks, layout),
            JournalFiles(disk, locks, layout),
            SecretFiles(disk, locks, layout, random.Random(7).randbytes),
            OPEN,
            f"process at {later}",
        )

    @property
    def words(self) -> dict[str, Any]:
        """What ann says. She has seen her agenda before, on a disk without faults."""
        then = Process(self.home)
        seen = look_at(then.syncroom, find_team(then.room, "crew"), ["ann"])["ann"]
        return {"from": "ann", "agendaFingerprint": seen.fingerprint, "state": "still_working"}

    @property
    def trusted(self) -> Trusted:
        return Trusted("app", self.syncroom.now(), PROCESS_TEAM, "crew", "ann")

    def round(self, *names: str) -> None:
        run_round(self.syncroom, "crew", dict.fromkeys(names or ("ann", "bob"), "manual_refresh"))

    def nudges(self, name: str = "ann") -> list[str]:
        return [row.id or "" for row in self.room.inboxes.rows("crew", name) if row.sender == SENDER]

    def label(self) -> str:
        return view(self.syncroom, find_team(self.room, "crew"), "ann").label

    def reasons(self) -> list[Any]:
        return [record.get("validationReason") for record in self.syncroom.records.read("crew", INTENTS).values()]

    def intents(self) -> list[Any]:
        return [record["status"] for record in self.syncroom.records.read("crew", INTENTS).values()]


# What is stopped. Each gives what its caller is told, if it is told anything.


def do_reconcile(process: Process) -> object:
    return reconcile(process.syncroom, "crew", {"ann": "x", "bob": "x"})


def do_report(process: Process) -> ReportAnswer:
    return submit(process.syncroom, "crew", process.words, process.trusted)


def do_note(process: Process) -> ReportAnswer:
    return note_intent(process.syncroom, "crew", process.words, process.trusted)


def do_replay(process: Process) -> object:
    return replay(process.syncroom, "crew")


def do_plan(process: Process) -> object:
    return plan(process.syncroom, find_team(process.room, "crew"), reconcile(process.syncroom, "crew", {"ann": "x"}))


def do_dispatch(process: Process) -> object:
    return dispatch(process.syncroom, "crew")


def do_token(process: Process) -> object:
    return issue(process.syncroom, find_team(process.room, "crew"), "ann", process.words["agendaFingerprint"])


def nothing_before(_process: Process) -> None:
    return None


VERBS: dict[str, tuple[Callable[[Process], object], Callable[[Process], object]]] = {
    # what comes before, and what is stopped
    "reconcile": (nothing_before, do_reconcile),
    "reconcile again": (do_reconcile, do_reconcile),
    "report": (nothing_before, do_report),
    "note": (nothing_before, do_note),
    "replay": (do_note, do_replay),
    "plan": (nothing_before, do_plan),
    "dispatch": (do_plan, do_dispatch),
    "token": (nothing_before, do_token),
}


@pytest.fixture
def young() -> float:
    """Everything is stopped at least a second after it was made ready: here all files are old, however slow we are."""
    return 0.5


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A team in which ann has #1 and nobody has said anything for an hour."""
    home = tmp_path_factory.mktemp("first") / "home"
    process = Process(home, -3600.0)
    create_team(process.room, "crew", lead=LEAD)
    for name in ("ann", "bob"):
        add_member(process.room, "crew", Member(name))
    planning.add(process.syncroom.boardroom, "crew", LEAD, [NewTask("the parser", owner="ann")])
    return home


@pytest.fixture(scope="module")
def ready(first: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The home as it is before a verb is stopped."""
    made: dict[str, Path] = {}

    def prepare(verb: str) -> Path:
        if verb not in made:
            made[verb] = copy_of(first, tmp_path_factory.mktemp("ready") / "home")
            VERBS[verb][0](Process(made[verb]))
        return made[verb]

    return prepare


def copy_of(first: Path, home: Path) -> Path:
    shutil.copytree(first, home, symlinks=True)
    return home


def steps_of(home: Path, verb: str) -> list[str]:
    disk = FaultyDisk(QuickDisk())
    VERBS[verb][1](Process(home, 1.0, disk))
    return disk.steps


def check_settles(home: Path, verb: str, told: object, where: str) -> None:
    """Later rounds of fresh processes."""
    after = Process(home, 2.0)
    check_truth(after, verb, told, where)
    replay(after.syncroom, "crew")
    assert "pending" not in after.intents(), where
    if verb in ("note", "replay"):
        check_report_was_not_lost(after, verb, told, where)
    check_nudges(home, where)
    assert litter(home) == [], where


def check_truth(after: Process, verb: str, told: object, where: str) -> None:
    """
    A lease that was promised is there. One that was refused is not, unless only its durability was in doubt, or the
    lock could not be let go of when all was written.
    """
    status = known_status(after.syncroom.records.read("crew", STATUS), "crew", "ann")
    is_leased = status is not None and status.accepted is not None
    if isinstance(told, ReportAnswer) and not told.is_pending:
        if told.ok:
            assert is_leased, where
        elif not where.endswith(AFTER_A_WRITE):
            assert not is_leased, where
    if isinstance(told, ReportAnswer) and told.is_pending:
        assert after.intents() == ["pending"], where
    if verb in ("note", "plan", "dispatch", "reconcile", "token"):
        assert not is_leased, where


def check_report_was_not_lost(after: Process, verb: str, told: object, where: str) -> None:
    is_noted = verb == "replay" or (isinstance(told, ReportAnswer) and told.ok)
    if is_noted or after.intents():
        assert after.intents() == ["accepted"], (where, after.reasons())
        assert after.label() == "Working", where


def check_nudges(home: Path, where: str) -> None:
    """An hour later the lease is over; each rung is sent at most once, and the outbox says what the inbox holds."""
    for later in (3600.0, 3601.0 + CLAIM_SECONDS, 3602.0 + 2 * CLAIM_SECONDS):
        drain(Process(home, later).room, everything=True)
        Process(home, later).round()
    process = Process(home, 4500.0)
    ids = process.nudges()
    assert len(ids) == len(set(ids)), where
    delivered = [item for item in outbox(process.syncroom, "crew") if item.status == DELIVERED]
    assert sorted(item.message_id for item in delivered) == sorted(ids), where
    rungs = Counter(item.rung for item in delivered)
    assert rungs["plain"] == 1, where
    assert len(ids) <= 2, where
    assert process.nudges("bob") == process.nudges(LEAD) == [], where


def litter(home: Path) -> list[str]:
    """Half-made files, locks, and what was put aside as damaged: we damage nothing."""
    found = [path for path in home.rglob("*") if ".claude" in path.parts]
    return [str(path) for path in found if "atm-" in path.name or path.suffix == ".lock" or "quarantine" in path.name]


def outcome_of(process: Process, verb: str) -> object:
    """What the caller is told; None if it is told of an error."""
    try:
        return VERBS[verb][1](process)
    except AtmError:
        return None


# At every step.


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_takes_a_bounded_number_of_steps(ready, tmp_path, verb):
    steps = steps_of(copy_of(ready(verb), tmp_path / "home"), verb)
    assert 3 < len(steps) < 600
    assert set(steps) & {"lock", "look", "open_read"}


@proves(
    "R002-1-49",
    "R002-8.0-72",
    "R002-8.0-75",
    "R002-15.2-18",
    "R002-18.1-07",
    "R002-21-37",
    "R002-26-22",
    "R002-27.4-09",
    "R002-29-04",
    "R002-29-05",
)
@pytest.mark.parametrize("verb", VERBS)
def test_killed_at_any_step_there_is_one_nudge_and_no_lost_report(ready, tmp_path, verb):
    steps, killed, left = steps_of(copy_of(ready(verb), tmp_path / "count"), verb), 0, Left()
    for step in silent_kills(steps):
        home = copy_of(ready(verb), tmp_path / "home")
        killed += is_killed(home, verb, step)
        if left.is_new(home):
            check_settles(home, verb, None, f"{verb} killed at step {step} ({steps[step]})")
        shutil.rmtree(home)
    assert killed >= len(silent_kills(steps)) - 6


def is_killed(home: Path, verb: str, step: int) -> bool:
    """The last steps are not always reached: an index of a board that is young is looked at more closely."""
    try:
        VERBS[verb][1](Process(home, 1.0, FaultyDisk(QuickDisk(), stop_at=step)))
    except Crash:
        return True
    return False


@pytest.mark.parametrize("turn", ROUNDS)
@pytest.mark.parametrize("verb", VERBS)
def test_an_error_at_any_step_is_no_traceback_no_lie_and_no_second_nudge(ready, tmp_path, verb, turn):
    steps, left = steps_of(copy_of(ready(verb), tmp_path / "count"), verb), Left()
    for refusal in refusals(steps, turn + [*VERBS].index(verb)):
        home = copy_of(ready(verb), tmp_path / "home")
        disk = FaultyDisk(QuickDisk(), stop_at=refusal.step, error=refusal.error)
        told = outcome_of(Process(home, 1.0, disk), verb)
        for fd in disk._open:
            os.close(fd)
        promise = (told.ok, told.is_pending) if isinstance(told, ReportAnswer) else ()
        if left.is_new(home, (promise, str(refusal).endswith(AFTER_A_WRITE))):
            check_settles(home, verb, told, f"{verb}: {refusal}")
        shutil.rmtree(home)


def act_and_die(home: str, verb: str, step: str) -> None:
    VERBS[verb][1](Process(Path(home), 1.0, FaultyDisk(QuickDisk(), stop_at=int(step), for_real=True)))


@pytest.mark.parametrize("verb", ["report", "replay", "dispatch"])
def test_a_real_signal_leaves_the_same(ready, tmp_path, verb, zygote):
    steps = steps_of(copy_of(ready(verb), tmp_path / "count"), verb)
    writing, killed = [step for step, name in enumerate(steps) if name in STEPS_OF_A_WRITE], 0
    assert len(writing) > 1
    act_in_a_process = zygote(act_and_die)
    for step in writing[::2]:
        home = copy_of(ready(verb), tmp_path / "home")
        code = act_in_a_process(home, verb, step)
        assert code in (-9, 0), step
        killed += code == -9
        check_settles(home, verb, None, f"{verb}: a signal at step {step} ({steps[step]})")
        shutil.rmtree(home)
    assert killed > 0


# Rivals.


def rival(home: Path, later: float) -> Process:
    return Process(home, later, among_rivals=True)


def at_once(count: int, work: Callable[[int], object]) -> list[BaseException]:
    gate, trouble = threading.Barrier(count), list[BaseException]()

    def run(number: int) -> None:
        gate.wait(timeout=30)
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 - shown by the test
            trouble.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    return trouble


def test_dispatchers_in_threads_send_one_message(ready, tmp_path):
    home = copy_of(ready("dispatch"), tmp_path / "home")
    assert at_once(6, lambda _: dispatch(rival(home, 1.0).syncroom, "crew")) == []
    assert len(Process(home, 10.0).nudges()) == 1
    check_nudges(home, "six dispatchers")


@proves("R002-8.0-65")
def test_whole_rounds_in_threads_send_one_message(ready, tmp_path):
    home = copy_of(ready("reconcile"), tmp_path / "home")
    assert at_once(4, lambda _: rival(home, 1.0).round()) == []
    assert len(Process(home, 10.0).nudges()) == 1
    check_nudges(home, "four rounds")


ROUND = """
import sys
from pathlib import Path
from tests.crash.test_worksync_every_step import rival
for _ in range(5):
    rival(Path(sys.argv[1]), 1.0).round()
"""


@proves("R002-16.7-55")
def test_dispatchers_in_processes_send_one_message(ready, tmp_path):
    home = copy_of(ready("dispatch"), tmp_path / "home")
    args, root = [sys.executable, "-c", ROUND, str(home)], Path(__file__).parents[2]
    started = [subprocess.Popen(args, cwd=root, stderr=subprocess.PIPE) for _ in range(4)]
    for process in started:
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    assert len(Process(home, 20.0).nudges()) == 1
    check_nudges(home, "four processes")


def test_a_dispatcher_that_is_killed_and_followed_again_and_again_sends_one_message(ready, tmp_path):
    home = copy_of(ready("dispatch"), tmp_path / "home")
    steps = steps_of(copy_of(ready("dispatch"), tmp_path / "count"), "dispatch")
    later = 1.0
    for step in range(0, len(steps), 5):
        try:
            dispatch(Process(home, later, FaultyDisk(QuickDisk(), stop_at=step)).syncroom, "crew")
        except Crash:
            pass
        later += CLAIM_SECONDS + 1
    assert len(set(Process(home, later).nudges())) == len(Process(home, later).nudges()) == 1


@proves("R002-8.0-55", "R002-11.2.1-42", "R002-12.1-16", "R002-12.1-17")
def test_reports_and_looks_at_once_lose_no_lease(ready, tmp_path):
    home = copy_of(ready("reconcile"), tmp_path / "home")
    told: list[ReportAnswer] = []

    def work(number: int) -> None:
        if number % 2:
            told.append(do_report(rival(home, 1.0)))
        else:
            do_reconcile(rival(home, 1.0))

    assert at_once(6, work) == []
    assert all(answer.ok for answer in told)
    assert Process(home, 5.0).label() == "Working"


@proves("R002-8.0-34")
def test_intents_noted_at_once_are_one_intent_and_replayed_at_once_one_report(ready, tmp_path):
    home = copy_of(ready("note"), tmp_path / "home")
    assert at_once(5, lambda _: do_note(rival(home, 1.0))) == []
    assert Process(home, 2.0).intents() == ["pending"]
    assert at_once(4, lambda _: do_replay(rival(home, 3.0))) == []
    after = Process(home, 4.0)
    assert after.intents() == ["accepted"]
    status = known_status(after.syncroom.records.read("crew", STATUS), "crew", "ann")
    assert status is not None
    assert len(status.reports) == 1


def report_or_dispatch(home: Path, number: int) -> object:
    return (do_report, do_dispatch)[number](rival(home, 1.0))


def test_a_report_beside_a_dispatch_is_either_heard_or_too_late(ready, tmp_path):
    for turn in range(6):
        home = copy_of(ready("dispatch"), tmp_path / f"home{turn}")
        assert at_once(2, partial(report_or_dispatch, home)) == []
        process = Process(home, 2.0)
        assert len(process.nudges()) <= 1
        assert process.label() == "Working"


# Damage, and teams that go.

GARBAGE = [b"", b"{", b"[]", b"null", b"\xff\xfe\x00", b'{"schemaVersion": 999}', b'{"schemaName": "x", "data": 7}']


@pytest.mark.parametrize("garbage", GARBAGE)
def test_files_that_were_damaged_after_a_nudge_send_no_second_one(ready, tmp_path, garbage):
    home = copy_of(ready("dispatch"), tmp_path / "home")
    Process(home, 1.0).round()
    before = Process(home, 1.0).nudges()
    assert len(before) == 1
    layout = find_layout({"ATM_HOME": str(home)})
    for shelf in SHELVES:
        Path(layout.records("crew", shelf)).write_bytes(garbage)
    for later in (60.0, 61.0, 400.0):
        Process(home, later).round()
    assert Process(home, 401.0).nudges() == before


@proves("R002-16.7-38")
@pytest.mark.parametrize("verb", VERBS)
def test_a_team_that_is_gone_is_no_traceback_and_is_not_made_again(ready, tmp_path, verb):
    home = copy_of(ready(verb), tmp_path / "home")
    process = Process(home, 1.0)
    words, trusted = process.words, process.trusted
    shutil.rmtree(home / ".claude" / "teams" / "crew")
    for work in (
        lambda: do_reconcile(process),
        lambda: do_dispatch(process),
        lambda: do_replay(process),
        lambda: submit(process.syncroom, "crew", words, trusted),
        lambda: note_intent(process.syncroom, "crew", words, trusted),
        process.round,
    ):
        try:
            work()
        except AtmError:
            pass
    assert not (home / ".claude" / "teams" / "crew").exists()


def test_a_team_deleted_and_made_anew_inherits_no_lease_no_intent_and_no_item(ready, tmp_path):
    home = copy_of(ready("dispatch"), tmp_path / "home")
    process = Process(home, 1.0)
    assert do_report(process).ok
    assert do_note(process).ok
    shutil.rmtree(home / ".claude" / "teams" / "crew")
    shutil.rmtree(home / ".claude" / "tasks" / "crew")
    create_team(process.room, "crew", lead=LEAD)
    add_member(process.room, "crew", Member("ann"))
    planning.add(process.syncroom.boardroom, "crew", LEAD, [NewTask("the parser", owner="ann")])
    again = Process(home, 200.0)  # it has had time for its mail; a lease of before would still hold
    assert again.intents() == []
    assert outbox(again.syncroom, "crew") == []
    assert again.label() == "Needs sync"


def test_a_claim_of_a_task_while_it_is_nudged_is_undisturbed(ready, tmp_path):
    home = copy_of(ready("dispatch"), tmp_path / "home")

    def work(number: int) -> None:
        process = rival(home, 1.0)
        if number:
            process.round()
        else:
            board.claim(process.syncroom.boardroom, "crew", "ann", "1")

    assert at_once(3, work) == []
    process = Process(home, 2.0)
    assert process.syncroom.boardroom.tasks.read("crew", "1").owner == "ann"
    assert len(process.nudges()) <= 2
