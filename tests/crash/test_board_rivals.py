"""
Other programs at the same task files: they ignore our locks, write in place or by rename, delete, and take numbers.

And our own processes beside each other and beside Node's proper-lockfile, killed and started again: every task has
one claimant, nobody's change is lost, and the history tells all of it once.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.optional import needs
from tests.proving import proves

from atm.board.services import working as board
from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import add, depend, split
from atm.core.errors import AtmError, FileBusy
from atm.core.work_errors import NoSuchTask
from atm.files.adapters.disk import RealDisk
from atm.files.formats.layout import Layout
from atm.files.ports.disk import Disk
from atm.roster.services.full_boardroom import FullBoardroom
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.testing import Crash, FaultyDisk, MemoryPrograms
from atm.wiring.board import build_tasks
from atm.wiring.mail import build_room

NODE = Path(__file__).parents[1] / "node"


class WaitingClock:
    """Real time, but waiting takes none; `meanwhile` is what happens while somebody waits."""

    def __init__(self, meanwhile: Callable[[], object] | None = None) -> None:
        self._ahead = 0.0
        self._meanwhile = meanwhile
        self.waited = 0

    def now(self) -> float:
        return time.time() + self._ahead

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead

    def sleep(self, seconds: float) -> None:
        self._ahead += seconds
        self.waited += 1
        if self.waited == 3 and self._meanwhile is not None:
            self._meanwhile()


class RivalDisk:
    """A disk on which another program does something right before one of our steps: the first such step on a path."""

    def __init__(self, step: str, path_end: str, deed: Callable[[], object], *, times: int = 1) -> None:
        self._disk = RealDisk()
        self._step = step
        self._path_end = path_end
        self._deed = deed
        self._left = times
        self.may_stay_open = True

    def __getattr__(self, name: str) -> Any:  # Any: one wrapper for every step of the port
        real = getattr(self._disk, name)
        if name != self._step:
            return real

        def step(*args: Any, **options: Any) -> Any:
            if self._left and any(isinstance(arg, str) and arg.endswith(self._path_end) for arg in args):
                self._left -= 1
                self._deed()
            return real(*args, **options)

        return step

    @property
    def was_there(self) -> bool:
        return not self._left


class Stage:
    """A team of ann and bob with three tasks, of which the second waits for the first."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.folder = Path(layout.tasks("crew"))
        boardroom = self.boardroom()
        create_team(boardroom.room, "crew", lead="lea")
        for name in ("ann", "bob"):
            add_member(boardroom.room, "crew", Member(name))
        add(boardroom, "crew", "lea", [NewTask("base"), NewTask("next", depends_on=["base"]), NewTask("free")])

    def boardroom(self, disk: Disk | None = None, clock: WaitingClock | None = None) -> FullBoardroom:
        clock, programs = clock or WaitingClock(), MemoryPrograms()
        room = build_room(self.layout, clock=clock)
        return FullBoardroom(
            room=room, tasks=build_tasks(self.layout, disk=disk, clock=clock), programs=lambda: programs
        )

    def path(self, id: int) -> Path:
        return self.folder / f"{id}.json"

    def task(self, id: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.path(id).read_bytes())
        return found

    def tasks(self) -> dict[int, dict[str, Any]]:
        return {int(path.stem): json.loads(path.read_bytes()) for path in self.folder.glob("*.json")}

    def history(self) -> list[dict[str, Any]]:
        text = Path(self.layout.task_history("crew")).read_text()
        return [json.loads(line) for line in text.splitlines() if line.endswith("}") and line.startswith("{")]

    def litter(self) -> list[str]:
        """Everything in the folder that is neither a task nor a lasting mark."""
        return [
            name
            for name in os.listdir(self.folder)
            if name not in (".lock", ".highwatermark") and not name.removesuffix(".json").isdecimal()
        ]

    def wrong(self) -> list[str]:
        """What the history has too much or too little of, after one more turn."""
        with self.boardroom().tasks.turn("crew"):
            pass
        told = Counter(line["id"] for line in self.history())
        standing = Counter(event["id"] for task in self.tasks().values() for event in events_of(task))
        found = [f"{id} told {count} times" for id, count in told.items() if count > 1]
        found += [f"{id} stands {count} times" for id, count in standing.items() if count > 1]
        found += [f"{id} is not told" for id in standing.keys() - told.keys()]
        numbers = [line["seq"] for line in self.history()]
        return found + ([] if numbers == sorted(set(numbers)) else [f"the numbers do not rise: {numbers}"])


def events_of(task: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = task.get("metadata", {}).get("atm", {}).get("events", [])
    return found


@pytest.fixture
def stage(layout) -> Stage:
    return Stage(layout)


def by_rename(path: Path, **fields: Any) -> None:
    task = {**json.loads(path.read_bytes()), **fields}
    new = path.with_name(f"{path.name}.rival")
    new.write_text(json.dumps(task, indent=2))
    new.replace(path)


def in_place(path: Path, **fields: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **fields}, indent=2))


MANNERS = {"by rename": by_rename, "in place": in_place}


# Between our reading and our exchange.


@proves("R004-gap-p1-05", "R004-task-system-T2b", "R004-defects-01")
@pytest.mark.parametrize("manner", MANNERS)
def test_whoever_took_a_task_between_our_read_and_our_write_keeps_it(stage, manner):
    take = MANNERS[manner]
    disk = RivalDisk("exchange", "/1.json", lambda: take(stage.path(1), status="in_progress", owner="cc"))
    done = board.claim(stage.boardroom(disk), "crew", "ann", "1")
    assert disk.was_there
    assert done.task is None
    assert (stage.task(1)["owner"], stage.task(1)["status"]) == ("cc", "in_progress")
    assert not any(event.get("owner") == "ann" for event in events_of(stage.task(1)))
    assert not any(line.get("owner") == "ann" for line in stage.history())
    assert stage.wrong() == []
    assert stage.litter() == []


def test_a_claim_that_lost_against_another_program_says_why(stage):
    disk = RivalDisk("exchange", "/1.json", lambda: by_rename(stage.path(1), status="in_progress", owner="cc"))
    done = board.claim(stage.boardroom(disk), "crew", "ann", "1")
    assert done.task is None
    assert done.refusal is not None
    assert done.refusal.code == "claimed"


def test_whoever_loses_the_best_task_to_another_program_gets_the_next_best(stage):
    disk = RivalDisk("exchange", "/1.json", lambda: by_rename(stage.path(1), status="in_progress", owner="cc"))
    done = board.claim(stage.boardroom(disk), "crew", "ann")
    assert done.task is not None
    assert done.task.id == "3"


@pytest.mark.parametrize("manner", MANNERS)
def test_a_description_that_another_program_changed_meanwhile_survives_our_claim(stage, manner):
    write = MANNERS[manner]
    disk = RivalDisk("exchange", "/1.json", lambda: write(stage.path(1), description="theirs"))
    done = board.claim(stage.boardroom(disk), "crew", "ann", "1")
    assert disk.was_there
    assert done.task is not None
    assert done.task.description == "theirs"
    assert stage.task(1)["description"] == "theirs"
    assert stage.task(1)["owner"] == "ann"
    assert stage.wrong() == []
    assert stage.litter() == []


def test_a_program_that_changes_the_task_again_and_again_loses_nothing(stage):
    marks = iter(range(100))
    disk = RivalDisk("exchange", "/1.json", lambda: by_rename(stage.path(1), activeForm=f"mark {next(marks)}"), times=7)
    board.comment(stage.boardroom(disk), "crew", "ann", "1", "mine")
    assert stage.task(1)["activeForm"] == "mark 6"
    assert [comment["text"] for comment in stage.task(1)["metadata"]["atm"]["comments"]] == ["mine"]
    assert stage.wrong() == []


def test_somebody_who_completed_a_task_before_us_is_not_overruled(stage):
    board.claim(stage.boardroom(), "crew", "ann", "1")
    disk = RivalDisk("exchange", "/1.json", lambda: by_rename(stage.path(1), owner="bob"))
    with pytest.raises(AtmError):
        board.complete(stage.boardroom(disk), "crew", "ann", "1", result="too late")
    assert (stage.task(1)["owner"], stage.task(1)["status"]) == ("bob", "in_progress")
    assert not any(line.get("to") == "completed" for line in stage.history())


def test_a_task_that_is_deleted_under_our_hands_is_reported_and_not_brought_back(stage):
    disk = RivalDisk("exchange", "/1.json", stage.path(1).unlink)
    with pytest.raises(NoSuchTask):
        board.claim(stage.boardroom(disk), "crew", "ann", "1")
    assert not stage.path(1).exists()
    assert board.claim(stage.boardroom(), "crew", "ann", "3").task is not None
    assert stage.wrong() == []
    assert stage.litter() == []
    assert [line["type"] for line in stage.history() if line["task"] == "1"] == ["task_created", "vanished"]


def test_whoever_wants_any_task_gets_another_one_when_the_best_is_deleted_meanwhile(stage):
    disk = RivalDisk("exchange", "/1.json", stage.path(1).unlink)
    done = board.claim(stage.boardroom(disk), "crew", "ann")
    assert done.task is not None
    assert done.task.id == "3"


def test_a_list_that_is_cleared_under_our_hands_stays_cleared_and_its_history_stays(stage):
    for id in ("1", "3"):
        board.claim(stage.boardroom(), "crew", "ann", id)
        board.complete(stage.boardroom(), "crew", "ann", id)
    board.claim(stage.boardroom(), "crew", "ann", "2")

    def clear() -> None:
        for path in stage.folder.glob("*.json"):
            path.unlink()

    disk = RivalDisk("exchange", "/2.json", clear)
    with pytest.raises(NoSuchTask):
        board.complete(stage.boardroom(disk), "crew", "ann", "2")
    assert stage.tasks() == {}
    assert add(stage.boardroom(), "crew", "ann", [NewTask("new")]).tasks[0].id == "4"
    assert stage.wrong() == []
    assert sorted(line["task"] for line in stage.history() if line["type"] == "vanished") == ["1", "2", "3"]


def test_a_list_that_is_cleared_during_a_change_of_several_tasks_does_not_come_back_in_part(stage):
    def clear() -> None:
        for path in stage.folder.glob("*.json"):
            path.unlink()

    disk = RivalDisk("exchange", "/3.json", clear)
    with pytest.raises(AtmError):
        depend(stage.boardroom(disk), "crew", "lea", "2", ["3"])
    with stage.boardroom().tasks.turn("crew") as turn:
        assert turn.board.cards == {}
    assert stage.tasks() == {}
    assert stage.wrong() == []
    assert not Path(stage.layout.task_intent("crew")).exists()


# Numbers.


THEIRS: dict[str, Any] = {"subject": "theirs", "description": "", "status": "pending", "blocks": [], "blockedBy": []}


def test_a_number_that_another_program_takes_meanwhile_is_theirs_and_ours_is_refused_in_words(stage):
    content = json.dumps({"id": "4", **THEIRS})
    disk = RivalDisk("link", "/4.json", lambda: stage.path(4).write_text(content))
    with pytest.raises(FileBusy, match=r"4\.json was made by another program a moment ago"):
        add(stage.boardroom(disk), "crew", "bob", [NewTask("ours")])
    assert disk.was_there
    assert stage.path(4).read_text() == content
    assert "ours" not in [task["subject"] for task in stage.tasks().values()], "refused, and yet it is there"
    assert not any(line["task"] == "4" and line.get("subject") == "ours" for line in stage.history())


def test_an_import_whose_number_is_taken_meanwhile_is_not_made_at_all(stage):
    content = json.dumps({"id": "5", **THEIRS})
    disk = RivalDisk("link", "/5.json", lambda: stage.path(5).write_text(content))
    wishes = [NewTask("one"), NewTask("two", depends_on=["one"]), NewTask("three", depends_on=["two"])]
    with pytest.raises(FileBusy, match=r"5\.json was made by another program a moment ago"):
        add(stage.boardroom(disk), "crew", "bob", wishes)
    assert disk.was_there
    with stage.boardroom().tasks.turn("crew"):
        pass
    assert stage.path(5).read_text() == content
    assert {"one", "two", "three"} & {task["subject"] for task in stage.tasks().values()} == set()


def test_a_number_that_another_program_takes_after_we_were_killed_is_not_taken_for_ours(stage):
    """Killed when the note was written and the mark was not raised yet: for Claude Code that number is free."""

    class BeforeMark(FaultyDisk):
        def _check(self, name: str, args: tuple[Any, ...]) -> None:
            if name == "exchange" and args[1].endswith("/.highwatermark"):
                self._stop_at = len(self.steps)
            super()._check(name, args)

    with pytest.raises(Crash):
        add(
            stage.boardroom(BeforeMark(RealDisk())), "crew", "bob", [NewTask("one"), NewTask("two", depends_on=["one"])]
        )
    assert (stage.folder / ".highwatermark").read_text().strip() == "3"
    content = json.dumps({"id": "4", **THEIRS})
    stage.path(4).write_text(content)
    with stage.boardroom().tasks.turn("crew"):
        pass
    assert stage.path(4).read_text() == content
    assert {"one", "two"} & {task["subject"] for task in stage.tasks().values()} == set()
    assert not any(line["task"] == "4" and line.get("subject") == "one" for line in stage.history())


def test_a_mark_that_another_program_raised_before_our_turn_is_heeded(stage):
    (stage.folder / ".highwatermark").write_text("50")
    assert add(stage.boardroom(), "crew", "bob", [NewTask("ours")]).tasks[0].id == "51"
    assert (stage.folder / ".highwatermark").read_text().strip() == "51"


def test_a_mark_that_another_program_raises_without_a_lock_is_never_lowered_again(stage):
    mark = stage.folder / ".highwatermark"
    disk = RivalDisk("exchange", "/.highwatermark", lambda: mark.write_text("50"))
    add(stage.boardroom(disk), "crew", "bob", [NewTask("ours")])
    assert disk.was_there
    assert int(mark.read_text()) >= 50


def test_a_mark_as_high_as_can_be_written_leaves_no_task_that_nobody_sees(stage):
    (stage.folder / ".highwatermark").write_text("9" * 15)
    before = stage.tasks()
    with pytest.raises(AtmError, match="leaves no numbers for new tasks"):
        add(stage.boardroom(), "crew", "bob", [NewTask("ours")])
    assert stage.tasks() == before


# Locks of others.


@proves("R004-architecture-09")
def test_the_list_lock_of_another_program_is_waited_for(stage):
    lock = stage.folder / ".lock.lock"
    lock.mkdir()
    clock = WaitingClock(meanwhile=lock.rmdir)
    assert board.claim(stage.boardroom(clock=clock), "crew", "ann").task is not None
    assert clock.waited >= 3
    assert not lock.exists()


@proves("R004-architecture-09", "R004-storage-05", "R004-task-system-T4", "R004-task-system-T7", "R004-defects-01b")
@pytest.mark.parametrize("name", [".lock.lock", "1.json.lock"])
def test_a_fresh_lock_that_stays_is_respected_and_nothing_is_written(stage, name):
    before = stage.path(1).read_bytes()
    (stage.folder / name).mkdir()
    with pytest.raises(FileBusy):
        board.claim(stage.boardroom(), "crew", "ann", "1")
    assert stage.path(1).read_bytes() == before
    assert (stage.folder / name).is_dir()
    assert not any(line.get("owner") == "ann" for line in stage.history())
    (stage.folder / name).rmdir()
    assert board.claim(stage.boardroom(), "crew", "ann", "1").task is not None


@pytest.mark.parametrize("name", [".lock.lock", "1.json.lock"])
def test_a_lock_that_nobody_touched_for_half_a_minute_is_broken(stage, name):
    (stage.folder / name).mkdir()
    os.utime(stage.folder / name, (time.time() - 31, time.time() - 31))
    assert board.claim(stage.boardroom(), "crew", "ann", "1").task is not None
    assert not (stage.folder / name).exists()


def _a_dead_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait(timeout=30)
        return process.pid


@pytest.mark.parametrize("name", [".lock.lock", "1.json.lock"])
def test_a_lock_file_of_a_dead_process_is_broken_and_one_of_a_living_is_not(stage, name):
    (stage.folder / name).write_text(json.dumps({"pid": os.getpid()}))
    with pytest.raises(FileBusy):
        board.claim(stage.boardroom(), "crew", "ann", "1")
    (stage.folder / name).write_text(json.dumps({"pid": _a_dead_process()}))
    assert board.claim(stage.boardroom(), "crew", "ann", "1").task is not None
    assert not (stage.folder / name).exists()


@proves("R004-task-system-T7", "R004-defects-01b")
def test_whoever_has_lost_the_list_lock_changes_nothing_more(stage):
    lock = stage.folder / ".lock.lock"

    def steal() -> None:
        lock.rmdir()
        lock.mkdir()

    boardroom = stage.boardroom()
    before = stage.path(1).read_bytes()
    with boardroom.tasks.turn("crew") as turn:
        steal()
        with pytest.raises(FileBusy):
            turn.change("1", lambda _: pytest.fail("the rule must not be asked"))
    assert stage.path(1).read_bytes() == before
    assert lock.is_dir(), "a stranger's lock was removed"


# A kill and another program, one after the other.


class KilledAfterExchange(FaultyDisk):
    """Another program replaces the file before our first exchange, and we are killed right after it."""

    def __init__(self, deed: Callable[[], object]) -> None:
        super().__init__(RealDisk())
        self._deed = deed

    def _check(self, name: str, args: tuple[Any, ...]) -> None:
        if name == "exchange" and self._stop_at is None:
            self._deed()
            self._stop_at = len(self.steps) + 1
        super()._check(name, args)


@pytest.fixture
def dead_number(monkeypatch) -> Callable[[], None]:
    """Build what shall be killed under another process number than ours."""
    real = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: real + 1)
    return lambda: monkeypatch.setattr(os, "getpid", lambda: real)


def test_what_another_program_wrote_survives_when_we_are_killed_right_after_the_exchange(stage, dead_number):
    """Their version lies only in the file that the dead process displaced."""
    boardroom = stage.boardroom(KilledAfterExchange(lambda: by_rename(stage.path(1), description="theirs")))
    dead_number()
    with pytest.raises(Crash):
        board.comment(boardroom, "crew", "ann", "1", "killed")
    board.comment(stage.boardroom(), "crew", "bob", "1", "next")
    assert stage.task(1)["description"] == "theirs"
    assert stage.litter() == []
    assert stage.wrong() == []


def test_the_claim_of_another_program_survives_when_our_claim_is_killed_right_after_the_exchange(stage, dead_number):
    """They hold it since before we wrote; nobody was told that we have it."""
    boardroom = stage.boardroom(KilledAfterExchange(lambda: by_rename(stage.path(1), status="in_progress", owner="cc")))
    dead_number()
    with pytest.raises(Crash):
        board.claim(boardroom, "crew", "ann", "1")
    board.comment(stage.boardroom(), "crew", "bob", "1", "next")
    assert stage.task(1)["owner"] == "cc"


def test_a_process_with_the_number_of_the_dead_one_can_go_on(stage):
    """As in containers, where every process is number 1 or 7."""
    with pytest.raises(Crash):
        board.comment(
            stage.boardroom(KilledAfterExchange(lambda: by_rename(stage.path(1), description="theirs"))),
            "crew",
            "ann",
            "1",
            "killed",
        )
    board.comment(stage.boardroom(), "crew", "bob", "1", "next")
    assert stage.litter() == []
    assert stage.wrong() == []


def _killed_when_all_is_written(stage: Stage, act: Callable[[FullBoardroom], object]) -> None:
    """The note still lies there, although everything in it was done."""

    class BeforeForgetting(FaultyDisk):
        def _check(self, name: str, args: tuple[Any, ...]) -> None:
            if name == "remove" and args[0].endswith("tasks.intent.json"):
                self._stop_at = len(self.steps)
            super()._check(name, args)

    with pytest.raises(Crash):
        act(stage.boardroom(BeforeForgetting(RealDisk())))


def test_a_finished_note_does_not_undo_what_another_program_did_since(stage):
    board.claim(stage.boardroom(), "crew", "ann", "1")
    _killed_when_all_is_written(stage, lambda boardroom: split(boardroom, "crew", "ann", "1", [NewTask("part")]))
    by_rename(stage.path(1), status="completed", owner="cc")
    with stage.boardroom().tasks.turn("crew"):
        pass
    assert (stage.task(1)["status"], stage.task(1)["owner"]) == ("completed", "cc")
    assert stage.wrong() == []


def test_a_note_about_a_task_that_is_damaged_since_does_not_close_the_board(stage):
    _killed_when_all_is_written(stage, lambda boardroom: depend(boardroom, "crew", "lea", "3", ["1"]))
    stage.path(3).write_bytes(b'{"id": "3", "subj')
    assert board.claim(stage.boardroom(), "crew", "ann", "1").task is not None
    assert stage.path(3).read_bytes() == b'{"id": "3", "subj'


def test_a_note_that_cannot_be_opened_for_a_moment_is_not_thrown_away(stage):
    class AfterFirstFile(FaultyDisk):
        def _check(self, name: str, args: tuple[Any, ...]) -> None:
            if name == "link" and args[1].endswith("/5.json"):
                self._stop_at = len(self.steps)
            super()._check(name, args)

    class NoNote(RealDisk):
        __slots__ = ()

        def open_read(self, path: str) -> int:
            if path.endswith("tasks.intent.json"):
                raise OSError(24, "Too many open files", path)
            return super().open_read(path)

    with pytest.raises(Crash):
        add(
            stage.boardroom(AfterFirstFile(RealDisk())),
            "crew",
            "bob",
            [NewTask("one"), NewTask("two", depends_on=["one"])],
        )
    with pytest.raises(AtmError, match="Too many open files"):
        board.claim(stage.boardroom(NoNote()), "crew", "ann", "1")
    with stage.boardroom().tasks.turn("crew"):
        pass
    assert [stage.task(id)["subject"] for id in (4, 5)] == ["one", "two"]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"new": 7, "changes": []}', b'{"new": [{"number": "x"}]}', b"\xff"]
)
def test_a_note_that_is_damaged_does_not_close_the_board(stage, content):
    Path(stage.layout.task_intent("crew")).write_bytes(content)
    assert board.claim(stage.boardroom(), "crew", "ann", "1").task is not None
    assert not Path(stage.layout.task_intent("crew")).exists()
    assert stage.wrong() == []


# Processes beside each other.

WORKER = """
import sys
from atm.board.services import working as board
from atm.roster.services.full_boardroom import FullBoardroom
from atm.files.adapters.remains import stale_locks
from atm.files.adapters.machine import find_layout
from atm.wiring.mail import build_room
from atm.wiring.board import build_tasks

# Killed between the making of a lock and the note about it, a process leaves what looks foreign for half a minute.
stale_locks.BREAK_AFTER, stale_locks.WATCH_FOR = 1.0, 0.2
layout, who = find_layout({"ATM_HOME": sys.argv[1]}), sys.argv[2]
boardroom = FullBoardroom(room=build_room(layout), tasks=build_tasks(layout), programs=lambda: None)
while True:
    done = board.claim(boardroom, "crew", who)
    if done.task is None:
        if done.refusal.code == "all-finished":
            break
        continue
    print("claimed", done.task.id, flush=True)
    board.complete(boardroom, "crew", who, done.task.id, claim_id=done.task.claim_id)
    print("completed", done.task.id, flush=True)
print("end", flush=True)
"""


def _work(home: Path, who: str, seed: int, said: list[str]) -> None:
    """Starts a worker, kills it after a few words, starts it again; the last one works to the end."""
    dice = random.Random(seed)
    for lives in range(5, -1, -1):
        command = [sys.executable, "-c", WORKER, str(home), who]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            guard = threading.Timer(240, process.kill)
            guard.start()
            words = dice.randint(1, 6) if lives else 1_000_000
            assert process.stdout is not None
            for _ in range(words):
                line = process.stdout.readline().strip()
                said += [line] if line else []
                if not line or line == "end":
                    break
            process.kill() if lives else None
            said += process.stdout.read().split("\n")[:-1] if lives else []
            process.wait(timeout=240)
            guard.cancel()


def test_two_processes_that_are_killed_and_started_again_finish_every_task_once(stage, home):
    wishes = [NewTask(f"task {n}", depends_on=[f"task {n - 3}"] if n > 2 else []) for n in range(24)]
    add(stage.boardroom(), "crew", "lea", wishes)
    said: dict[str, list[str]] = {"ann": [], "bob": []}
    threads = [threading.Thread(target=_work, args=(home, who, n, said[who])) for n, who in enumerate(said)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    assert [lines[-1] for lines in said.values()] == ["end", "end"]
    tasks = stage.tasks()
    assert len(tasks) == 27
    assert {task["status"] for task in tasks.values()} == {"completed"}
    claims = Counter(line["task"] for line in stage.history() if line.get("reason") == "claimed")
    ends = Counter(line["task"] for line in stage.history() if line.get("to") == "completed")
    assert set(claims.values()) == set(ends.values()) == {1}
    assert len(claims) == len(ends) == 27
    assert stage.wrong() == []
    order = [int(line["task"]) for line in stage.history() if line.get("to") == "completed"]
    for id, task in tasks.items():
        assert all(order.index(int(other)) < order.index(id) for other in task["blockedBy"])
    both = {line for line in said["ann"] if line.startswith("completed")} & set(said["bob"])
    assert not both, "two processes were told that they had completed the same task"


UPDATER = """
const fs = require("fs");
const path = require("path");
const lockfile = require("proper-lockfile");
const [folder, name, count] = process.argv.slice(1);
const patience = { retries: { retries: 3000, factor: 1.2, minTimeout: 1, maxTimeout: 15 } };

async function update(number, turn) {
  const file = path.join(folder, `${number}.json`);
  const release = await lockfile.lock(file, patience);
  try {
    const task = JSON.parse(fs.readFileSync(file, "utf8"));
    task.metadata = { ...task.metadata, [name]: ((task.metadata || {})[name] || 0) + 1 };
    const text = JSON.stringify(task, null, 2);
    if (turn % 2) return fs.writeFileSync(file, text);
    fs.writeFileSync(`${file}.${name}`, text);
    fs.renameSync(`${file}.${name}`, file);
  } finally {
    await release();
  }
}

async function create(turn) {
  const release = await lockfile.lock(path.join(folder, ".lock"), patience);
  try {
    const numbers = fs.readdirSync(folder).filter((n) => /^\\\\d+\\\\.json$/.test(n)).map((n) => parseInt(n));
    const mark = parseInt(fs.readFileSync(path.join(folder, ".highwatermark"), "utf8"));
    const id = Math.max(mark, ...numbers) + 1;
    const subject = `${name} ${turn}`;
    const task = { id: `${id}`, subject, description: "", status: "pending", blocks: [], blockedBy: [] };
    fs.writeFileSync(path.join(folder, `${id}.json`), JSON.stringify(task, null, 2));
  } finally {
    await release();
  }
}

(async () => {
  for (let turn = 0; turn < Number(count); turn++) {
    await update(1 + (turn % 3), turn);
    await create(turn);
  }
})().catch((error) => { console.error(error); process.exit(1); });
"""

COMMENTER = """
import sys
from atm.board.services import working as board
from atm.roster.services.full_boardroom import FullBoardroom
from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import add
from atm.files.adapters.machine import find_layout
from atm.wiring.mail import build_room
from atm.wiring.board import build_tasks

layout, who = find_layout({"ATM_HOME": sys.argv[1]}), sys.argv[2]
boardroom = FullBoardroom(room=build_room(layout), tasks=build_tasks(layout), programs=lambda: None)
for turn in range(int(sys.argv[3])):
    board.comment(boardroom, "crew", who, str(1 + turn % 3), f"{who} {turn}")
    add(boardroom, "crew", who, [NewTask(f"{who} {turn}", depends_on=["#2"])])
"""


@needs("node", node_package="proper-lockfile")
def test_nothing_is_lost_between_node_and_us_at_the_same_tasks_and_the_same_list(stage, home):
    count = 21
    script = UPDATER.replace("\\\\", "\\")
    commands = [["node", "-e", script, str(stage.folder), f"node{n}", str(count)] for n in range(2)]
    commands += [[sys.executable, "-c", COMMENTER, str(home), f"ours{n}", str(count)] for n in range(2)]
    processes = [subprocess.Popen(command, cwd=NODE) for command in commands]
    assert [process.wait(timeout=240) for process in processes] == [0] * 4
    tasks = stage.tasks()
    subjects = Counter(task["subject"] for task in tasks.values())
    expected = [f"{name}{n} {turn}" for name in ("node", "ours") for n in range(2) for turn in range(count)]
    assert subjects == Counter([*expected, "base", "next", "free"])
    for id in (1, 2, 3):
        assert [tasks[id]["metadata"][f"node{n}"] for n in range(2)] == [count // 3] * 2
        assert len(tasks[id]["metadata"]["atm"]["comments"]) == 2 * count // 3
    assert sorted(int(id) for id in tasks[2]["blocks"]) == sorted(
        id for id, task in tasks.items() if task["subject"].startswith("ours")
    )
    assert stage.wrong() == []
    assert stage.litter() == []
