"""
Rewriting to the tick and to the last file: when a time stamp proves anything, and what lies beside the file afterwards.

Where it matters, with and without an exchange of files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atm.core.errors import FileBusy, NoSuchTeam, UnreadableFile
from atm.files.adapters.locking import Locks
from atm.files.adapters.rewriting import COARSE_TICK_NS, FINE_TICK_NS, TORN_NAP, TORN_TRIES, Edit, Rewriter
from atm.files.adapters.shared_edit import EditWhole
from atm.files.formats.layout import Layout
from atm.mail.adapters.inbox_edits import Append
from atm.mail.formats.inbox import only
from atm.roster.services.teamroom import Teamroom
from atm.testing import Crash, FakeChance, FakeClock, FaultyDisk, QuickDisk, make_message
from atm.wiring.mail import build_room

NOW = 100.0
"""Early enough that nanoseconds are whole numbers for a float."""


class Meddled(QuickDisk):
    """Another program acts right before our commit. Without an exchange of files, as on Windows, nothing stays open."""

    def __init__(self, can_exchange: bool = True) -> None:
        super().__init__()
        self.may_stay_open = can_exchange
        self.meddle: Callable[[], object] | None = None
        self.reads: list[int] = []

    def exchange(self, one: str, other: str) -> bool:
        meddle, self.meddle = self.meddle, None
        if meddle:
            meddle()
        return self.may_stay_open and super().exchange(one, other)

    def read_at(self, fd: int, start: int, size: int) -> bytes:
        self.reads.append(size)
        return super().read_at(fd, start, size)


class Napping(FakeClock):
    """Somebody acts while we sleep."""

    def __init__(self) -> None:
        super().__init__(NOW)
        self.on_sleep: Callable[[], object] = lambda: None

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.on_sleep()


@pytest.fixture
def clock() -> Napping:
    return Napping()


@pytest.fixture(params=[True, False], ids=["exchange", "compare-and-replace"])
def disk(request) -> Meddled:
    return Meddled(request.param)


@pytest.fixture
def inbox(layout, room) -> Path:
    return Path(layout.inbox("crew", "ann"))


@pytest.fixture
def mail(layout, room, disk, clock) -> Teamroom:
    return build_room(layout, disk=disk, clock=clock)


def row(id: str, text: str = "text") -> str:
    return make_message(id, text).raw


def fill(inbox: Path, count: int) -> None:
    """A large one, which nobody has changed for long."""
    inbox.write_bytes(only([row(f"id-{number:03}", "x" * 500) for number in range(count)]))
    os.utime(inbox, (1, 1))


def ids(inbox: Path) -> list[str]:
    return [each["msg_id"] for each in json.loads(inbox.read_bytes())]


def beside(inbox: Path) -> list[str]:
    """What lies in its folder and is no inbox."""
    return sorted({path.name for path in inbox.parent.iterdir()} - {"ann.json", "bob.json"})


def note_about(inbox: Path, layout: Layout) -> Path:
    """Where a holder of its lock writes what the next one must know."""
    locks = Locks(QuickDisk(), FakeClock(), FakeChance(1), layout.locks, pid=1, host="here")
    return Path(locks.file_for(str(inbox)))


def append(mail: Teamroom, id: str) -> int:
    return mail.inboxes.append("crew", "ann", [make_message(id)], fresh=True).merged


# What a time stamp proves.


@pytest.mark.parametrize(
    "age_ns",
    [FINE_TICK_NS, COARSE_TICK_NS],
    ids=["a file system with fine stamps", "one with whole seconds"],
)
def test_a_file_of_exactly_one_tick_may_have_been_changed_again_and_is_compared_by_content(mail, disk, inbox, age_ns):
    fill(inbox, 200)
    stamp = int(NOW * 1e9) - age_ns
    os.utime(inbox, ns=(stamp, stamp))

    def replace_the_last_row() -> None:
        with inbox.open("r+b") as file:
            data = file.read().replace(b'"id-199"', b'"theirs"')
            file.seek(0)
            file.write(data)
        os.utime(inbox, ns=(stamp, stamp))

    disk.meddle = replace_the_last_row
    assert append(mail, "id-ours") == 1
    assert ids(inbox)[-2:] == ["theirs", "id-ours"]


@pytest.mark.parametrize("age_ns", [FINE_TICK_NS + 1000, COARSE_TICK_NS + 1_000_000_000])
def test_a_file_that_is_older_than_a_tick_is_known_by_its_stamp_and_not_read(layout, room, clock, inbox, age_ns):
    disk = Meddled()
    mail = build_room(layout, disk=disk, clock=clock)
    fill(inbox, 200)
    stamp = int(NOW * 1e9) - age_ns
    os.utime(inbox, ns=(stamp, stamp))
    append(mail, "id-ours")
    assert max(disk.reads) <= 4096 < inbox.stat().st_size


# What is torn.


def kept(layout: Layout) -> list[bytes]:
    """Copies of what could not be read."""
    return [path.read_bytes() for path in Path(layout.archive("crew", "ann")).glob("unreadable-*")]


def test_what_is_torn_when_we_come_is_waited_for(mail, clock, inbox):
    whole = only([row("id-1")])
    inbox.write_bytes(whole[:-10])
    clock.on_sleep = lambda: inbox.write_bytes(whole)
    append(mail, "id-2")
    assert ids(inbox) == ["id-1", "id-2"]
    assert clock.monotonic() == TORN_NAP


def test_what_stays_torn_is_given_up_after_a_while_and_a_copy_kept(mail, clock, inbox, layout):
    inbox.write_bytes(b"[")
    with pytest.raises(UnreadableFile):
        append(mail, "id-1")
    assert clock.monotonic() == pytest.approx(TORN_TRIES * TORN_NAP)
    assert inbox.read_bytes() == b"["
    assert kept(layout) == [b"["]
    assert beside(inbox) == []


def test_what_is_torn_is_waited_for_no_longer_than_there_is_time(mail, clock, inbox, monkeypatch):
    monkeypatch.setattr("atm.files.adapters.rewriting.SHORTEST_HOLD", 2 * TORN_NAP)
    inbox.write_bytes(b"[")
    with pytest.raises(UnreadableFile):
        mail.inboxes.append("crew", "ann", [make_message("id-1")], fresh=True, patience=0.0)
    assert clock.monotonic() == 2 * TORN_NAP


def test_garbage_that_somebody_puts_there_meanwhile_does_not_undo_our_change_or_is_not_replaced(
    mail, disk, clock, inbox, layout
):
    append(mail, "id-1")
    disk.meddle = lambda: inbox.write_bytes(b"garbage")
    if disk.may_stay_open:  # ours is in place already
        assert append(mail, "id-2") == 0
        assert ids(inbox) == ["id-1", "id-2"]
        assert kept(layout) == [b"garbage"]
    else:
        with pytest.raises(UnreadableFile):
            append(mail, "id-2")
        assert inbox.read_bytes() == b"garbage"
    assert clock.monotonic() == pytest.approx(TORN_TRIES * TORN_NAP)
    assert beside(inbox) == []


def test_garbage_that_a_killed_writer_displaced_is_kept_too(layout, room, clock, inbox):
    disk = Meddled()
    append(room, "id-0")
    steps = FaultyDisk(disk)
    append(build_room(layout, disk=steps, clock=clock), "id-1")
    disk.meddle = lambda: inbox.write_bytes(b"garbage")
    dying = FaultyDisk(disk, stop_at=steps.steps.index("exchange") + 1)
    with pytest.raises(Crash):
        append(build_room(layout, disk=dying, clock=clock), "id-2")
    assert dying.steps[-2] == "exchange"
    append(build_room(layout, disk=disk, clock=clock), "id-3")
    assert kept(layout) == [b"garbage"]
    assert ids(inbox) == ["id-0", "id-1", "id-2", "id-3"]
    assert beside(inbox) == []


@pytest.mark.parametrize("last_step", ["create", "sync", "exchange", "remove"])
def test_what_a_killed_writer_displaced_survives_the_death_of_the_next_one_too(layout, room, clock, last_step):
    def append_to(agent: str, id: str, disk: FaultyDisk | Meddled) -> None:
        build_room(layout, disk=disk, clock=clock).inboxes.append("crew", agent, [make_message(id)], fresh=True)

    def be_killed_by(agent: str) -> None:
        """Right after the exchange, which displaced what somebody had written a moment before."""
        inbox, disk, steps = Path(layout.inbox("crew", agent)), Meddled(), FaultyDisk(Meddled())
        append_to(agent, "id-0", disk)
        append_to(agent, "id-1", steps)
        disk.meddle = lambda: inbox.write_bytes(only([row("theirs")]))
        with pytest.raises(Crash):
            append_to(agent, "id-2", FaultyDisk(disk, stop_at=steps.steps.index("exchange") + 1))
        assert ids(inbox) == ["id-0", "id-1", "id-2"]

    be_killed_by("ann")  # here we see which steps the next one takes
    rehearsal = FaultyDisk(Meddled())
    append_to("ann", "id-3", rehearsal)
    be_killed_by("bob")
    next_one = FaultyDisk(Meddled(), stop_at=rehearsal.steps.index(last_step))
    with pytest.raises(Crash):
        append_to("bob", "id-3", next_one)
    assert next_one.steps[-1] == last_step
    append_to("bob", "id-4", Meddled())
    inbox = Path(layout.inbox("crew", "bob"))
    assert sorted({*ids(inbox)} - {"id-3"}) == ["id-0", "id-1", "id-2", "id-4", "theirs"]
    assert len({*ids(inbox)}) == len(ids(inbox))
    assert beside(inbox) == []


# What is gone.


def test_an_inbox_that_somebody_deletes_meanwhile_does_not_come_back_half(mail, disk, inbox):
    append(mail, "id-1")
    disk.meddle = inbox.unlink
    with pytest.raises(NoSuchTeam):
        append(mail, "id-2")
    assert not inbox.exists()
    assert beside(inbox) == []


# Whose lock it is.


def test_nothing_is_put_in_place_once_somebody_took_the_lock_away(layout, room, clock, inbox):
    lock = inbox.with_name("ann.json.lock")

    class Taken(Meddled):
        """While we write the new version, another program takes us for dead, and the lock for itself."""

        def create(self, path: str, *given: Any, **options: Any) -> int:
            if ".ann.json.atm-" in path:
                lock.rmdir()
                lock.mkdir()
                os.utime(lock, (NOW, NOW))
            return super().create(path, *given, **options)

    with pytest.raises(FileBusy):
        append(build_room(layout, disk=Taken(), clock=clock), "id-1")
    assert ids(inbox) == []
    assert lock.is_dir()


# What is left beside the file.


def test_what_a_process_with_our_number_left_without_a_note_is_in_nobodys_way(mail, inbox):
    rest = inbox.with_name(f".ann.json.atm-{os.getpid()}-1")
    rest.write_text("half")
    append(mail, "id-1")
    assert ids(inbox) == ["id-1"]
    assert beside(inbox) == []


def test_after_a_killed_writer_who_displaced_nothing_a_large_inbox_is_spliced_as_ever(layout, room, clock, inbox):
    disk = Meddled()
    append(room, "id-0")
    steps = FaultyDisk(disk)
    fill(inbox, 200)
    append(build_room(layout, disk=steps, clock=clock), "id-1")
    fill(inbox, 200)
    dying = FaultyDisk(disk, stop_at=steps.steps.index("exchange"))
    with pytest.raises(Crash):
        append(build_room(layout, disk=dying, clock=clock), "id-2")
    assert dying.steps[-1] == "exchange"
    disk.reads.clear()
    assert append(build_room(layout, disk=disk, clock=clock), "id-3") == 0
    assert max(disk.reads) <= 4096 < inbox.stat().st_size
    assert ids(inbox)[-2:] == ["id-199", "id-3"]
    assert beside(inbox) == []


def test_when_all_is_done_only_the_version_is_noted(mail, inbox, layout):
    for id in ("id-1", "id-2"):
        append(mail, id)
        mail.inboxes.missing("crew", "ann", [id])
    assert list(json.loads(note_about(inbox, layout).read_text())) == ["trusted"]


def test_a_note_that_names_files_elsewhere_leads_to_nothing(mail, disk, inbox, layout, tmp_path):
    append(mail, "id-1")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(only([row("id-strange")]))
    gone = f"{inbox.parent}/.ann.json.atm-1-1"
    noted = {"temporary": str(elsewhere), "placed": [0, 0], "expected": [], "foreign": [str(elsewhere), gone, 7]}
    note_about(inbox, layout).write_text(json.dumps({"pid": 1, "rewrite": noted}))
    assert append(mail, "id-2") == 0
    assert ids(inbox) == ["id-1", "id-2"]
    assert elsewhere.exists()


def test_the_files_of_others_beside_the_inbox_stay_when_a_killed_writer_is_cleared_up_after(mail, inbox, layout):
    append(mail, "id-1")
    note_about(inbox, layout).write_text(json.dumps({"pid": 1}))
    for name in ("notes.txt", ".bob.json.atm-1-1", ".ann.json.atm-1-1"):
        (inbox.parent / name).write_text("x")
    append(mail, "id-2")
    assert beside(inbox) == [".bob.json.atm-1-1", "notes.txt"]


# One rewriter by itself.


def rewrite(disk: Meddled, clock: FakeClock, path: Path, edit: Edit) -> bool:
    locks = Locks(disk, clock, FakeChance(1), str(path.parent / "locks"), pid=os.getpid(), host="here")
    lock = locks.shared(str(path))
    rewriter = Rewriter(disk, clock, lock, str(path), lambda _: "aside")
    try:
        with lock:
            return rewriter.apply(edit)
    finally:
        rewriter.close()


def test_it_says_whether_the_file_changed(tmp_path, disk, clock):
    path = tmp_path / "7.json"
    path.write_bytes(b"{}")
    assert rewrite(disk, clock, path, EditWhole(lambda _: b"{ }")) is True
    assert rewrite(disk, clock, path, EditWhole(lambda _: b"{ }")) is False
    assert path.read_bytes() == b"{ }"


def test_it_reads_no_more_than_the_edit_asks_for(tmp_path, clock):
    disk, path = Meddled(), tmp_path / "ann.json"
    fill(path, 200)
    assert rewrite(disk, clock, path, Append([make_message("id-new")], fresh=True))
    assert max(disk.reads) <= 4096 < path.stat().st_size
    assert ids(path)[-2:] == ["id-199", "id-new"]
