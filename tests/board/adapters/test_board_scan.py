"""
Looking at boards through the index: only what changed is read, and nothing that changed is overlooked.

The index is a cache. Whatever becomes of it, what a board shows and what the history tells stay the same.
"""

from __future__ import annotations

import errno
import json
import os
import re
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.chaos import LONG

from atm.board.adapters.board_scan import BoardScanner
from atm.board.adapters.task_store import TaskFiles
from atm.board.adapters.task_turn import READ_UNDER_LOCK
from atm.board.formats.board_index import Row, encode_rows
from atm.board.ports.tasks import Tasks
from atm.board.rules.tasks import Card
from atm.board.services import working as board
from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import add
from atm.core.errors import AtmError
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.rewriting import COARSE_TICK_NS, FINE_TICK_NS
from atm.files.formats.layout import Layout
from atm.files.ports.clock import Clock
from atm.files.ports.disk import Disk
from atm.roster.services.full_boardroom import FullBoardroom
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.testing import MemoryPrograms
from atm.wiring.board import build_tasks
from atm.wiring.mail import build_room


class SetClock:
    """Real time that can be set; waiting takes none."""

    def __init__(self, ahead: float = 0.0) -> None:
        self.ahead = ahead

    def now(self) -> float:
        return time.time() + self.ahead

    def monotonic(self) -> float:
        return time.monotonic() + max(0.0, self.ahead)

    def sleep(self, seconds: float) -> None:
        self.ahead += seconds


class StillClock:
    """Stands where it was set, however slow this machine is."""

    def __init__(self, now: float) -> None:
        self._now = now

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds


class CountingDisk(RealDisk):
    """Counts which files are opened."""

    __slots__ = ("opened",)

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    def open_read(self, path: str) -> int:
        self.opened.append(path.rpartition("/")[2])
        return super().open_read(path)


class RefusingDisk(RealDisk):
    """Refuses to open one file. As root, permissions would not."""

    __slots__ = ("number", "refused")

    def __init__(self, refused: str, number: int = errno.EACCES) -> None:
        super().__init__()
        self.refused = refused
        self.number = number

    def open_read(self, path: str) -> int:
        if path.endswith(self.refused):
            raise OSError(self.number, os.strerror(self.number), path)
        return super().open_read(path)


class Stage:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.folder = Path(layout.tasks("crew"))
        self.index = Path(layout.board_index("crew"))

    def boardroom(self, disk: Disk | None = None, clock: Clock | None = None) -> FullBoardroom:
        clock, programs = clock or SetClock(), MemoryPrograms()
        tasks = build_tasks(self.layout, disk=disk, clock=clock)
        return FullBoardroom(room=build_room(self.layout, clock=clock), tasks=tasks, programs=lambda: programs)

    def tasks(self, disk: Disk | None = None, ahead: float = 0.0) -> Tasks:
        return build_tasks(self.layout, disk=disk, clock=SetClock(ahead))

    def seen(self, disk: Disk | None = None, ahead: float = 0.0) -> dict[str, tuple[str, str, str]]:
        return self.seen_at(SetClock(ahead), disk)

    def seen_at(self, clock: Clock, disk: Disk | None = None) -> dict[str, tuple[str, str, str]]:
        cards = build_tasks(self.layout, disk=disk, clock=clock).board("crew").cards.values()
        return {card.id: (card.subject, card.status, card.owner) for card in cards}

    def history(self) -> list[dict[str, Any]]:
        path = Path(self.layout.task_history("crew"))
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def turn(self) -> None:
        with self.tasks().turn("crew"):
            pass

    def write(self, name: str, **fields: Any) -> Path:
        """As another program does, a minute ago."""
        task = {"id": name, "subject": f"task {name}", "description": "", "status": "pending", "blocks": []}
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps({**task, "blockedBy": [], **fields}))
        age(path)
        return path


def age(path: Path, seconds: float = 60.0) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


@pytest.fixture
def stage(layout) -> Stage:
    """Three tasks, of which one is claimed and one completed, all of them a minute old and known to the index."""
    made = Stage(layout)
    boardroom = made.boardroom()
    create_team(boardroom.room, "crew", lead="lea")
    for name in ("ann", "bob"):
        add_member(boardroom.room, "crew", Member(name))
    add(boardroom, "crew", "lea", [NewTask("base"), NewTask("next", depends_on=["base"]), NewTask("free")])
    board.claim(boardroom, "crew", "ann", "1")
    board.complete(boardroom, "crew", "ann", "1")
    board.claim(boardroom, "crew", "bob", "3")
    for path in made.folder.glob("*.json"):
        age(path)
    made.seen()
    return made


KNOWN = {
    "1": ("base", "completed", "ann"),
    "2": ("next", "pending", ""),
    "3": ("free", "in_progress", "bob"),
}


def doubled(stage: Stage) -> list[str]:
    return [id for id, count in Counter(line["id"] for line in stage.history()).items() if count > 1]


# How much is read.


def test_an_unchanged_board_is_not_read_again(stage):
    disk = CountingDisk()
    assert stage.seen(disk) == KNOWN
    assert disk.opened == ["crew.index"]


def test_of_a_board_with_one_change_one_file_is_read(stage):
    stage.write("2", owner="bob")
    disk = CountingDisk()
    assert stage.seen(disk)["2"] == ("task 2", "pending", "bob")
    assert disk.opened == ["crew.index", "2.json"]


@pytest.mark.campaign
def test_each_task_of_a_large_board_is_read_once(stage):
    count = 10_000 if LONG else 500
    for number in range(4, count + 4):
        path = stage.folder / f"{number}.json"
        path.write_text(f'{{"id":"{number}","subject":"s","status":"pending","blocks":[],"blockedBy":[]}}')
        os.utime(path, (1_700_000_000, 1_700_000_000.5))
    disk = CountingDisk()
    assert len(stage.seen(disk)) == count + 3
    assert len(disk.opened) == count + 1
    disk.opened.clear()
    assert len(stage.seen(disk)) == count + 3
    assert disk.opened == ["crew.index"]
    stage.write("300", owner="bob")
    disk.opened.clear()
    assert stage.seen(disk)["300"][2] == "bob"
    assert disk.opened == ["crew.index", "300.json"]


def test_an_index_that_was_written_anew_still_knows_what_had_not_changed(stage):
    stage.index.write_bytes(stage.index.read_bytes() * 200)
    board.comment(stage.boardroom(), "crew", "bob", "3", "a remark")
    disk = CountingDisk()
    assert stage.seen(disk) == KNOWN
    assert disk.opened == ["crew.index", "3.json"]


def test_an_empty_file_is_shown_also_where_the_index_says_something_strange_about_it(stage):
    (stage.folder / "5.json").touch()
    age(stage.folder / "5.json")
    line = json.loads(encode_rows([Row(Card(5), (1, 2, 3), is_proven=False)]))
    with stage.index.open("a") as index:
        index.write(json.dumps(["strange", *line[1:]]) + "\n")
    assert stage.seen() == {**KNOWN, "5": ("", "", "")}


def test_a_file_that_was_only_touched_costs_no_look_into_the_history(stage):
    age(stage.folder / "2.json", 30)
    disk = CountingDisk()
    with stage.tasks(disk).turn("crew"):
        pass
    assert "2.json" in disk.opened
    assert Path(stage.layout.task_history("crew")).name not in disk.opened


@pytest.mark.parametrize("change", [{"owner": "bob"}, {"status": "completed"}, {"subject": "another"}])
def test_what_another_program_changed_is_looked_up_in_the_history_and_entered(stage, change):
    path = stage.folder / "2.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    age(path, 30)
    stage.turn()
    assert [line["type"] for line in stage.history() if line["task"] == "2"] == ["task_created", "observed"]


def test_a_board_with_more_changes_than_may_be_read_under_the_lock_is_changed_all_the_same(stage):
    for number in range(4, READ_UNDER_LOCK + 5):
        stage.write(str(number))
    assert board.claim(stage.boardroom(), "crew", "ann", "2").task is not None
    assert len({line["task"] for line in stage.history()}) == READ_UNDER_LOCK + 4
    assert not [name for name in os.listdir(stage.folder) if name.endswith(".lock") and name != ".lock"]


# Changes that a time stamp does not show.


def rewritten(path: Path, old: str, new: str) -> None:
    """In place, to the same size, with the same time: the inode and the stamp stay."""
    before = path.stat()
    assert len(old) == len(new)
    with path.open("r+b") as file:
        data = file.read().replace(old.encode(), new.encode())
        file.seek(0)
        file.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def in_another_moment(path: Path) -> None:
    before = path.stat()
    rewritten(path, "bob", "cc2")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000))


def to_another_size(path: Path) -> None:
    before = path.stat()
    with path.open("r+b") as file:
        data = file.read().replace(b'"bob"', b'"cc2" ')
        file.seek(0)
        file.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def in_another_file(path: Path) -> None:
    before = path.stat()
    other = path.with_name("2.new")
    other.write_bytes(path.read_bytes().replace(b"bob", b"cc2"))
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)


@pytest.mark.parametrize("change", [in_another_moment, to_another_size, in_another_file])
def test_each_part_of_a_files_version_shows_a_change_by_itself(stage, change):
    path = stage.write("2", owner="bob")
    stage.turn()
    assert stage.seen()["2"][2] == "bob"
    change(path)
    assert stage.seen()["2"][2] == "cc2"


def test_a_second_change_within_one_tick_of_the_clock_is_seen(stage):
    path = stage.write("2", owner="bob")
    os.utime(path)
    assert stage.seen_at(StillClock(path.stat().st_mtime + 0.01))["2"][2] == "bob"
    rewritten(path, "bob", "cc2")
    assert stage.seen()["2"][2] == "cc2"


def test_a_second_change_within_one_tick_is_seen_after_our_own_write_too(stage):
    at_once = StillClock(time.time())
    board.claim(stage.boardroom(clock=at_once), "crew", "ann", "2")
    assert stage.seen_at(at_once)["2"][2] == "ann"
    rewritten(stage.folder / "2.json", "ann", "cc2")
    assert stage.seen()["2"][2] == "cc2"


def test_a_second_change_within_one_whole_second_is_seen_where_stamps_are_whole_seconds(stage):
    path = stage.write("2", owner="bob")
    now = int(time.time())
    os.utime(path, (now, now))
    assert stage.seen_at(StillClock(now + 2.5))["2"][2] == "bob"
    rewritten(path, "bob", "cc2")
    assert stage.seen(ahead=1.5)["2"][2] == "cc2"


@pytest.mark.parametrize("age_ns", [FINE_TICK_NS, COARSE_TICK_NS], ids=["fine stamps", "whole seconds"])
def test_a_second_change_is_seen_in_a_file_of_exactly_one_tick(stage, age_ns):
    path, now = stage.write("2", owner="bob"), 100.0  # so early that nanoseconds are whole numbers for a float
    stamp = int(now * 1e9) - age_ns
    os.utime(path, ns=(stamp, stamp))
    assert stage.seen_at(StillClock(now))["2"][2] == "bob"
    rewritten(path, "bob", "cc2")
    assert stage.seen_at(StillClock(now))["2"][2] == "cc2"


@pytest.mark.parametrize("ahead", [-86_400.0, -1.0, 1.0, 86_400.0], ids=lambda ahead: f"{ahead:+.0f}s")
def test_changes_are_seen_whatever_the_clock_says(stage, ahead):
    path = stage.write("2", owner="bob")
    os.utime(path)
    assert stage.seen(ahead=ahead)["2"][2] == "bob"
    by_rename = stage.folder / "2.new"
    by_rename.write_text(path.read_text().replace("bob", "cc2"))
    by_rename.replace(path)
    assert stage.seen(ahead=ahead)["2"][2] == "cc2"
    assert stage.seen(ahead=-ahead)["2"][2] == "cc2"


def test_a_clock_that_was_set_back_only_costs_reading(stage):
    path = stage.write("2", owner="bob")
    future = time.time() + 3600
    os.utime(path, (future, future))
    assert stage.seen()["2"][2] == "bob"
    rewritten(path, "bob", "cc2")
    assert stage.seen()["2"][2] == "cc2"
    disk = CountingDisk()
    stage.seen(disk)
    assert disk.opened == ["crew.index", "2.json"]


# What becomes of the index.


def _half(data: bytes) -> bytes:
    return data[: len(data) - 20]


DAMAGE = {
    "empty": lambda _: b"",
    "noise": lambda _: b"\x00\xff\xfe{{{[[[" * 50,
    "zeros": lambda data: b"\0" * len(data),
    "a torn last line": _half,
    "a torn last line that somebody appended to": lambda data: _half(data) + data,
    "a torn first line": lambda data: data[10:],
    "an object": lambda _: b'{"a": 1}\n',
    "numbers": lambda _: b"1\n2\n3\n",
    "another version": lambda data: re.sub(rb"(?m)^\[\d+,", b"[4096,", data),
    "lines that are too short": lambda data: re.sub(rb"(?m)^(\[\d+),.*", rb"\1]", data) + data,
    "lines that are too long": lambda data: data.replace(b"]\n", b"," + b",".join([b"1"] * 40) + b"]\n"),
    "deep nesting": lambda _: b"[" * 100_000,
    "windows lines": lambda data: data.replace(b"\n", b"\r\n"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_index_changes_nothing_that_anybody_sees(stage, damage):
    lines = stage.history()
    stage.index.write_bytes(DAMAGE[damage](stage.index.read_bytes()))
    assert stage.seen() == KNOWN
    stage.turn()
    assert stage.history() == lines
    assert stage.seen() == KNOWN
    disk = CountingDisk()
    assert stage.seen(disk) == KNOWN
    assert disk.opened == ["crew.index"], "the index does not recover"


ODD_CARDS = {
    "wrong kinds": Card(77, None, None, None, 5, 5, None),  # type: ignore[arg-type]
    "texts for lists": Card(77, "s", "pending", "", "2", "23"),
    "an unknown outcome": Card(77, "s", "in_progress", blocks=["2"], outcome="postponed"),
    "below zero": Card(-5),
    "true": Card(True),
    "of a task": Card(2, {}, [], 7, 7, 7),  # type: ignore[arg-type]
    "very large": Card(10**30),
}


@pytest.mark.parametrize("is_gone", [True, False], ids=["gone", "there"])
@pytest.mark.parametrize("card", ODD_CARDS)
def test_a_line_of_the_index_that_we_never_wrote_stops_nobody(stage, card, is_gone):
    with stage.index.open("ab") as file:
        file.write(encode_rows([Row(ODD_CARDS[card], (1, 2, 3), is_proven=True, is_gone=is_gone)]))
    assert stage.seen() == KNOWN
    assert stage.tasks().board("crew").counts() is not None
    assert board.claim(stage.boardroom(), "crew", "ann", "2").task is not None
    assert add(stage.boardroom(), "crew", "ann", [NewTask("more")]).tasks[0].number < 1000


def test_an_index_that_is_a_folder_is_done_without(stage):
    stage.index.unlink()
    stage.index.mkdir()
    assert stage.seen() == KNOWN
    assert board.claim(stage.boardroom(), "crew", "ann", "2").task is not None
    assert stage.seen()["2"] == ("next", "in_progress", "ann")
    assert doubled(stage) == []


def test_an_index_whose_folder_is_a_file_is_done_without(stage):
    stage.index.unlink()
    stage.index.parent.rmdir()
    stage.index.parent.write_text("not a folder")
    assert stage.seen() == KNOWN
    assert board.claim(stage.boardroom(), "crew", "ann", "2").task is not None
    assert doubled(stage) == []


def test_an_index_that_is_a_link_is_not_written_through(stage, tmp_path):
    target = tmp_path / "target"
    target.write_text("precious\n")
    stage.index.unlink()
    stage.index.symlink_to(target)
    stage.write("2", owner="bob")
    assert stage.seen()["2"][2] == "bob"
    assert board.claim(stage.boardroom(), "crew", "bob", "2").task is not None
    assert target.read_text() == "precious\n"


def test_a_deleted_index_doubles_nothing_in_the_history(stage):
    stage.write("7", status="in_progress", owner="cc")
    stage.turn()
    lines = stage.history()
    for _ in range(3):
        stage.index.unlink()
        stage.turn()
    assert stage.history() == lines


def test_a_deleted_index_does_not_block_what_waits_for_a_completed_task_that_is_gone(stage):
    """Claude Code deletes finished tasks. The history knows that it was completed."""
    (stage.folder / "1.json").unlink()
    stage.turn()
    assert stage.tasks().board("crew").open_blockers(stage.tasks().board("crew").card("2")) == []
    stage.index.unlink()
    stage.turn()
    assert stage.tasks().board("crew").open_blockers(stage.tasks().board("crew").card("2")) == []


def test_a_deleted_index_does_not_free_the_numbers_of_tasks_that_are_gone(stage):
    for path in stage.folder.glob("*.json"):
        path.unlink()
    stage.turn()
    stage.index.unlink()
    assert add(stage.boardroom(), "crew", "ann", [NewTask("new")]).tasks[0].id == "4"


def test_an_index_with_many_superseded_lines_is_written_anew(stage):
    stage.index.write_bytes(stage.index.read_bytes() * 200)
    size = stage.index.stat().st_size
    board.comment(stage.boardroom(), "crew", "bob", "3", "a remark")
    assert stage.index.stat().st_size < size / 20
    assert stage.seen() == KNOWN


# What lies in the folder.


def test_other_files_in_the_folder_are_no_tasks(stage, tmp_path):
    outside = tmp_path / "outside.json"
    outside.write_text('{"id": "8", "subject": "outside", "status": "pending"}')
    (stage.folder / "8.json").symlink_to(outside)
    (stage.folder / "9.json").mkdir()
    for name in ("007.json", "+5.json", "-1.json", "1e3.json", "٣.json", "10.json.bak", "11.JSON", "1" * 20 + ".json"):
        (stage.folder / name).write_text('{"subject": "no"}')
    os.mkfifo(stage.folder / "12.json")
    assert stage.seen() == KNOWN
    stage.turn()
    assert {line["task"] for line in stage.history()} == {"1", "2", "3"}


def test_a_link_is_not_followed_when_one_task_is_asked_for(stage, tmp_path):
    outside = tmp_path / "outside.json"
    outside.write_text('{"id": "8", "subject": "outside", "description": "secret", "status": "pending"}')
    (stage.folder / "8.json").symlink_to(outside)
    with pytest.raises(AtmError):
        stage.tasks().read("crew", "8")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EMFILE], ids=["EACCES", "EIO", "EMFILE"])
def test_a_file_that_could_not_be_opened_once_is_tried_again(stage, number):
    stage.index.unlink()
    assert stage.seen(RefusingDisk("/2.json", number))["2"] == ("", "", "")
    assert stage.seen() == KNOWN


def test_a_file_that_cannot_be_opened_does_not_stop_the_others(stage):
    stage.index.unlink()
    disk = RefusingDisk("/2.json")
    problems = {card.id: bool(card.problem) for card in stage.tasks(disk).board("crew").sorted()}
    assert problems == {"1": False, "2": True, "3": False}
    assert add(stage.boardroom(disk), "crew", "ann", [NewTask("more")]).tasks[0].id == "4"
    assert board.claim(stage.boardroom(disk), "crew", "ann").task is not None


def test_a_card_that_cannot_be_read_says_what_the_system_says(stage):
    stage.index.unlink()
    cards = stage.tasks(RefusingDisk("/2.json")).board("crew").cards
    assert cards[2].problem == os.strerror(errno.EACCES)


def test_a_card_says_what_is_wrong_also_if_the_system_gives_no_words_for_it(stage):
    class Speechless(RealDisk):
        __slots__ = ()

        def open_read(self, path: str) -> int:
            if path.endswith("/2.json"):
                raise OSError("the device is gone")
            return super().open_read(path)

    stage.index.unlink()
    assert stage.tasks(Speechless()).board("crew").cards[2].problem == "the device is gone"


@pytest.mark.parametrize(("most", "is_read"), [(3, True), (2, False)])
def test_as_many_files_as_may_be_read_under_the_lock_are_read_and_no_more(stage, most, is_read):
    stage.index.unlink()
    disk = CountingDisk()
    tasks = stage.tasks(disk)
    assert isinstance(tasks, TaskFiles)
    assert (tasks.look("crew", str(stage.folder), most) is not None) == is_read
    assert len({"1.json", "2.json", "3.json"}.intersection(disk.opened)) == (3 if is_read else 0)


def test_a_task_that_cannot_be_read_for_a_moment_leaves_no_trace_in_the_history(stage):
    lines = stage.history()
    stage.index.unlink()
    with stage.tasks(RefusingDisk("/2.json", errno.EMFILE)).turn("crew"):
        pass
    stage.turn()
    assert stage.history() == lines


def test_a_file_that_another_program_is_still_writing_is_waited_for(stage):
    path = stage.folder / "2.json"
    whole = path.read_bytes()

    class Patient(SetClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            path.write_bytes(whole)

    path.write_bytes(whole[:30])
    tasks = build_tasks(stage.layout, clock=Patient())
    assert tasks.board("crew").card("2").problem == ""


def test_a_file_that_disappears_while_the_folder_is_listed_does_not_take_the_others_along(stage, monkeypatch):
    """Another program's temporary file is renamed between our reading of its name and our look at it."""
    real = os.scandir

    class Gone:
        name = "1.json.rival"

        def is_file(self, **_: bool) -> bool:
            return True

        def stat(self, **_: bool) -> os.stat_result:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", self.name)

    class Listing:
        def __init__(self, path: str) -> None:
            self._entries = real(path)

        def __enter__(self) -> Any:
            return iter([Gone(), *self._entries])

        def __exit__(self, *_: object) -> None:
            self._entries.close()

    lines = stage.history()
    monkeypatch.setattr(os, "scandir", Listing)
    assert stage.seen() == KNOWN
    stage.turn()
    assert stage.history() == lines


def test_a_task_that_is_made_while_we_look_is_not_taken_for_gone(stage):
    """Somebody else noted it in the index after we listed the folder and before we read the index."""
    lines = stage.history()

    class Racing(RealDisk):
        __slots__ = ()

        def versions(self, folder: str) -> dict[str, tuple[int, int, int]]:
            found = super().versions(folder)
            stage.write("4")
            stage.seen()
            return found

    with stage.tasks(Racing()).turn("crew") as turn:
        assert not turn.board.gone
    assert stage.history() == lines


def test_a_task_that_came_back_is_told_and_can_vanish_again(stage):
    path = stage.folder / "3.json"
    data = path.read_bytes()
    for _ in range(2):
        path.unlink()
        stage.turn()
        path.write_bytes(data)
        stage.turn()
    kinds = [line["type"] for line in stage.history() if line["task"] == "3"][2:]
    assert kinds == ["vanished", "observed", "vanished", "observed"]


class TestWhatADaemonKeepsInMind:
    """Of an index that was read before only what was added is read; it says the same as a first look."""

    def test_a_second_look_reads_what_was_added_and_says_the_same_as_a_first(self, tmp_path):
        layout = Layout(claude_root=str(tmp_path), config_root=str(tmp_path / "c"), state_root=str(tmp_path / "s"))
        path = Path(layout.board_index("crew"))
        path.parent.mkdir(parents=True)
        scanner, chance = BoardScanner(RealDisk(), StillClock(1.0), layout), Random(7)
        content = b""
        for _ in range(300):
            kind = chance.choice(["add", "add", "add", "anew", "cut", "garbage", "gone"])
            lines = encode_rows(
                Row(Card(chance.randint(1, 9), subject="x" * chance.randint(0, 90)), (n, 1, n), is_proven=True)
                for n in range(3)
            )
            content = {
                "add": content + lines,
                "anew": lines * chance.randint(1, 9),
                "cut": content[: chance.randint(0, len(content))],
                "garbage": content + b"garbage\n",
                "gone": b"",
            }[kind]
            if kind == "anew":
                path.unlink(missing_ok=True)
            path.write_bytes(content)  # in place, so the inode stays
            assert scanner.read_index("crew") == BoardScanner(RealDisk(), StillClock(1.0), layout).read_index("crew"), (
                kind
            )

    def test_what_was_read_before_is_not_read_again(self, tmp_path):
        layout = Layout(claude_root=str(tmp_path), config_root=str(tmp_path / "c"), state_root=str(tmp_path / "s"))
        path = Path(layout.board_index("crew"))
        path.parent.mkdir(parents=True)
        path.write_bytes(encode_rows(Row(Card(n), (n, 1, n), is_proven=True) for n in range(1000)))
        disk = MeasuringDisk()
        scanner = BoardScanner(disk, StillClock(1.0), layout)
        scanner.read_index("crew")
        first = disk.bytes_read
        with path.open("ab") as file:
            file.write(encode_rows([Row(Card(1000), (1, 1, 1), is_proven=True)]))
        assert len(scanner.read_index("crew")[0]) == 1001
        assert disk.bytes_read - first < 1000


class MeasuringDisk(RealDisk):
    """Says how much was read."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes_read = 0

    def read_at(self, fd: int, start: int, size: int) -> bytes:
        data = super().read_at(fd, start, size)
        self.bytes_read += len(data)
        return data
