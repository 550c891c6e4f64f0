"""One contract, two implementations: the board's twins of `atm.testing`, and real files, programs and heartbeats."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.proving import proves

from atm.board.adapters import programs as real_programs
from atm.board.adapters.programs import KEPT, LARGEST_LOG, RealPrograms
from atm.board.formats.task import new_task
from atm.board.ports.programs import Programs
from atm.board.ports.tasks import NewFile, Tasks
from atm.board.rules.acceptance import Ran
from atm.board.rules.dependencies import Board
from atm.board.rules.tasks import Change, Stamp, Task
from atm.core.errors import AtmError, NotAllowed, UnreadableFile
from atm.core.work_errors import NoSuchTask
from atm.events.adapters.folder_news import InotifyNews
from atm.files.formats.layout import Layout
from atm.files.ports.folder_news import FolderNews
from atm.team.ports.presence import Presence
from atm.team.rules.liveness import Beat
from atm.testing import FakeClock, LookingNews, MemoryPresence, MemoryPrograms, MemoryTasks
from atm.wiring.board import build_tasks
from atm.wiring.mail import build_room

posix = pytest.mark.skipif(os.name == "nt", reason="drives a POSIX shell")


class World:
    """A task list, and other programs that write into it."""

    def __init__(self, tasks: Tasks) -> None:
        self.tasks = tasks
        self._count = 0

    def again(self) -> Tasks:
        """The same list for another process."""
        return self.tasks

    def foreign(self, number: int, **record: Any) -> None:
        self.write(number, json.dumps({"id": str(number), "subject": "theirs", "status": "pending", **record}).encode())

    def write(self, number: int, data: bytes) -> None:
        tasks = self.tasks
        assert isinstance(tasks, MemoryTasks)
        tasks.write_as_others_do("crew", number, data)

    def delete(self, number: int) -> None:
        tasks = self.tasks
        assert isinstance(tasks, MemoryTasks)
        tasks.delete("crew", number)

    def raw(self, number: int) -> bytes:
        tasks = self.tasks
        assert isinstance(tasks, MemoryTasks)
        return tasks.files["crew"][number]

    # What we do.

    def event(self, kind: str = "test", **facts: Any) -> dict[str, Any]:
        self._count += 1
        return Stamp("ann", "2026-01-01T00:00:00.000Z", f"e{self._count}").event(kind, **facts)

    def new(self, number: int, subject: str = "ours") -> NewFile:
        created = self.event("task_created")
        content = new_task(
            number, subject=subject, description="d", owner="", blocked_by=[], blocks=[], own={"events": [created]}
        )
        return NewFile(number, content, [created])

    def add(self, *subjects: str) -> list[str]:
        with self.tasks.turn("crew") as turn:
            numbers = turn.upcoming(len(subjects))
            turn.write([self.new(n, subject) for n, subject in zip(numbers, subjects, strict=True)], {})
        return [str(number) for number in numbers]

    def status(self, to: str, owner: str = "ann") -> Change:
        return Change(self.event("status_changed", to=to), fields={"status": to, "owner": owner})

    def change(self, id: str, change: Change | None) -> Task | None:
        with self.tasks.turn("crew") as turn:
            return turn.change(id, lambda _: change)

    def told(self, id: str) -> list[str]:
        return [past.word("to") or past.word("type") for past in self.tasks.past("crew")[0] if past.task == id]

    def kinds(self, id: str) -> list[str]:
        return [past.word("type") for past in self.tasks.past("crew")[0] if past.task == id]


class WorldOnFiles(World):
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.folder = Path(layout.tasks("crew"))
        Path(layout.team("crew")).mkdir(parents=True)
        super().__init__(self.again())

    def again(self) -> Tasks:
        return build_tasks(self.layout, clock=FakeClock(time.time()))

    def write(self, number: int, data: bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{number}.json").write_bytes(data)

    def delete(self, number: int) -> None:
        (self.folder / f"{number}.json").unlink()

    def raw(self, number: int) -> bytes:
        return (self.folder / f"{number}.json").read_bytes()


class WorldOfAServer(WorldOnFiles):
    """Read by a daemon, which keeps what it has read."""

    def __init__(self, layout: Layout, news: FolderNews) -> None:
        self._news = news
        super().__init__(layout)
        self.tasks = build_tasks(layout, clock=FakeClock(time.time()), news=news)


@pytest.fixture
def files(layout: Layout) -> WorldOnFiles:
    return WorldOnFiles(layout)


@pytest.fixture(params=["memory", "files", "server", "looking server"])
def world(request, layout: Layout) -> Iterator[World]:
    if request.param == "memory":
        yield World(MemoryTasks(FakeClock()))
    elif request.param == "files":
        yield WorldOnFiles(layout)
    elif request.param == "looking server":
        yield WorldOfAServer(layout, LookingNews())
    else:
        news = InotifyNews()
        yield WorldOfAServer(layout, news)
        news.close()


class TestReading:
    def test_a_list_that_is_not_there_is_empty(self, world):
        assert not world.tasks.exists("crew")
        assert world.tasks.board("crew").cards == {}
        assert world.tasks.past("crew") == ([], 0)
        with pytest.raises(NoSuchTask):
            world.tasks.read("crew", "1")

    @proves("R004-architecture-06")
    def test_a_list_of_claude_codes_is_read_as_it_is(self, world):
        world.foreign(3, status="in_progress", owner="fixer", blockedBy=["1"], blocks=["9"])
        assert world.tasks.exists("crew")
        card = world.tasks.board("crew").card("3")
        assert (card.subject, card.status, card.owner, card.blocked_by, card.blocks) == (
            "theirs",
            "in_progress",
            "fixer",
            ["1"],
            ["9"],
        )
        task = world.tasks.read("crew", "3")
        assert (task.number, task.owner) == (3, "fixer")
        assert world.tasks.path("crew", "3").endswith("crew/3.json")

    def test_a_change_by_another_program_is_seen_at_the_next_look(self, world):
        world.foreign(1)
        for status in ("in_progress", "completed", "pending") * 3:
            world.foreign(1, status=status)
            assert world.tasks.board("crew").card("1").status == status

    def test_a_file_that_is_no_task_is_a_card_that_says_so_and_breaks_nothing_else(self, world):
        world.foreign(1)
        world.write(2, b"this is not json")
        world.write(3, b"")
        now = world.tasks.board("crew")
        assert [now.state(card) for card in now.sorted()] == ["pending", "unreadable", "unreadable"]
        with pytest.raises(UnreadableFile):
            world.tasks.read("crew", "2")
        world.foreign(2)
        assert world.tasks.board("crew").card("2").status == "pending"

    def test_a_file_that_vanished_is_remembered_as_it_was(self, world):
        world.foreign(1, status="completed")
        world.foreign(2, status="pending")
        world.foreign(3, blockedBy=["1", "2"])
        world.tasks.board("crew")
        world.delete(1)
        world.delete(2)
        now = world.tasks.board("crew")
        assert (sorted(now.cards), sorted(now.gone)) == ([3], [1, 2])
        assert now.open_blockers(now.card("3")) == ["2"]
        with pytest.raises(NoSuchTask, match="it was completed"):
            world.tasks.read("crew", "1")

    def test_a_file_that_comes_back_is_not_gone_any_more(self, world):
        world.foreign(1)
        world.tasks.board("crew")
        world.delete(1)
        assert 1 in world.tasks.board("crew").gone
        world.foreign(1, status="in_progress", owner="x")
        now = world.tasks.board("crew")
        assert now.card("1").status == "in_progress"
        assert now.state(now.card("1")) == "in_progress"

    def test_a_foreign_file_with_absurd_ids_breaks_no_board(self, world):
        world.write(1, b'{"id": "1", "blocks": ["' + b"9" * 5000 + b'"], "blockedBy": [{}, null, true, 1e400, "x"]}')
        now = world.tasks.board("crew")
        assert now.state(now.card("1")) == "blocked"


class TestChanging:
    def test_a_rule_changes_one_task_and_the_turns_board_knows(self, world):
        world.add("a")
        with world.tasks.turn("crew") as turn:
            done = turn.change("1", lambda _: world.status("in_progress"))
            assert done is not None
            assert (done.status, done.owner) == ("in_progress", "ann")
            assert turn.board.card("1").owner == "ann"
        assert world.again().read("crew", "1").owner == "ann"
        assert world.told("1") == ["task_created", "in_progress"]

    def test_a_rule_is_given_the_task_as_its_file_is(self, world):
        world.add("a")
        seen = []
        with world.tasks.turn("crew") as turn:
            world.foreign(1, owner="fixer", status="in_progress")
            assert turn.change("1", lambda task: seen.append((task.status, task.owner))) is None
        assert seen == [("in_progress", "fixer")]

    def test_a_rule_that_gives_none_writes_nothing(self, world):
        world.add("a")
        before = world.raw(1)
        assert world.change("1", None) is None
        assert world.raw(1) == before
        assert world.told("1") == ["task_created"]

    def test_a_rule_that_raises_writes_nothing_and_the_list_is_free_again(self, world):
        world.add("a")
        before = world.raw(1)

        def refuse(_: Task) -> Change:
            raise NotAllowed("no")

        with world.tasks.turn("crew") as turn, pytest.raises(NotAllowed):
            turn.change("1", refuse)
        assert world.raw(1) == before
        world.change("1", world.status("in_progress"))
        assert world.told("1") == ["task_created", "in_progress"]

    def test_a_rule_that_raises_out_of_the_turn_leaves_the_list_free(self, world):
        world.add("a")

        def refuse(_: Task) -> Change:
            raise NotAllowed("no")

        def in_a_turn() -> None:
            with world.tasks.turn("crew") as turn:
                turn.change("1", refuse)

        with pytest.raises(NotAllowed):
            in_a_turn()
        world.change("1", world.status("completed"))

    @pytest.mark.parametrize("id", ["9", "0"])
    def test_a_task_that_is_not_there_is_an_error(self, world, id):
        world.add("a")
        with pytest.raises(NoSuchTask):
            world.change(id, world.status("completed"))

    def test_a_task_that_is_deleted_during_the_turn_is_an_error(self, world):
        world.add("a")
        with world.tasks.turn("crew") as turn:
            world.delete(1)
            with pytest.raises(NoSuchTask):
                turn.change("1", lambda _: world.status("completed"))

    def test_a_file_that_cannot_be_read_is_not_changed(self, world):
        world.add("a", "b")
        world.write(1, b"garbage")
        with pytest.raises(UnreadableFile):
            world.change("1", world.status("completed"))
        assert world.raw(1) == b"garbage"
        world.change("2", world.status("completed"))

    def test_a_file_with_no_place_for_ours_is_not_changed(self, world):
        world.foreign(1, metadata=[])
        before = world.raw(1)
        with pytest.raises(UnreadableFile):
            world.change("1", world.status("completed"))
        assert world.raw(1) == before

    def test_fields_that_we_do_not_know_stay_to_the_letter(self, world):
        world.write(1, b'{"id":"1","status":"pending","x": 1.10, "y":{"a":1e5},"metadata":{"z":  [ 1 ]}}')
        world.change("1", world.status("in_progress"))
        for kept in (b'"x": 1.10', b'"y":{"a":1e5}', b'"z":  [ 1 ]'):
            assert kept in world.raw(1)


class TestWriting:
    def test_several_tasks_are_made_and_changed_together(self, world):
        world.add("a")
        with world.tasks.turn("crew") as turn:
            numbers = turn.upcoming(2)
            assert numbers == [2, 3]
            turn.write([world.new(2), world.new(3)], {"1": Change(add={"blocks": ["2", "3"]})})
            assert sorted(turn.board.cards) == [1, 2, 3]
        now = world.again().board("crew")
        assert (sorted(now.cards), now.card("1").blocks) == ([1, 2, 3], ["2", "3"])
        assert [world.told(id) for id in "123"] == [["task_created"]] * 3

    def test_several_changes_without_anything_new(self, world):
        world.add("a", "b")
        with world.tasks.turn("crew") as turn:
            event = world.event("dependencies_changed")
            turn.write([], {"2": Change(event, add={"blockedBy": ["1"]}), "1": Change(add={"blocks": ["2"]})})
            assert turn.board.open_blockers(turn.board.card("2")) == ["1"]
        assert world.told("2") == ["task_created", "dependencies_changed"]
        assert world.told("1") == ["task_created"]

    def test_numbers_are_never_used_twice_also_if_the_files_are_gone(self, world):
        world.add("a", "b", "c")
        for number in (1, 2, 3):
            world.delete(number)
        assert world.add("d") == ["4"]
        world.delete(4)
        assert world.add("e") == ["5"]

    def test_numbers_that_were_reserved_are_nobody_elses(self, world):
        with world.tasks.turn("crew") as turn:
            numbers = turn.upcoming(3)
            turn.reserve(numbers)
        assert world.add("a") == ["4"]
        with world.tasks.turn("crew") as turn:
            turn.reserve([2])  # never lowered
        assert world.add("b") == ["5"]

    def test_numbers_go_on_after_those_of_other_programs(self, world):
        world.foreign(41)
        assert world.add("a") == ["42"]

    def test_a_task_that_another_program_made_under_our_number_is_neither_lost_nor_taken_for_ours(self, world):
        with world.tasks.turn("crew") as turn:
            (number,) = turn.upcoming(1)
            world.foreign(number)
            new = world.new(number)
            with pytest.raises(AtmError):
                turn.write([new], {})
        assert world.tasks.read("crew", str(number)).subject == "theirs"

    def test_a_change_that_cannot_be_made_leaves_the_list_usable(self, world):
        world.add("a", "b")
        world.write(1, b"garbage")
        with world.tasks.turn("crew") as turn, pytest.raises(AtmError):
            turn.write([world.new(3)], {"1": Change(add={"blocks": ["3"]})})
        assert world.change("2", world.status("in_progress")) is not None

    def test_after_a_turn_nothing_is_unfinished(self, world):
        assert world.tasks.unfinished("crew") is None
        world.add("a", "b")
        assert world.tasks.unfinished("crew") is None

    def test_a_turn_that_wrote_nothing_leaves_nothing(self, world):
        with world.tasks.turn("crew") as turn:
            assert turn.board.cards == {}
        assert world.tasks.past("crew") == ([], 0)


class TestHistory:
    def test_the_history_has_numbers_in_order_and_the_state_afterwards(self, world):
        world.add("a")
        world.change("1", world.status("in_progress"))
        world.change("1", world.status("completed"))
        past, torn = world.tasks.past("crew")
        assert ([line.seq for line in past], torn) == ([1, 2, 3], 0)
        assert [line.after["status"] for line in past] == ["pending", "in_progress", "completed"]
        assert past[-1].after["subject"] == "a"

    def test_what_others_did_is_observed_once(self, world):
        world.foreign(1)
        for _ in range(3):
            with world.tasks.turn("crew"):
                pass
        assert world.kinds("1") == ["observed"]
        world.foreign(1, status="in_progress", owner="fixer")
        for _ in range(3):
            with world.tasks.turn("crew"):
                pass
        assert world.kinds("1") == ["observed", "observed"]
        assert world.told("1")[-1] == "in_progress"
        assert world.tasks.past("crew")[0][-1].after["owner"] == "fixer"

    def test_our_own_changes_are_not_observed(self, world):
        world.add("a")
        world.change("1", world.status("in_progress"))
        for _ in range(3):
            with world.again().turn("crew"):
                pass
        assert world.kinds("1") == ["task_created", "status_changed"]

    def test_a_vanished_file_is_told_of_once(self, world):
        world.add("a", "b")
        world.delete(1)
        for _ in range(3):
            with world.tasks.turn("crew"):
                pass
        assert world.kinds("1") == ["task_created", "vanished"]
        assert world.tasks.past("crew")[0][-1].after["subject"] == "a"

    def test_a_task_that_others_change_after_us_is_observed_and_then_changed_by_us_again(self, world):
        world.add("a")
        raw = json.loads(world.raw(1))
        world.write(1, json.dumps({**raw, "status": "in_progress", "owner": "fixer"}).encode())
        world.change("1", world.status("completed"))
        assert world.told("1") == ["task_created", "in_progress", "completed"]


class TestFilesOnly:
    """What the twin has no disk for."""

    def test_a_lost_index_costs_one_reading_and_no_knowledge(self, files):
        files.foreign(1, status="completed")
        files.foreign(2, blockedBy=["1"])
        with files.tasks.turn("crew"):
            pass
        files.delete(1)
        with files.tasks.turn("crew"):
            pass
        assert files.tasks.board("crew").is_done("1")
        os.remove(files.layout.board_index("crew"))
        assert files.again().board("crew").is_done("1")

    def test_a_damaged_index_is_nobodys_problem(self, files):
        files.add("a", "b")
        path = Path(files.layout.board_index("crew"))
        path.write_bytes(b"\xff[1, 2\n" + path.read_bytes()[:-20])
        assert sorted(files.again().board("crew").cards) == [1, 2]

    def test_an_index_that_cannot_be_written_is_nobodys_problem(self, files):
        path = Path(files.layout.board_index("crew"))
        path.mkdir(parents=True)
        files.add("a")
        assert sorted(files.again().board("crew").cards) == [1]
        files.change("1", files.status("completed"))
        assert files.told("1") == ["task_created", "completed"]

    def test_the_mark_of_claude_code_counts(self, files):
        files.folder.mkdir(parents=True)
        (files.folder / ".highwatermark").write_text("17")
        assert files.add("a") == ["18"]
        assert (files.folder / ".highwatermark").read_text() == "18"

    def test_a_mark_that_is_no_number_is_passed_over(self, files):
        files.folder.mkdir(parents=True)
        (files.folder / ".highwatermark").write_bytes(b"\xff nonsense")
        assert files.add("a") == ["1"]

    def test_other_files_in_the_folder_are_no_tasks(self, files):
        files.foreign(1)
        for name in ("007.json", "x.json", "1.json.bak", "-1.json", "notes.txt"):
            (files.folder / name).write_text("{}")
        (files.folder / "5.json").mkdir()
        now = files.tasks.board("crew")
        assert now.state(now.card("1")) == "pending"
        assert {*now.cards} == {1}
        assert files.add("a") == ["2"]

    def test_a_list_that_leads_elsewhere_is_refused(self, files, tmp_path):
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        files.folder.parent.mkdir(parents=True)
        files.folder.symlink_to(elsewhere)
        with pytest.raises(AtmError):
            files.tasks.board("crew")
        with pytest.raises(AtmError), files.tasks.turn("crew"):
            pass

    def test_a_thousand_new_tasks_take_no_look_at_the_board_each(self, files, monkeypatch):
        from atm.board.adapters.board_scan import Scan

        looks = []
        real = Scan.board

        def counted(scan: Scan) -> Board:
            looks.append(1)
            return real(scan)

        monkeypatch.setattr(Scan, "board", counted)
        files.add(*[f"t{number}" for number in range(50)])
        assert len(looks) < 10

    def test_files_that_did_not_change_are_not_read_again(self, files):
        files.add("a", "b", "c")
        old = time.time() - 100
        for number in (1, 2, 3):
            os.utime(files.folder / f"{number}.json", (old, old + number / 7))
        files.again().board("crew")
        for number in (1, 2, 3):
            os.chmod(files.folder / f"{number}.json", 0)
        try:
            now = files.again().board("crew")
        finally:
            for number in (1, 2, 3):
                os.chmod(files.folder / f"{number}.json", 0o644)
        if os.geteuid() != 0:
            assert [now.state(card) for card in now.sorted()] == ["pending"] * 3
        assert [card.subject for card in now.sorted()] == ["a", "b", "c"]

    def test_a_history_that_cannot_be_written_now_is_completed_later(self, files):
        files.add("a")
        path = Path(files.layout.task_history("crew"))
        aside = path.with_suffix(".aside")
        path.rename(aside)
        path.mkdir()
        files.change("1", files.status("in_progress"))
        path.rmdir()
        aside.rename(path)
        with files.tasks.turn("crew"):
            pass
        assert files.told("1") == ["task_created", "in_progress"]


# Programs.


@pytest.fixture(params=["memory", "real"])
def programs(request, layout: Layout) -> Programs:
    if request.param == "real":
        return RealPrograms(layout)
    made = MemoryPrograms()
    made.results |= {"exit 3": Ran(3), "echo hi": Ran(0, "hi\n"), "echo no >&2; exit 2": Ran(2, errors="no\n")}
    return made


@pytest.fixture
def real(layout: Layout) -> RealPrograms:
    return RealPrograms(layout)


class Stopwatch:
    """Time for programs. It stands still until they have come to where a test wants them, then their time is up."""

    def __init__(self, is_there: Callable[[], object]) -> None:
        self._is_there = is_there
        self._now = 0.0

    def monotonic(self) -> float:
        return self._now

    def look(self) -> None:
        self._now += 1000 if self._is_there() else 0


@pytest.fixture
def stop_when(real: RealPrograms, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Ran]:
    """Runs a command with a limit that is over as soon as a file is there."""

    def run(command: str, file: str) -> Ran:
        watch = Stopwatch((tmp_path / file).exists)
        monkeypatch.setattr(real_programs, "time", watch)
        monkeypatch.setattr(real_programs, "AFTERWARDS", 60.0)
        return real.run(command, folder=str(tmp_path), seconds=100, meanwhile=watch.look, every=0.02)

    return run


@pytest.fixture
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a program says may arrive late on a busy machine."""
    monkeypatch.setattr(real_programs, "AFTERWARDS", 60.0)


@posix
@pytest.mark.usefixtures("no_hurry")
class TestPrograms:
    @pytest.mark.parametrize(
        ("command", "code", "output", "errors"),
        [
            ("true", 0, "", ""),
            ("exit 3", 3, "", ""),
            ("echo hi", 0, "hi\n", ""),
            ("echo no >&2; exit 2", 2, "", "no\n"),
        ],
    )
    def test_a_command_ends_with_a_code_and_what_it_said(self, programs, tmp_path, command, code, output, errors):
        ran = programs.run(command, folder=str(tmp_path), seconds=60)
        assert (ran.code, ran.output, ran.errors, ran.timed_out) == (code, output, errors, False)

    def test_a_file_that_is_not_there_is_not_found(self, programs, tmp_path):
        ran = programs.find(str(tmp_path), "nothing-*.txt")
        assert ran.code == 1
        assert "nothing-*.txt" in ran.output

    def test_a_commit_that_nobody_knows_is_not_reachable(self, programs, tmp_path):
        ran = programs.is_reachable(str(tmp_path), "HEAD", "main")
        assert ran.code != 0
        assert ran.output

    def test_where_nobody_has_committed_anything_no_name_stands_for_a_commit(self, programs, tmp_path):
        assert programs.commit_of(str(tmp_path), "HEAD") == ""

    def test_we_stand_in_our_folder_and_in_none_below_or_beside_it(self, programs):
        here = programs.here()
        assert programs.stands_in(here)
        assert not any(programs.stands_in(other) for other in (f"{here}/deeper", f"{here}-beside", "/elsewhere"))

    def test_a_log_is_written_without_a_fuss(self, programs, layout):
        programs.log({"event": "x", "output": "\udcff\ud800", "seconds": 1.5})
        logged = programs.logged if isinstance(programs, MemoryPrograms) else read_log(layout)
        assert [(record["event"], record["seconds"]) for record in logged] == [("x", 1.5)]


def read_log(layout: Layout) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(layout.hook_log).read_text().splitlines()]


def is_running(pid: int) -> bool:
    """Zombies do not run; nobody may be there to reap an orphan."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@posix
class TestRealPrograms:
    def test_a_command_runs_in_its_folder_with_facts_and_standard_input(self, real, tmp_path):
        ran = real.run(
            'pwd; echo "$ATM_TASK"; cat', folder=str(tmp_path), seconds=60, stdin=b"in\n", facts={"ATM_TASK": "7"}
        )
        assert ran.output == f"{tmp_path}\n7\nin\n"

    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
    def test_a_command_that_hangs_is_stopped_with_all_its_children(self, stop_when, tmp_path, eventually):
        began = time.monotonic()
        ran = stop_when("sleep 300 & echo $! > half; mv half child; sleep 300", "child")
        assert (ran.code, ran.timed_out) == (None, True)
        assert time.monotonic() - began < 100
        child = int((tmp_path / "child").read_text())
        eventually(lambda: not is_running(child))

    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
    def test_what_a_command_leaves_in_the_background_ends_with_it_and_holds_nobody_up(self, real, tmp_path, eventually):
        began = time.monotonic()
        ran = real.run("sleep 300 & echo $!", folder=str(tmp_path), seconds=200)
        assert (ran.code, ran.timed_out) == (0, False)
        assert time.monotonic() - began < 100
        eventually(lambda: not is_running(int(ran.output)))

    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs setsid")
    def test_a_child_that_left_the_group_and_holds_the_pipe_holds_nobody_up(self, real, tmp_path, eventually):
        threads = threading.active_count()
        began = time.monotonic()
        child = "while [ ! -f go ] && [ $((n = n + 1)) -lt 15000 ]; do sleep 0.01; done"
        ran = real.run(f"setsid sh -c '{child}' & echo done", folder=str(tmp_path), seconds=200)
        assert (ran.code, ran.output) == (0, "done\n")
        assert time.monotonic() - began < 100
        (tmp_path / "go").touch()
        eventually(lambda: threading.active_count() <= threads)

    def test_a_command_that_ignores_every_polite_signal_is_stopped(self, real, tmp_path):
        ran = real.run("trap '' TERM INT HUP; while :; do :; done", folder=str(tmp_path), seconds=0.3)
        assert ran.timed_out

    @pytest.mark.usefixtures("no_hurry")
    def test_only_the_end_of_huge_output_is_kept(self, real, tmp_path):
        ran = real.run("yes 0123456789 | head -c 30000000; echo the end", folder=str(tmp_path), seconds=200)
        assert ran.code == 0
        assert ran.output.endswith("the end\n")
        assert len(ran.output) == KEPT

    def test_endless_output_ends_with_the_limit(self, stop_when):
        ran = stop_when(f"yes | head -c {2 * KEPT}; touch much; yes", "much")
        assert (ran.timed_out, len(ran.output)) == (True, KEPT)

    def test_a_command_that_never_reads_is_fed_in_vain_and_holds_nobody_up(self, real, tmp_path):
        ran = real.run("exit 0", folder=str(tmp_path), seconds=60, stdin=b"x" * 5_000_000)
        assert ran.code == 0
        ran = real.run("sleep 300", folder=str(tmp_path), seconds=0.3, stdin=b"x" * 5_000_000)
        assert ran.timed_out

    def test_output_that_is_no_text_is_shown_as_far_as_it_goes(self, real, tmp_path):
        ran = real.run(r"printf 'a\377\376b'", folder=str(tmp_path), seconds=60)
        assert (ran.code, ran.output) == (0, "a\ufffd\ufffdb")

    @pytest.mark.parametrize(("command", "folder"), [("true", "nowhere"), ("true\0false", ".")])
    def test_what_cannot_be_started_says_why(self, real, tmp_path, command, folder):
        ran = real.run(command, folder=str(tmp_path / folder), seconds=60)
        assert (ran.code, ran.timed_out) == (None, False)
        assert ran.output

    def test_a_command_that_is_not_there_ends_with_127(self, real, tmp_path):
        assert real.run("no-such-command-at-all", folder=str(tmp_path), seconds=60).code == 127

    def test_a_command_that_was_killed_did_not_succeed(self, real, tmp_path):
        ran = real.run("kill -9 $$", folder=str(tmp_path), seconds=60)
        assert (ran.code, ran.timed_out) == (-9, False)

    def test_somebody_who_waits_gives_signs_of_life(self, real, tmp_path):
        signs: list[int] = []

        def sign() -> None:
            signs.append(1)
            (tmp_path / "go").touch()

        wait = "while [ ! -f go ]; do sleep 0.01; done"
        assert real.run(wait, folder=str(tmp_path), seconds=60, meanwhile=sign, every=0.02).code == 0
        assert signs

    def test_a_limit_that_is_over_at_once_is_a_limit(self, real, tmp_path):
        assert real.run("sleep 300", folder=str(tmp_path), seconds=0).timed_out

    @pytest.mark.parametrize(
        ("pattern", "code"),
        [
            ("a.txt", 0),
            ("*.txt", 0),
            ("sub/b.*", 0),
            ("**/b.md", 0),
            ("b.md", 1),
            ("c*", 1),
            ("sub/../a.txt", 0),
            ("a b (1).txt", 0),
            ("**", 0),
            ("sub/**", 0),
            ("**/**/b.md", 0),
            ("./**/sub//*.md", 0),
            ("a.txt/", 1),
            ("*/", 1),
            ("**/c", 1),
            ("**/.hidden", 0),
            ("*hidden", 1),
            ("**/deep.txt", 1),
            (".git/**/deep.txt", 0),
        ],
    )
    def test_files_are_found_by_name_and_by_pattern(self, real, tmp_path, pattern, code):
        folder = tmp_path / "it's [odd]*"
        (folder / "sub").mkdir(parents=True)
        (folder / ".git" / "more").mkdir(parents=True)
        for name in ("a.txt", "sub/b.md", "a b (1).txt", "sub/.hidden", ".git/more/deep.txt"):
            (folder / name).touch()
        assert real.find(str(folder), pattern).code == code

    def test_an_absolute_path_is_found(self, real, tmp_path):
        (tmp_path / "x").touch()
        assert real.find("/nowhere", str(tmp_path / "x")).code == 0
        assert real.find("/nowhere", str(tmp_path / "*")).code == 0

    @pytest.mark.parametrize(
        "pattern", ["**/" * 60 + "no", "**/?*/" * 30 + "no", "*/../" * 40 + "no", "*/" * 5000 + "no"]
    )
    def test_no_pattern_makes_it_look_at_a_folder_again_and_again(self, real, tmp_path, pattern, monkeypatch):
        here = tmp_path / "here"  # one folder down: `..` must not lead to what other tests left
        for folder in range(40):
            (here / "/".join(f"d{folder + level}" for level in range(6))).mkdir(parents=True)
        for name in ("one", "two"):
            (here / name).symlink_to(here)
        folders, looked = sum(path.is_dir() for path in here.rglob("*")) + 3, list[str]()
        real_path = os.path.realpath

        def follow(path: str) -> str:
            looked.append(path)
            return real_path(path)

        monkeypatch.setattr(os.path, "realpath", follow)
        assert real.find(str(here), pattern).code == 1
        assert len(looked) <= 3 * folders * pattern.count("/")

    def test_a_search_that_takes_too_long_ends(self, real, tmp_path, monkeypatch):
        monkeypatch.setattr("atm.board.adapters.programs.FIND_SECONDS", -1.0)
        assert real.find(str(tmp_path), "**/x").timed_out

    @pytest.mark.parametrize("name", ["app/[id]/page.tsx", "what?.txt", "a*b"])
    def test_a_file_whose_name_looks_like_a_pattern_is_found_by_its_name(self, real, tmp_path, name):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
        assert real.find(str(tmp_path), name).code == 0

    @pytest.mark.parametrize("pattern", ["a\0b", "a\0*"])
    def test_a_pattern_with_a_nul_is_found_nowhere(self, real, tmp_path, pattern):
        assert real.find(str(tmp_path), pattern).code != 0

    def test_a_missing_folder_holds_nothing(self, real, tmp_path):
        assert real.find(str(tmp_path / "nowhere"), "**/*").code == 1


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=folder, check=True, capture_output=True
    )
    return done.stdout.decode().strip()


@posix
class TestGit:
    @pytest.fixture
    def repo(self, tmp_path: Path) -> Path:
        folder = tmp_path / "repo"
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
        git(folder, "commit", "-q", "--allow-empty", "-m", "one")
        git(folder, "checkout", "-q", "-b", "side")
        git(folder, "commit", "-q", "--allow-empty", "-m", "two")
        return folder

    @pytest.mark.parametrize(
        ("commit", "branch", "code"),
        [
            ("HEAD", "side", 0),
            ("main", "side", 0),
            ("HEAD", "main", 1),
            ("side", "main", 1),
            ("HEAD~1", "main", 0),
            ("HEAD", "HEAD", 0),
        ],
    )
    def test_a_commit_is_part_of_a_branch_or_is_not(self, real, repo, commit, branch, code):
        assert real.is_reachable(str(repo), commit, branch).code == code

    def test_a_name_stands_for_a_commit_or_for_none(self, real, repo, tmp_path):
        assert real.commit_of(str(repo), "HEAD") == git(repo, "rev-parse", "side")
        assert real.commit_of(str(repo), "main") == git(repo, "rev-parse", "main")
        assert [real.commit_of(*ask) for ask in ((str(repo), "--all"), (str(repo), ""), (str(tmp_path), "HEAD"))] == [
            ""
        ] * 3

    def test_a_short_hash_is_as_good(self, real, repo):
        assert real.is_reachable(str(repo), git(repo, "rev-parse", "--short", "main"), "side").code == 0

    @pytest.mark.parametrize(
        ("commit", "branch"),
        [
            ("nope", "main"),
            ("HEAD", "nope"),
            ("", "main"),
            ("HEAD", ""),
            ("--all", "main"),
            ("HEAD", "-h"),
            ("main:x", "main"),
        ],
    )
    def test_what_git_does_not_know_is_not_reachable(self, real, repo, commit, branch):
        ran = real.is_reachable(str(repo), commit, branch)
        assert ran.code != 0
        assert ran.output

    @pytest.mark.parametrize("name", ["a\0b"])
    def test_a_branch_with_a_nul_is_not_reachable_and_breaks_nothing(self, real, repo, name):
        assert real.is_reachable(str(repo), "HEAD", name).code != 0

    def test_a_folder_that_is_no_repository_or_not_there_is_no_proof(self, real, tmp_path, monkeypatch):
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
        (tmp_path / "plain").mkdir()
        for folder in ("plain", "nowhere"):
            assert real.is_reachable(str(tmp_path / folder), "HEAD", "main").code != 0

    def test_a_git_that_asks_is_not_waited_for(self, real, repo, monkeypatch):
        monkeypatch.setattr(real_programs, "GIT_SECONDS", 0.3)
        slow = repo / "bin"
        slow.mkdir()
        (slow / "git").write_text("#!/bin/sh\nexec sleep 300\n")
        (slow / "git").chmod(0o755)
        monkeypatch.setenv("PATH", f"{slow}:{os.environ['PATH']}")
        assert real.is_reachable(str(repo), "HEAD", "main").code is None


class TestStanding:
    @pytest.mark.parametrize(
        ("folder", "expected"),
        [("repo", True), ("repo/a", True), ("repo/a/b", True), ("link", True), ("", False), ("repo/c", False)],
    )
    def test_the_way_up_ends_at_the_root_of_the_repository(self, real, tmp_path, monkeypatch, folder, expected):
        (tmp_path / "repo/a/b").mkdir(parents=True)
        (tmp_path / "repo/c").mkdir()
        (tmp_path / "repo/.git").mkdir()
        (tmp_path / "link").symlink_to("repo")
        monkeypatch.chdir(tmp_path / "repo/a/b")
        assert real.stands_in(str(tmp_path / folder)) is expected

    @pytest.mark.parametrize("folder", ["a\0b", "~nobody-of-that-name/x", "relative", "/x" * 5000])
    def test_no_name_of_a_folder_breaks_it(self, real, folder):
        assert not real.stands_in(folder)


class TestHookLog:
    def test_lines_are_appended_and_the_log_is_turned_over_when_it_is_large(self, real, layout):
        path = Path(layout.hook_log)
        real.log({"n": 1})
        real.log({"n": 2})
        assert [json.loads(line)["n"] for line in path.read_text().splitlines()] == [1, 2]
        path.write_text("x" * (LARGEST_LOG + 1))
        real.log({"n": 3})
        assert json.loads(path.read_text()) == {"n": 3}
        assert path.with_name(path.name + ".1").stat().st_size == LARGEST_LOG + 1

    @posix
    def test_a_log_is_nobody_elses_to_read_and_no_link_is_followed(self, real, layout, tmp_path):
        real.log({"n": 1})
        path = Path(layout.hook_log)
        assert path.stat().st_mode & 0o777 == 0o600
        path.unlink()
        path.symlink_to(tmp_path / "elsewhere")
        real.log({"n": 2})
        assert not (tmp_path / "elsewhere").exists()

    def test_a_log_that_cannot_be_written_stops_nobody(self, real, layout):
        Path(layout.hook_log).mkdir(parents=True)
        real.log({"n": 1})
        assert list(Path(layout.hook_log).iterdir()) == []


# Presence.


@pytest.fixture(params=["memory", "files"])
def presence(request, layout: Layout) -> Presence:
    if request.param == "memory":
        made = MemoryPresence()
        made.running.add(os.getpid())
        return made
    Path(layout.team("crew")).mkdir(parents=True)
    return build_room(layout).presence


class TestPresence:
    def test_the_last_beat_is_the_one_that_counts(self, presence):
        assert presence.last("crew", "ann") is None
        presence.beat("crew", "ann", Beat(at=1.0, source="one", host="h"))
        presence.beat(
            "crew", "ann", Beat(at=2.5, source="two", host="h", pid=7, state="idle", state_since=2.0, uptime=9.5)
        )
        last = presence.last("crew", "ann")
        assert last is not None
        assert (last.at, last.source, last.host, last.pid) == (2.5, "two", "h", 7)
        assert (last.state, last.state_since, last.uptime) == ("idle", 2.0, 9.5)

    def test_members_and_teams_are_kept_apart(self, presence):
        for who in ("bob", "ann"):
            presence.beat("crew", who, Beat(at=1.0, source=who))
        assert presence.heard_of("crew") == ["ann", "bob"]
        assert presence.heard_of("other") == []
        assert presence.last("other", "ann") is None

    def test_somebody_who_is_forgotten_was_never_heard_of(self, presence):
        presence.beat("crew", "ann", Beat(at=1.0, source="x"))
        presence.forget("crew", "ann")
        presence.forget("crew", "nobody")
        assert presence.last("crew", "ann") is None
        assert presence.heard_of("crew") == []

    def test_a_process_runs_or_does_not(self, presence):
        assert presence.process_runs(os.getpid())
        assert not presence.process_runs(2**31 - 7)

    def test_the_clock_that_nobody_can_set_does_not_go_backwards(self, presence):
        first = presence.uptime()
        assert presence.uptime() >= first
        assert presence.host


class TestHeartbeatFiles:
    @pytest.fixture
    def presence(self, layout) -> Presence:
        Path(layout.team("crew")).mkdir(parents=True)
        return build_room(layout).presence

    @pytest.mark.parametrize("data", [b"", b"garbage", b"[]", b"{}", b'{"at": "soon"}', b"\xff\xfe"])
    def test_a_file_that_cannot_be_read_is_no_beat_and_the_next_one_takes_its_place(self, presence, layout, data):
        path = Path(layout.heartbeat("crew", "ann"))
        path.parent.mkdir()
        path.write_bytes(data)
        assert presence.last("crew", "ann") is None
        presence.beat("crew", "ann", Beat(at=1.0, source="x"))
        assert presence.last("crew", "ann") is not None

    def test_a_late_sign_of_life_brings_no_deleted_team_back(self, presence, layout):
        presence.beat("gone", "ann", Beat(at=1.0, source="x"))
        assert not Path(layout.team("gone")).exists()

    def test_signs_of_life_of_claude_codes_members_lie_beside_its_team(self, presence, layout):
        presence.beat("session-1a2b3c4d", "ann", Beat(at=1.0, source="x"))
        assert presence.heard_of("session-1a2b3c4d") == ["ann"]
        assert not Path(layout.team("session-1a2b3c4d")).exists()

    def test_other_files_in_the_folder_are_nobody(self, presence, layout):
        presence.beat("crew", "ann", Beat(at=1.0, source="x"))
        for name in ("notes.txt", ".hidden.json", "x.json.lock"):
            (Path(layout.heartbeats("crew")) / name).touch()
        assert presence.heard_of("crew") == ["ann"]

    def test_a_beat_that_cannot_be_written_is_nobodys_failure(self, presence, layout):
        Path(layout.heartbeat("crew", "ann")).mkdir(parents=True)
        presence.beat("crew", "ann", Beat(at=1.0, source="x"))
        assert presence.last("crew", "ann") is None


def test_every_rule_of_the_port_is_callable_on_both(layout):
    """Neither side has grown a verb that the other lacks."""
    for port, twin, adapter in (
        (Tasks, MemoryTasks, type(build_tasks(layout))),
        (Programs, MemoryPrograms, RealPrograms),
        (Presence, MemoryPresence, type(build_room(layout).presence)),
    ):
        verbs = [name for name, value in vars(port).items() if callable(value) and not name.startswith("_")]
        assert verbs
        for name in verbs:
            assert callable(getattr(twin, name)), name
            assert callable(getattr(adapter, name)), name
