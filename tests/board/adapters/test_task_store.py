"""Task lists on disk: links, odd files, odd contents, and a history that cannot be used."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from tests.proving import proves

from atm.board.formats.task import change_to_record
from atm.board.rules.tasks import MOST_NUMBERS, Change
from atm.board.services import working as board
from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import add, depend
from atm.core.errors import AtmError, OutsideLink, UnreadableFile
from atm.core.work_errors import NoSuchTask
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.locking import REFRESH_AFTER, Locks
from atm.files.adapters.whole_files import temporary_of
from atm.files.formats.layout import Layout
from atm.files.ports.disk import Disk
from atm.roster.services.full_boardroom import FullBoardroom
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.testing import FakeChance, FakeClock, MemoryPrograms
from atm.wiring.board import build_tasks
from atm.wiring.mail import build_room


class QuickClock:
    """Real time; waiting takes none."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def now(self) -> float:
        return time.time() + self.ahead

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def sleep(self, seconds: float) -> None:
        self.ahead += seconds


class Stage:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.folder = Path(layout.tasks("crew"))
        self.clock = QuickClock()

    def boardroom(self, disk: Disk | None = None) -> FullBoardroom:
        programs = MemoryPrograms()
        tasks = build_tasks(self.layout, disk=disk, clock=self.clock)
        return FullBoardroom(room=build_room(self.layout, clock=self.clock), tasks=tasks, programs=lambda: programs)

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.folder / f"{name}.json"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def history(self) -> list[dict[str, Any]]:
        lines = Path(self.layout.task_history("crew")).read_text().splitlines()
        return [json.loads(line) for line in lines]


@pytest.fixture
def stage(layout) -> Stage:
    made = Stage(layout)
    boardroom = made.boardroom()
    create_team(boardroom.room, "crew", lead="lea")
    for name in ("ann", "bob"):
        add_member(boardroom.room, "crew", Member(name))
    return made


@pytest.fixture
def busy(stage: Stage) -> Stage:
    """With three tasks, of which the second waits for the first."""
    add(stage.boardroom(), "crew", "lea", [NewTask("base"), NewTask("next", depends_on=["base"]), NewTask("free")])
    return stage


# Where the list lies.


def test_a_list_that_is_a_link_out_of_the_tree_is_refused(stage, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    stage.folder.parent.mkdir(parents=True, exist_ok=True)
    stage.folder.symlink_to(outside)
    boardroom = stage.boardroom()
    for attempt in (
        lambda: boardroom.tasks.board("crew"),
        lambda: boardroom.tasks.read("crew", "1"),
        lambda: add(boardroom, "crew", "ann", [NewTask("one")]),
        lambda: board.claim(boardroom, "crew", "ann"),
    ):
        with pytest.raises(OutsideLink):
            attempt()
    assert list(outside.iterdir()) == []


def test_a_list_that_is_a_link_to_another_list_is_refused(stage):
    other = stage.folder.parent / "other"
    other.mkdir(parents=True)
    stage.folder.symlink_to(other)
    with pytest.raises(OutsideLink):
        add(stage.boardroom(), "crew", "ann", [NewTask("one")])
    assert list(other.iterdir()) == []


def test_lists_that_lie_elsewhere_altogether_are_used(stage, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if stage.folder.parent.exists():
        stage.folder.parent.rmdir()
    stage.folder.parent.symlink_to(elsewhere)
    assert add(stage.boardroom(), "crew", "ann", [NewTask("one")]).tasks[0].id == "1"
    assert (elsewhere / "crew/1.json").is_file()


def test_a_list_that_is_a_file_is_a_clear_refusal(stage):
    stage.folder.parent.mkdir(parents=True, exist_ok=True)
    stage.folder.write_text("not a folder")
    with pytest.raises(AtmError):
        add(stage.boardroom(), "crew", "ann", [NewTask("one")])
    assert stage.folder.read_text() == "not a folder"


def test_looking_at_a_list_that_does_not_exist_makes_nothing(stage):
    before = sorted(stage.folder.parent.glob("*")) if stage.folder.parent.exists() else []
    assert stage.boardroom().tasks.board("crew").cards == {}
    with pytest.raises(NoSuchTask):
        stage.boardroom().tasks.read("crew", "1")
    assert (sorted(stage.folder.parent.glob("*")) if stage.folder.parent.exists() else []) == before


# What stands where a task should be made.


@pytest.mark.parametrize("kind", ["folder", "link", "dangling link", "pipe"])
def test_a_number_that_is_taken_by_something_else_is_not_lost_and_not_overwritten(busy, tmp_path, kind):
    path = busy.folder / "4.json"
    target = tmp_path / "target"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(target)
        if kind == "link":
            target.write_text("precious")
    (made,) = add(busy.boardroom(), "crew", "ann", [NewTask("ours")]).tasks
    subjects = {card.id: card.subject for card in busy.boardroom().tasks.board("crew").sorted()}
    assert (made.id, subjects.get(made.id)) == ("5", "ours"), "reported as added, and nowhere to be found"
    if kind == "link":
        assert target.read_text() == "precious"
    else:
        assert not target.exists()


def test_a_pipe_is_not_opened_when_one_task_is_asked_for(busy):
    class Cautious(RealDisk):
        __slots__ = ()

        def open_read(self, path: str) -> int:
            assert not path.endswith("/8.json"), "this would wait for ever"
            return super().open_read(path)

    os.mkfifo(busy.folder / "8.json")
    with pytest.raises(AtmError):
        busy.boardroom(Cautious()).tasks.read("crew", "8")


@pytest.mark.parametrize("content", ["", "abc", "-7", "1e9", "٣", "7" * 40, "3\n\n", "\0" * 10])
def test_a_mark_that_is_no_number_is_not_believed(busy, content):
    (busy.folder / ".highwatermark").write_text(content)
    assert add(busy.boardroom(), "crew", "ann", [NewTask("ours")]).tasks[0].id == "4"
    assert (busy.folder / ".highwatermark").read_text() == "4"


def test_a_mark_that_is_a_link_is_not_written_through(busy, tmp_path):
    target = tmp_path / "target"
    target.write_text("2")
    (busy.folder / ".highwatermark").unlink()
    (busy.folder / ".highwatermark").symlink_to(target)
    add(busy.boardroom(), "crew", "ann", [NewTask("ours")])
    assert target.read_text() == "2"


# What stands in the files.


BROKEN = {
    "empty": b"",
    "cut": b'{"id": "1", "subj',
    "a list": b"[]",
    "a number": b"7",
    "noise": b"\x80\x81\xff",
    "nested": b"[" * 100_000,
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_file_that_is_no_task_stops_nobody_else(busy, kind):
    busy.write("1", BROKEN[kind])
    assert busy.boardroom().tasks.board("crew").card("1").problem
    assert getattr(board.claim(busy.boardroom(), "crew", "ann").task, "id", None) == "3"
    with pytest.raises(UnreadableFile):
        busy.boardroom().tasks.read("crew", "1")
    refused = board.claim(busy.boardroom(), "crew", "bob", "1")
    assert refused.refusal is not None
    assert refused.refusal.code == "unreadable"
    with pytest.raises(AtmError):
        board.comment(busy.boardroom(), "crew", "bob", "1", "a remark")
    assert (busy.folder / "1.json").read_bytes() == BROKEN[kind]
    assert add(busy.boardroom(), "crew", "ann", [NewTask("more")]).tasks[0].id == "4"


@pytest.mark.parametrize("metadata", ["[]", '"text"', "7", "true"])
def test_a_task_whose_metadata_leaves_no_room_for_ours_stops_nobody_else(busy, metadata):
    busy.write("1", f'{{"id": "1", "subject": "odd", "status": "pending", "metadata": {metadata}}}')
    found = board.claim(busy.boardroom(), "crew", "ann").task
    assert found is not None


@pytest.mark.parametrize("ours", ["[]", '"text"', "null", '{"events": 7, "claim": [], "comments": {}}'])
def test_odd_things_in_our_own_place_are_done_without(busy, ours):
    busy.write("1", f'{{"id": "1", "subject": "odd", "status": "pending", "metadata": {{"x": 1, "atm": {ours}}}}}')
    done = board.claim(busy.boardroom(), "crew", "ann", "1")
    assert done.task is not None
    assert json.loads((busy.folder / "1.json").read_bytes())["metadata"]["x"] == 1
    board.complete(busy.boardroom(), "crew", "ann", "1")


def test_an_outcome_that_only_a_later_version_knows_does_not_break_the_board(busy):
    own = '{"outcome": "postponed"}'
    busy.write(
        "1", f'{{"id": "1", "subject": "odd", "status": "in_progress", "blocks": ["2"], "metadata": {{"atm": {own}}}}}'
    )
    shown = busy.boardroom().tasks.board("crew")
    assert {card.id: bool(shown.state(card)) for card in shown.sorted()} == {"1": True, "2": True, "3": True}
    assert board.claim(busy.boardroom(), "crew", "ann").task is not None


def test_unknown_fields_and_the_layout_of_others_survive_our_changes(busy):
    text = '{\n\t"id":"1" ,"subject": "odd\\u0041", "status":"pending",\n "x-new": {"a": [1,  2.50]}, "blocks": ["2"]}'
    busy.write("1", text)
    board.claim(busy.boardroom(), "crew", "ann", "1")
    depend(busy.boardroom(), "crew", "lea", "3", ["1"])
    written = (busy.folder / "1.json").read_text()
    assert '"x-new": {"a": [1,  2.50]}' in written
    assert '"odd\\u0041"' in written
    assert json.loads(written)["blocks"] == ["2", "3"]


def test_a_file_keeps_its_mode(busy):
    path = busy.folder / "1.json"
    path.chmod(0o664)
    board.claim(busy.boardroom(), "crew", "ann", "1")
    assert path.stat().st_mode & 0o777 == 0o664


# Refused in the middle.


@pytest.mark.parametrize("name", ["4.json", "5.json", "6.json"])
def test_an_import_that_was_refused_and_is_repeated_is_there_once(busy, name):
    """Whoever was told that it did not work tries again."""

    class Full(RealDisk):
        __slots__ = ()

        def link(self, source: str, target: str) -> None:
            if target.endswith(f"/{name}"):
                raise OSError(errno.ENOSPC, "No space left on device", target)
            super().link(source, target)

    def wishes() -> list[NewTask]:
        return [NewTask("one"), NewTask("two", depends_on=["one"]), NewTask("three", depends_on=["two", "#3"])]

    with pytest.raises(AtmError):
        add(busy.boardroom(Full()), "crew", "ann", wishes())
    add(busy.boardroom(), "crew", "ann", wishes())
    subjects = sorted(card.subject for card in busy.boardroom().tasks.board("crew").sorted())
    assert subjects == ["base", "free", "next", "one", "three", "two"]


class Recording(RealDisk):
    """Remembers where each name was given and taken, and each folder made durable, in order."""

    __slots__ = ("steps",)

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[tuple[str, str]] = []

    def link(self, source: str, target: str) -> None:
        super().link(source, target)
        self.steps.append(("link", target))

    def rename(self, source: str, target: str) -> None:
        super().rename(source, target)
        self.steps.append(("rename", target))

    def remove(self, path: str) -> None:
        super().remove(path)
        self.steps.append(("remove", path))

    def sync(self, fd: int) -> None:
        super().sync(fd)
        self.steps.append(("sync", ""))

    def sync_folder(self, path: str) -> None:
        super().sync_folder(path)
        self.steps.append(("sync_folder", path))


@pytest.mark.parametrize("count", [1, 3])
def test_the_names_of_new_tasks_are_made_durable_once_for_all_of_them(busy, count):
    disk, folder = Recording(), str(busy.folder)
    add(busy.boardroom(disk), "crew", "ann", [NewTask(f"new {n}") for n in range(count)])
    named = [path for step, path in disk.steps if step == "link" and path.startswith(f"{folder}/")]
    assert named == [f"{folder}/{n}.json" for n in range(4, 4 + count)]
    assert [path for step, path in disk.steps if step == "sync_folder"].count(folder) == 1
    assert disk.steps.index(("sync_folder", folder)) > disk.steps.index(("link", named[-1]))


def test_the_note_of_what_is_being_written_goes_after_the_names_are_durable(busy):
    disk, folder = Recording(), str(busy.folder)
    add(busy.boardroom(disk), "crew", "ann", [NewTask("one"), NewTask("two")])
    gone = disk.steps.index(("remove", busy.layout.task_intent("crew")))
    assert disk.steps.index(("sync_folder", folder)) < gone
    assert not Path(busy.layout.task_intent("crew")).exists()


@pytest.mark.parametrize(("count", "is_noted"), [(1, False), (2, True)])
def test_only_what_is_more_than_one_file_is_noted_first(busy, count, is_noted):
    disk = Recording()
    add(busy.boardroom(disk), "crew", "ann", [NewTask(f"new {n}") for n in range(count)])
    assert (("rename", busy.layout.task_intent("crew")) in disk.steps) == is_noted


def test_the_mark_of_numbers_is_durable_before_it_takes_its_place_and_nothing_is_left_beside_it(busy):
    rest = busy.folder / ".highwatermark.new"
    rest.write_text("half")  # by a killed process
    for mark in (True, False):
        if not mark:
            (busy.folder / ".highwatermark").unlink()
        disk = Recording()
        with busy.boardroom(disk).tasks.turn("crew") as turn:
            turn.reserve([50])
        assert [step for step, _ in disk.steps].count("sync") == 1
        assert (busy.folder / ".highwatermark").read_text() == "50"
        assert not rest.exists()


def test_a_list_that_cannot_be_looked_at_is_let_go_of_at_once(busy):
    class Broken(RealDisk):
        __slots__ = ()

        def versions(self, folder: str) -> dict[str, tuple[int, int, int]]:
            raise OSError(errno.EIO, "Input/output error", folder)

    with pytest.raises(AtmError), busy.boardroom(Broken()).tasks.turn("crew"):
        pass
    assert sorted(os.listdir(busy.folder)) == [".highwatermark", ".lock", "1.json", "2.json", "3.json"]
    before = busy.clock.ahead
    assert board.claim(busy.boardroom(), "crew", "ann").task is not None
    assert busy.clock.ahead == before, "it had to wait"


def test_what_a_killed_turn_had_begun_is_durable_before_its_note_goes(busy):
    note, folder, disk = Path(busy.layout.task_intent("crew")), str(busy.folder), Recording()
    note.parent.mkdir(parents=True, exist_ok=True)
    task = {"id": "4", "subject": "begun", "description": "", "status": "pending", "blocks": [], "blockedBy": []}
    note.write_text(json.dumps({"new": [{"number": 4, "content": json.dumps(task), "events": []}], "changes": {}}))
    with busy.boardroom(disk).tasks.turn("crew"):
        pass
    steps = [("link", f"{folder}/4.json"), ("sync_folder", folder), ("remove", str(note))]
    assert [step for step in disk.steps if step in steps] == steps


@pytest.mark.parametrize("name", ["2.json.lock", ".2.json.atm-1-1"])
def test_what_a_killed_process_left_beside_a_task_goes_with_the_next_turn(busy, name):
    rest, task = busy.folder / name, busy.folder / "2.json"
    before = task.read_bytes()
    if name.endswith(".lock"):
        rest.mkdir()
    else:
        rest.write_text("half")
    found = rest.stat()
    noted = {"pid": 1, "lockDirectory": [found.st_dev, found.st_ino, found.st_mtime_ns]}
    locks = Locks(RealDisk(), FakeClock(), FakeChance(1), busy.layout.locks, pid=1, host="here")
    Path(locks.file_for(str(task))).write_text(json.dumps(noted))
    with busy.boardroom().tasks.turn("crew"):
        pass
    assert not rest.exists()
    assert task.read_bytes() == before


def test_of_a_note_that_another_hand_was_at_what_makes_sense_is_done(busy):
    note = Path(busy.layout.task_intent("crew"))
    note.parent.mkdir(parents=True, exist_ok=True)
    owned = change_to_record(Change(fields={"owner": "bob"}))
    new = [7, {"number": "8", "content": "{}"}, {"content": "{}"}]
    changes = {"x": owned, "": owned, "1": 5, "2": owned, "99": owned}
    note.write_text(json.dumps({"new": new, "changes": changes}))
    assert board.claim(busy.boardroom(), "crew", "ann", "3").task is not None
    owners = {card.id: card.owner for card in busy.boardroom().tasks.board("crew").sorted()}
    assert owners == {"1": "", "2": "bob", "3": "ann"}
    assert not note.exists()


@pytest.mark.parametrize("content", ["{", "[]", '{"new": 1, "changes": []}', "\0"])
def test_a_note_that_says_nothing_is_forgotten(busy, content):
    note = Path(busy.layout.task_intent("crew"))
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(content)
    half = note.with_name(f".{note.name}.new")
    half.write_text("{")
    assert board.claim(busy.boardroom(), "crew", "ann", "3").task is not None
    assert not note.exists()
    assert not half.exists()


# The history.


def test_a_history_that_cannot_be_written_stops_nobody_and_is_completed_later(busy):
    path = Path(busy.layout.task_history("crew"))

    class NoHistory(RealDisk):
        __slots__ = ()

        def open_append(self, path: str, mode: int = 0o600) -> int:
            if path.endswith("tasks.jsonl"):
                raise OSError(errno.ENOSPC, "No space left on device", path)
            return super().open_append(path, mode)

    before = len(busy.history())
    board.claim(busy.boardroom(NoHistory()), "crew", "ann", "1")
    board.complete(busy.boardroom(NoHistory()), "crew", "ann", "1")
    assert len(busy.history()) == before
    board.claim(busy.boardroom(), "crew", "bob", "3")
    told = [(line["task"], line.get("to")) for line in busy.history()[before:]]
    assert told == [("1", "in_progress"), ("1", "completed"), ("3", "in_progress")]
    assert path.read_bytes().endswith(b"\n")


def test_a_history_that_cannot_be_read_does_not_close_the_board(busy):
    class NoHistory(RealDisk):
        __slots__ = ()

        def open_read(self, path: str) -> int:
            if path.endswith("tasks.jsonl"):
                raise OSError(errno.EIO, "Input/output error", path)
            return super().open_read(path)

    busy.write("7", '{"id": "7", "subject": "theirs", "status": "pending"}')
    assert board.claim(busy.boardroom(NoHistory()), "crew", "ann", "1").task is not None
    board.claim(busy.boardroom(), "crew", "bob", "3")
    assert [line["type"] for line in busy.history() if line["task"] == "7"] == ["observed"]


def test_where_the_index_is_lost_and_the_history_cannot_be_read_the_files_are_the_board(busy):
    class NoHistory(RealDisk):
        __slots__ = ()

        def open_read(self, path: str) -> int:
            if path.endswith("tasks.jsonl"):
                raise OSError(errno.EIO, "Input/output error", path)
            return super().open_read(path)

    Path(busy.layout.board_index("crew")).unlink()
    assert sorted(busy.boardroom(NoHistory()).tasks.board("crew").cards) == [1, 2, 3]
    assert board.claim(busy.boardroom(NoHistory()), "crew", "ann", "1").task is not None


def test_the_last_number_there_is_can_be_used_and_then_no_more_tasks_are_made(busy):
    mark = busy.folder / ".highwatermark"
    mark.write_text(str(MOST_NUMBERS - 2))
    assert add(busy.boardroom(), "crew", "ann", [NewTask("last")]).tasks[0].id == str(MOST_NUMBERS - 1)
    with pytest.raises(UnreadableFile, match="leaves no numbers"):
        add(busy.boardroom(), "crew", "ann", [NewTask("one too many")])


def test_a_torn_line_costs_itself_alone(busy):
    path = Path(busy.layout.task_history("crew"))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) - 25])
    board.claim(busy.boardroom(), "crew", "ann", "1")
    past, torn = busy.boardroom().tasks.past("crew")
    assert torn == 1
    numbers = [line.seq for line in past]
    assert numbers == sorted(set(numbers))


@proves("R002-8.0-116")
def test_more_events_than_a_file_holds_are_all_in_the_history(busy):
    boardroom = busy.boardroom()
    with boardroom.tasks.turn("crew") as turn:
        for number in range(130):
            by = boardroom.stamp("ann")
            turn.change("1", lambda _, by=by, number=number: Change(by.event("noted", number=number)))
    numbers = [line["number"] for line in busy.history() if line["type"] == "noted"]
    assert numbers == list(range(130))
    Path(busy.layout.board_index("crew")).unlink()
    with busy.boardroom().tasks.turn("crew"):
        pass
    assert [line["number"] for line in busy.history() if line["type"] == "noted"] == list(range(130))


def test_what_other_programs_did_is_told_once(busy):
    path = busy.write("1", '{"id": "1", "subject": "base", "status": "in_progress", "owner": "cc"}')
    for _ in range(3):
        with busy.boardroom().tasks.turn("crew"):
            pass
    assert [line["type"] for line in busy.history() if line["task"] == "1"] == ["task_created", "observed"]
    path.unlink()
    for _ in range(3):
        with busy.boardroom().tasks.turn("crew"):
            pass
    kinds = [line["type"] for line in busy.history() if line["task"] == "1"]
    assert kinds == ["task_created", "observed", "vanished"]


# A long turn.


def test_the_list_lock_is_kept_fresh_during_a_long_turn(busy):
    lock = busy.folder / ".lock.lock"
    boardroom = busy.boardroom()
    with boardroom.tasks.turn("crew") as turn:
        os.utime(lock, ns=(0, lock.stat().st_mtime_ns))
        first = lock.stat().st_atime_ns
        busy.clock.ahead += REFRESH_AFTER + 1
        by = boardroom.stamp("ann")
        turn.change("1", lambda _: Change(by.event("noted")))
        assert lock.stat().st_atime_ns != first
        by = boardroom.stamp("ann")
        turn.change("1", lambda _: Change(by.event("noted")))
    assert not lock.exists()


def test_an_error_in_a_turn_lets_go_of_the_list(busy):
    boardroom = busy.boardroom()
    with pytest.raises(ZeroDivisionError), boardroom.tasks.turn("crew") as turn:
        turn.change("1", lambda _: 1 // 0)
    assert sorted(os.listdir(busy.folder)) == [".highwatermark", ".lock", "1.json", "2.json", "3.json"]
    assert board.claim(busy.boardroom(), "crew", "ann").task is not None


def test_a_turn_sees_what_it_has_just_changed_also_what_stands_in_no_history(busy):
    with busy.boardroom().tasks.turn("crew") as turn:
        turn.write([], {"3": Change(add={"blocks": ["2"]})})
        assert turn.board.card("3").blocks == ["2"]
    assert busy.boardroom().tasks.read("crew", "3").blocks == ["2"]


@pytest.mark.parametrize("name", [".2.json", "2.json.lock.old"])
def test_what_only_looks_like_the_trace_of_a_change_is_none(busy, name):
    (busy.folder / name).mkdir()
    with busy.boardroom().tasks.turn("crew") as turn:
        assert turn.scan.being_changed == {}


def test_whoever_changes_a_task_now_is_not_waited_for_by_others(busy):
    """A lock that was left behind long ago is watched; that of somebody at work is let be."""
    (busy.folder / "2.json.lock").mkdir()
    before = busy.clock.ahead
    board.claim(busy.boardroom(), "crew", "ann", "3")
    assert busy.clock.ahead == before


def test_of_two_changes_of_which_the_second_is_refused_none_is_made(busy):
    class Refusing(RealDisk):
        def exchange(self, one: str, other: str) -> bool:
            if other.endswith("/3.json"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), other)
            return super().exchange(one, other)

        def rename(self, one: str, other: str) -> None:
            if other.endswith("/3.json"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), other)
            super().rename(one, other)

    changes = {id: Change(fields={"subject": "new"}) for id in ("1", "3")}
    with pytest.raises(AtmError), busy.boardroom(Refusing()).tasks.turn("crew") as turn:
        turn.write([], changes)
    assert [busy.boardroom().tasks.read("crew", id).subject for id in ("1", "3")] == ["base", "free"]


def test_the_note_of_what_is_written_makes_its_folder(busy):
    with busy.boardroom().tasks.turn("crew") as turn:
        shutil.rmtree(os.path.dirname(busy.layout.task_intent("crew")))
        turn.write([], {id: Change(fields={"subject": "new"}) for id in ("1", "3")})
    assert busy.boardroom().tasks.read("crew", "3").subject == "new"


def test_a_mark_of_numbers_that_a_killed_process_left_half_made_is_made_anew(busy):
    left = Path(temporary_of(f"{busy.folder}/.highwatermark"))
    with busy.boardroom().tasks.turn("crew") as turn:
        left.write_text("9999999")
        turn.reserve([7])
    assert not left.exists()
    assert (busy.folder / ".highwatermark").read_text() == "7"
