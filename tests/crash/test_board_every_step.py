"""
The board, stopped at every single step of every change: by kill -9, by a full or broken disk, by a real signal.

Whatever the step, the next turn of a fresh process finds everything whole: the change happened entirely or not at
all, every event that stands in a file stands in the history once, nothing half-made lies about, and no number is
given twice.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.chaos import LONG, ROUNDS, refusals
from tests.crash.conftest import ClosingDisk, Left, silent_kills
from tests.proving import proves

from atm.board.ports.tasks import Tasks
from atm.board.rules.tasks import Change
from atm.board.services import leaving, reviews
from atm.board.services import working as board
from atm.board.services.importing import reimport
from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import add, depend, split
from atm.core.errors import AtmError
from atm.files.adapters.machine import find_layout
from atm.files.formats.layout import Layout
from atm.files.ports.disk import Disk
from atm.roster.services.full_boardroom import FullBoardroom
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.testing import Crash, FaultyDisk, MemoryPrograms, QuickDisk
from atm.wiring.board import build_tasks
from atm.wiring.mail import build_room

ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")
LONG_AGO = time.time() - 3600


class HurriedClock:
    """Real time, but waiting takes none."""

    def __init__(self, ahead: float = 0.0) -> None:
        self._ahead = ahead

    def now(self) -> float:
        return time.time() + self._ahead

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead

    def sleep(self, seconds: float) -> None:
        self._ahead += seconds


def a_layout(home: Path) -> Layout:
    return find_layout({"ATM_HOME": str(home)})


def a_desk(home: Path, disk: Disk | None = None, ahead: float = 0.0) -> FullBoardroom:
    """A fresh process. Only the steps of the board's own files are counted and stopped."""
    layout, clock, programs = a_layout(home), HurriedClock(ahead), MemoryPrograms()
    room = build_room(layout, disk=QuickDisk(), clock=clock)
    tasks = build_tasks(layout, disk=disk or QuickDisk(), clock=clock)
    return FullBoardroom(room=room, tasks=tasks, programs=lambda: programs)


# The board that everything starts from, and every way to change it.


def three_tasks(boardroom: FullBoardroom) -> None:
    create_team(boardroom.room, "crew", lead="lea")
    for name in ("ann", "bob"):
        add_member(boardroom.room, "crew", Member(name))
    add(boardroom, "crew", "lea", [NewTask("base"), NewTask("next", depends_on=["base"]), NewTask("free")])


def claimed(boardroom: FullBoardroom) -> None:
    board.claim(boardroom, "crew", "ann", "1")


def in_review(boardroom: FullBoardroom) -> None:
    claimed(boardroom)
    reviews.request_review(boardroom, "crew", "ann", "1", "bob")


def planned(boardroom: FullBoardroom) -> None:
    claimed(boardroom)
    reviews.submit_plan(boardroom, "crew", "ann", "1", "first this, then that")


def asked(boardroom: FullBoardroom) -> None:
    reviews.ask(boardroom, "crew", "ann", "1", "lead", "which one?")


def several() -> list[NewTask]:
    return [
        NewTask("one"),
        NewTask("two", depends_on=["one", "#1"]),
        NewTask("three", depends_on=["two", "#3"]),
        NewTask("four"),
    ]


def imported(boardroom: FullBoardroom) -> None:
    add(boardroom, "crew", "lea", [NewTask(wish.subject, source="plan.md") for wish in several()])


def rewritten() -> list[NewTask]:
    """Tasks that change, that come, and that wait for others than before."""
    return [
        NewTask("one", description="all of it", files=["a.py"], source="plan.md"),
        NewTask("two", depends_on=["one", "new"], priority="high", source="plan.md"),
        NewTask("new", depends_on=["four", "#1"], key="n", source="plan.md"),
        NewTask("four", source="plan.md"),
    ]


def nothing(boardroom: FullBoardroom) -> None:
    return None


@dataclass(frozen=True)
class Case:
    act: Callable[[FullBoardroom], object]
    before: Callable[[FullBoardroom], None] = nothing
    ahead: float = 0.0


def completed(boardroom: FullBoardroom) -> None:
    claimed(boardroom)
    board.complete(boardroom, "crew", "ann", "1")


CASES: dict[str, Case] = {
    "add": Case(
        lambda boardroom: add(boardroom, "crew", "bob", [NewTask("alone", description="do it", priority="high")])
    ),
    "add-dependent": Case(lambda boardroom: add(boardroom, "crew", "bob", [NewTask("later", depends_on=["#1", "#3"])])),
    "import": Case(lambda boardroom: add(boardroom, "crew", "bob", several())),
    "import-again": Case(lambda boardroom: reimport(boardroom, "crew", "lea", rewritten(), "plan.md"), imported),
    "claim": Case(lambda boardroom: board.claim(boardroom, "crew", "ann")),
    "complete": Case(lambda boardroom: board.complete(boardroom, "crew", "ann", "1", result="done"), claimed),
    "fail": Case(lambda boardroom: board.fail(boardroom, "crew", "ann", "1", "it broke"), claimed),
    "fail-for-good": Case(lambda boardroom: board.fail(boardroom, "crew", "ann", "1", "it broke", final=True), claimed),
    "release": Case(lambda boardroom: board.release(boardroom, "crew", "ann", "1", reason="lunch"), claimed),
    "assign": Case(lambda boardroom: board.assign(boardroom, "crew", "lea", "1", "bob"), claimed),
    "cancel": Case(lambda boardroom: board.cancel(boardroom, "crew", "lea", "3", "not needed")),
    "depend-on": Case(lambda boardroom: depend(boardroom, "crew", "lea", "3", ["1", "2"])),
    "depend-off": Case(lambda boardroom: depend(boardroom, "crew", "lea", "2", [], ["1"])),
    "depend-both": Case(lambda boardroom: depend(boardroom, "crew", "lea", "2", ["3"], ["1"])),
    "split": Case(
        lambda boardroom: split(boardroom, "crew", "ann", "1", [NewTask("part a"), NewTask("part b")]), claimed
    ),
    "comment": Case(lambda boardroom: board.comment(boardroom, "crew", "ann", "1", "a remark")),
    "review-request": Case(lambda boardroom: reviews.request_review(boardroom, "crew", "ann", "1", "bob"), claimed),
    "review-approve": Case(lambda boardroom: reviews.approve(boardroom, "crew", "bob", "1", "good"), in_review),
    "plan-submit": Case(lambda boardroom: reviews.submit_plan(boardroom, "crew", "ann", "1", "my plan"), claimed),
    "plan-approve": Case(lambda boardroom: reviews.approve_plan(boardroom, "crew", "lea", "1", "go"), planned),
    "ask": Case(lambda boardroom: reviews.ask(boardroom, "crew", "ann", "1", "lead", "which one?")),
    "answer": Case(lambda boardroom: reviews.answer(boardroom, "crew", "lea", "1", "this one"), asked),
    "review-start": Case(lambda boardroom: reviews.start_review(boardroom, "crew", "bob", "1"), in_review),
    "review-changes": Case(
        lambda boardroom: reviews.request_changes(boardroom, "crew", "bob", "1", "more tests"), in_review
    ),
    "plan-reject": Case(lambda boardroom: reviews.reject_plan(boardroom, "crew", "lea", "1", "too broad"), planned),
    "reopen": Case(lambda boardroom: board.reopen(boardroom, "crew", "lea", "1", "not good"), completed),
    "leave": Case(lambda boardroom: leaving.release_all(boardroom, "crew", "", "ann"), claimed),
    "silent-release": Case(lambda boardroom: leaving.release_silent(boardroom, "crew"), claimed, ahead=700.0),
}


class Stage:
    """One case, with a board to start from that is copied for every step."""

    def __init__(self, folder: Path, name: str) -> None:
        self.case = CASES[name]
        self._folder = folder
        self._template = folder / "template"
        boardroom = a_desk(self._template)
        three_tasks(boardroom)
        self.case.before(boardroom)
        shutil.rmtree(a_layout(self._template).locks)
        self._age(self._template)
        self.before = view(self._copy("before"))
        after = self._copy("after")
        self.steps = self.run(after)[0].steps
        settle(after)
        self.after = view(after)
        assert self.before != self.after

    def _age(self, home: Path) -> None:
        """Old files: then it does not depend on the speed of this machine which steps are taken."""
        for path in (home / ".claude/tasks/crew").glob("*.json"):
            os.utime(path, (LONG_AGO, LONG_AGO))

    def _copy(self, name: str) -> Path:
        home = self._folder / name
        shutil.copytree(self._template, home)
        a_desk(home).tasks.board("crew")
        return home

    def run(self, home: Path, **fault: Any) -> tuple[FaultyDisk, BaseException | None]:
        disk = ClosingDisk(QuickDisk(), **fault)
        try:
            self.case.act(a_desk(home, disk, self.case.ahead))
        except (Crash, AtmError, OSError) as error:
            return disk, error
        return disk, None

    def each_step(self, every: int = 1) -> Iterator[tuple[int, Path]]:
        """With `every`, other cases stop at other steps."""
        yield from self.each_of(range([*CASES.values()].index(self.case) % every, len(self.steps), every))

    def each_kill(self) -> Iterator[tuple[int, Path]]:
        yield from self.each_of(silent_kills(self.steps))

    def each_of(self, steps: Iterable[int]) -> Iterator[tuple[int, Path]]:
        """Each with a home in which nothing has happened yet."""
        for step in steps:
            home = self._copy("home")
            yield step, home
            shutil.rmtree(home)


# What a board must be like afterwards.


def files_of(home: Path) -> dict[str, dict[str, Any]]:
    """With the standard parser, so that a torn file fails here."""
    return {path.stem: json.loads(path.read_bytes()) for path in (home / ".claude/tasks/crew").glob("*.json")}


def events_in(record: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = record.get("metadata", {}).get("atm", {}).get("events", [])
    return found


def history(home: Path) -> list[dict[str, Any]]:
    """Every whole line; a torn one, closed by the next writer, costs itself alone."""
    lines = []
    for line in (home / ".claude/teams/crew/tasks.jsonl").read_bytes().split(b"\n"):
        try:
            lines.append(json.loads(line))
        except ValueError:
            continue
    return lines


def view(home: Path) -> str:
    """Everything that the files say, without ids and times, and without what only settling did."""
    seen = {}
    for id, record in sorted(files_of(home).items()):
        for event in events_in(record):
            if event["type"] == "settled":
                record["metadata"]["atm"]["events"].remove(event)
        seen[id] = record
    return TIME.sub("T", ID.sub("ID", json.dumps(seen, sort_keys=True)))


def settle(home: Path) -> None:
    """The next turn of a fresh process, which touches every task. A lock that looks foreign has grown old by then."""
    boardroom = a_desk(home, ahead=800.0)
    stale = time.time() - 31
    for lock in (home / ".claude/tasks/crew").glob("*.lock"):
        os.utime(lock, (stale, stale)) if lock.is_dir() else None
    with boardroom.tasks.turn("crew") as turn:
        for id in [card.id for card in turn.board.sorted()]:
            by = boardroom.stamp("janitor")
            turn.change(id, lambda _, by=by: Change(by.event("settled")))  # type: ignore[misc]


def litter(home: Path) -> list[str]:
    tasks, team = home / ".claude/tasks/crew", home / ".claude/teams/crew"
    known = re.compile(r"[1-9]\d*\.json|\.lock|\.highwatermark")
    found = [path for path in tasks.iterdir() if not known.fullmatch(path.name)]
    found += [path for path in team.rglob("*") if ".new" in path.name or "intent" in path.name]
    found += (Path(a_layout(home).state_root) / "boards").glob(".*")
    return [path.name for path in found]


def is_written_again(name: str) -> bool:
    """A temporary file of a fixed name, which the next writer of that file replaces: looked at in a test of its own."""
    return name.endswith(".new")


def wrong_in_history(home: Path) -> list[str]:
    lines = history(home)
    wrong = []
    numbers = [line["seq"] for line in lines]
    if any(one >= other for one, other in pairwise(numbers)):
        wrong.append(f"the numbers do not rise: {numbers}")
    told = Counter(line["id"] for line in lines)
    wrong += [f"told {count} times: {id}" for id, count in told.items() if count > 1]
    standing = Counter(event["id"] for record in files_of(home).values() for event in events_in(record))
    wrong += [f"stands {count} times in the files: {id}" for id, count in standing.items() if count > 1]
    wrong += [f"not told: {id}" for id in standing.keys() - told.keys()]
    wrong += [f"told, but it did not happen: {id}" for id in told.keys() - standing.keys()]
    return wrong


def wrong_in_links(home: Path) -> list[str]:
    files = files_of(home)
    one = {(id, other) for id, record in files.items() for other in record["blockedBy"]}
    two = {(other, id) for id, record in files.items() for other in record["blocks"]}
    wrong = [f"{id} waits for {other}, which does not know" for id, other in one - two]
    wrong += [f"{other} blocks {id}, which does not know" for id, other in two - one]
    return wrong + [f"{id} waits for {other}, which is not there" for id, other in one | two if other not in files]


def cards(tasks: Tasks) -> dict[int, list[Any]]:
    return {
        number: [[*value] if isinstance(value, list | tuple) else value for value in card.values()]
        for number, card in tasks.board("crew").cards.items()
    }


def wrong_in_index(home: Path) -> list[str]:
    warm = cards(a_desk(home, ahead=900.0).tasks)
    index = Path(a_layout(home).board_index("crew"))
    kept = index.read_bytes()
    index.unlink()
    cold = cards(a_desk(home, ahead=900.0).tasks)
    index.write_bytes(kept)
    return [] if warm == cold else [f"the index says {warm}, the files say {cold}"]


def wrong_with_numbers(home: Path) -> list[str]:
    used = [int(line["task"]) for line in history(home)] + [int(id) for id in files_of(home)]
    new = add(a_desk(home, ahead=900.0), "crew", "bob", [NewTask("one more")]).tasks[0]
    return [] if new.number > max(used) else [f"{new.number} was used before"]


def wrongs(home: Path, allowed: tuple[str, ...]) -> list[str]:
    try:
        settle(home)
        found = [] if view(home) in allowed else [f"half done: {view(home)}"]
        found += [f"left behind: {name}" for name in litter(home) if not is_written_again(name)]
        found += wrong_in_history(home) + wrong_in_links(home) + wrong_in_index(home) + wrong_with_numbers(home)
    except (AtmError, OSError, ValueError) as error:
        return [f"the next turn fails: {error!r}"]
    return found


@dataclass
class Report:
    """Collects what went wrong at each step, so that one run shows all of it, by what it was."""

    kinds: dict[str, list[str]] = field(default_factory=dict)

    def add(self, step: int, stage: Stage, wrong: list[str]) -> None:
        for each in wrong:
            kind, _, what = each.partition(": ")
            where = f"step {step} of {len(stage.steps)} ({stage.steps[step]})"
            self.kinds.setdefault(kind, []).append(f"{where}: {what[:200]}")

    def check(self) -> None:
        told = [f"{kind}, {len(found)} times:\n  " + "\n  ".join(found[:3]) for kind, found in self.kinds.items()]
        assert not told, "\n".join(told)


@proves("R002-8.0-116", "R004-task-system-T7", "R004-task-system-T7b", "R004-defects-01c")
@pytest.mark.parametrize("name", CASES)
def test_a_kill_at_any_step_leaves_a_change_done_or_undone(tmp_path, name):
    stage, report, left = Stage(tmp_path, name), Report(), Left()
    for step, home in stage.each_kill():
        _, error = stage.run(home, stop_at=step)
        assert isinstance(error, Crash), f"step {step} was not taken: {error!r}"
        if left.is_new(home):
            report.add(step, stage, wrongs(home, (stage.before, stage.after)))
    report.check()


@pytest.mark.parametrize("name", ["add", "depend-off"])
def test_no_half_written_file_of_a_killed_process_outlives_the_next_turn(tmp_path, name):
    stage, report, left = Stage(tmp_path, name), Report(), Left()
    for step, home in stage.each_kill():
        stage.run(home, stop_at=step)
        if not left.is_new(home):
            continue
        settle(home)
        report.add(step, stage, [f"left behind: {each}" for each in litter(home)])
    report.check()


def test_a_board_that_is_killed_while_it_is_begun_is_begun_without_a_trace(tmp_path):
    template = tmp_path / "template"
    create_team(a_desk(template).room, "crew", lead="lea")
    add_member(a_desk(template).room, "crew", Member("bob"))
    disk = FaultyDisk(QuickDisk())
    shutil.copytree(template, tmp_path / "count")
    add(a_desk(tmp_path / "count", disk), "crew", "lea", [NewTask("first")])
    wrong, left, home = [], Left(), tmp_path / "home"
    for step, name in enumerate(disk.steps):
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(template, home)
        with pytest.raises(Crash):
            add(a_desk(home, FaultyDisk(QuickDisk(), stop_at=step)), "crew", "lea", [NewTask("first")])
        if not left.is_new(home):
            continue
        (home / ".claude/tasks/crew").mkdir(parents=True, exist_ok=True)
        settle(home)
        add(a_desk(home, ahead=800.0), "crew", "lea", [NewTask("second")])
        wrong += [f"step {step} ({name}): {each}" for each in (*litter(home), *wrong_in_history(home))]
    assert wrong == []


EVERY = {"add": 1, "import": 1, "claim": 1, "complete": 1, "depend-both": 2, "split": 2}
"""The others take the same way through the files as these; there every fifth step is stopped, in `make chaos` each."""


@proves("R004-defects-01d")
@pytest.mark.campaign
@pytest.mark.parametrize("turn", ROUNDS)
@pytest.mark.parametrize("name", CASES)
def test_an_error_at_any_step_is_a_clear_refusal_or_success_and_nothing_half_made(tmp_path, name, turn):
    stage, report, left = Stage(tmp_path, name), Report(), Left()
    place = [*CASES].index(name)
    every = 1 if LONG else EVERY.get(name, 3)
    ways = {refusal.step: refusal for refusal in [*refusals(stage.steps, turn + place)][place % every :: every]}
    for step, home in stage.each_of(ways):
        _, error = stage.run(home, stop_at=step, error=ways[step].error)
        wrong = [f"not explained: {error!r}"] if isinstance(error, OSError) else []
        if error is None and view(home) != stage.after:
            wrong.append("reported as done, but it is not: " + view(home))
        if left.is_new(home):
            wrong += wrongs(home, (stage.before, stage.after))
        report.add(step, stage, wrong)
    report.check()


@pytest.mark.parametrize("name", ["claim", "import"])
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_an_error_at_any_step_leaves_no_file_open(tmp_path, name):
    stage, report = Stage(tmp_path, name), Report()
    for step, home in stage.each_step():
        if stage.steps[step] == "close":
            continue  # the file cannot be closed any other way
        stage.run(home, stop_at=step, error=OSError(errno.ENOSPC, "No space left on device"))
        report.add(step, stage, [f"a file stays open: {path}" for path in open_below(home)])
    report.check()


def open_below(home: Path) -> list[str]:
    """By name: threads and garbage of other tests in this process open and close files too."""
    found = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{fd}"))
        except OSError:
            continue  # the one by which the folder was listed, or closed meanwhile
    return [path for path in found if path.startswith(f"{home}/")]


def test_what_a_killed_claim_left_beside_its_task_goes_with_the_next_turn_at_another_task(tmp_path):
    """Nobody may ever touch that task again: it could be completed, or deleted."""
    stage, report, left = Stage(tmp_path, "claim"), Report(), Left()
    for step, home in stage.each_kill():
        stage.run(home, stop_at=step)
        if not left.is_new(home):
            continue
        boardroom = a_desk(home, ahead=800.0)
        stale = time.time() - 31
        for lock in (home / ".claude/tasks/crew").glob("*.lock"):
            os.utime(lock, (stale, stale)) if lock.is_dir() else None
        board.comment(boardroom, "crew", "bob", "3", "on another task")
        report.add(step, stage, [f"left behind: {name}" for name in litter(home)])
    report.check()


@pytest.mark.parametrize("name", ["add-dependent", "import", "depend-both", "split"])
def test_killed_once_more_at_any_step_while_finishing_what_a_killed_process_began(tmp_path, name):
    """The first one is killed when its note is written; the one that finishes for it is killed at every step."""
    stage, report, left = Stage(tmp_path, name), Report(), Left()
    noted = stage.steps.index("rename") + 1
    for step, home in stage.each_step(every=5):
        stage.run(home, stop_at=noted)
        try:
            with a_desk(home, FaultyDisk(QuickDisk(), stop_at=step), ahead=800.0).tasks.turn("crew"):
                pass
        except Crash:
            pass
        if left.is_new(home):
            report.add(step, stage, wrongs(home, (stage.after,)))
    report.check()


def test_two_processes_with_the_same_number_that_are_killed_one_after_the_other_damage_nothing(tmp_path):
    """As in containers, where numbers begin anew: the second is not taken for the first, of which there is a note."""
    ready, home = tmp_path / "ready", tmp_path / "home"
    three_tasks(a_desk(ready))

    def killed_at(step: int | None) -> FaultyDisk:
        disk = FaultyDisk(QuickDisk(), stop_at=step)
        with contextlib.suppress(Crash):
            board.comment(a_desk(home, disk), "crew", "bob", "3", "something")
        return disk

    shutil.copytree(ready, home)
    steps = killed_at(None).steps
    first = steps.index("replace_body", steps.index("exchange"))  # all is done, but for taking the note away
    tried = 0
    for step in count(first - 12):
        shutil.rmtree(home)
        shutil.copytree(ready, home)
        assert killed_at(first).dead
        if not killed_at(step).dead:
            break
        settle(home)
        tried += json.loads((home / ".claude/tasks/crew/3.json").read_bytes())["id"] == "3"
    assert tried > 20


def test_a_kill_while_the_index_is_written_anew_costs_nothing(tmp_path):
    home = tmp_path / "home"
    boardroom = a_desk(home)
    three_tasks(boardroom)
    index = Path(a_layout(home).board_index("crew"))
    bloated = index.read_bytes() * 400
    disk = FaultyDisk(QuickDisk())
    index.write_bytes(bloated)
    board.comment(a_desk(home, disk), "crew", "bob", "3", "written anew")
    assert len(index.read_bytes()) < len(bloated)
    for step in range(len(disk.steps) - 20, len(disk.steps)):
        index.write_bytes(bloated)
        with pytest.raises(Crash):
            board.comment(a_desk(home, FaultyDisk(QuickDisk(), stop_at=step)), "crew", "bob", "3", f"comment {step}")
        assert wrong_in_index(home) == []
    settle(home)
    assert wrong_in_history(home) == []


# Real signals.


def act_and_die(name: str, home: str, step: str) -> None:
    case = CASES[name]
    case.act(a_desk(Path(home), FaultyDisk(QuickDisk(), stop_at=int(step), for_real=True), case.ahead))


@proves("R004-defects-01c")
@pytest.mark.parametrize("name", ["claim", "complete", "import"])
def test_a_real_kill_signal_at_any_step_leaves_a_change_done_or_undone(tmp_path, name, zygote):
    stage, report, left, act_in_a_process = Stage(tmp_path, name), Report(), Left(), zygote(act_and_die)
    for step, home in stage.each_kill():
        assert act_in_a_process(name, home, step) == -9, f"step {step} was not taken"
        if left.is_new(home):
            report.add(step, stage, wrongs(home, (stage.before, stage.after)))
    report.check()
