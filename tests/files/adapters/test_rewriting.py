"""Rewriting beside writers who ignore every lock. Each test runs with and without an exchange of files."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import time
from typing import Any

import pytest
from tests.proving import proves

from atm.core.errors import WriteRefused
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.machine import find_layout
from atm.mail.adapters.inbox_store import RECENT_TAIL
from atm.mail.formats.inbox import only
from atm.mail.rules.quotas import Quota
from atm.mail.services.posting import Draft
from atm.mail.services.putting_back import put_back_dropped
from atm.mail.services.reading import Filter, take
from atm.mail.services.sending import send
from atm.roster.services.teamroom import Teamroom
from atm.testing import Crash, FakeClock, FaultyDisk, QuickDisk, make_message
from atm.wiring.mail import build_room


class Meddling:
    """A disk on which somebody else acts right before our commit. `exchange` can be switched off."""

    def __init__(self, can_exchange: bool) -> None:
        self._disk = QuickDisk()
        self._can_exchange = can_exchange
        self.may_stay_open = can_exchange  # without the one, as on Windows, without the other
        self.before_commit: list = []
        self.after_commit: list = []

    def __getattr__(self, name):
        return getattr(self._disk, name)

    def exchange(self, one: str, other: str) -> bool:
        if self.before_commit:
            self.before_commit.pop(0)()
        if not self._can_exchange:
            return False
        done = self._disk.exchange(one, other)
        if self.after_commit:
            self.after_commit.pop(0)()
        return done


@pytest.fixture(params=[True, False], ids=["exchange", "compare-and-replace"])
def disk(request):
    return Meddling(request.param)


@pytest.fixture
def meddled(home, room, disk) -> Teamroom:
    return build_room(find_layout({"ATM_HOME": str(home)}), disk=disk)


@pytest.fixture
def waiting(home, room, disk) -> Teamroom:
    """For whoever has to wait for others to come to an end: it takes no time."""
    return build_room(find_layout({"ATM_HOME": str(home)}), disk=disk, clock=FakeClock(time.time()))


@pytest.fixture
def inbox(home):
    return home / ".claude/teams/crew/inboxes/ann.json"


def texts(inbox) -> list[str]:
    return [row["text"] for row in json.loads(inbox.read_bytes())]


def add_by_rename(inbox, text):
    def act():
        rows = [json.dumps(row) for row in json.loads(inbox.read_bytes())]
        other = inbox.with_suffix(".theirs")
        other.write_bytes(only([*rows, make_message(f"id-{text}", text).raw]))
        os.replace(other, inbox)

    return act


def add_in_place(inbox, text):
    def act():
        rows = [json.dumps(row) for row in json.loads(inbox.read_bytes())]
        inbox.write_bytes(only([*rows, make_message(f"id-{text}", text).raw]))

    return act


@proves(
    "R001-1-11",
    "R001-2.1-04",
    "R001-3.2-01",
    "R001-3.2-16",
    "R001-3.2-23",
    "R001-3.2-24",
    "R001-3.2-25",
    "R001-3.2-37",
    "R001-3.2-38",
    "R001-3.3-23",
    "R001-3.3-26",
    "R001-4.2-send-05",
    "R001-8.1-04",
    "R001-8.3-04",
    "R001-10-04",
)
@pytest.mark.parametrize("manner", [add_by_rename, add_in_place])
def test_what_somebody_added_meanwhile_is_kept(meddled, disk, inbox, manner):
    disk.before_commit = [manner(inbox, "theirs")]
    sent = send(meddled, "crew", "ann", Draft(sender="bob", text="ours"))
    assert sent.outcome == "conflict_resolved"
    assert sent.merged == 1
    assert sorted(texts(inbox)) == ["ours", "theirs"]
    assert sorted(os.listdir(inbox.parent)) == ["ann.json", "bob.json"]


@proves("R001-3.2-26", "R001-3.3-22")
def test_somebody_who_meddles_again_and_again_loses_nothing_either(meddled, disk, inbox):
    disk.before_commit = [add_by_rename(inbox, f"theirs-{n}") for n in range(6)]
    sent = send(meddled, "crew", "ann", Draft(sender="bob", text="ours"))
    assert sent.outcome == "conflict_resolved"
    assert sorted(texts(inbox)) == ["ours", *(f"theirs-{n}" for n in range(6))]


@proves("R001-3.2-05")
def test_somebody_who_never_stops_gets_our_message_spooled(waiting, disk, inbox):
    disk.before_commit = [add_by_rename(inbox, f"theirs-{n}") for n in range(300)]
    sent = send(waiting, "crew", "ann", Draft(sender="bob", text="ours"))
    assert sent.outcome == "queued"
    assert sent.spool_path
    assert disk.before_commit, "it did stop"
    disk.before_commit = []
    send(waiting, "crew", "ann", Draft(sender="bob", text="later"))
    assert texts(inbox).count("ours") == 1
    assert texts(inbox).index("ours") < texts(inbox).index("later")


def test_rows_that_their_owner_consumed_meanwhile_stay_away(meddled, disk, inbox):
    send(meddled, "crew", "ann", Draft(sender="bob", text="first"))
    disk.before_commit = [lambda: inbox.write_bytes(b"[]")]
    send(meddled, "crew", "ann", Draft(sender="bob", text="second"))
    assert texts(inbox) == ["second"]


def test_a_torn_foreign_write_is_waited_for(meddled, disk, inbox):
    whole = only([make_message("id-t", "theirs").raw])

    def tear():
        inbox.write_bytes(whole[: len(whole) // 2])
        disk.before_commit.append(lambda: None)

    disk.before_commit = [tear]
    clock = meddled.clock
    original = clock.sleep

    class Mending:
        def now(self):
            return clock.now()

        def monotonic(self):
            return clock.monotonic()

        def sleep(self, seconds):
            for path in [inbox, *inbox.parent.glob(".ann.json.atm-*")]:
                if path.exists() and path.read_bytes() == whole[: len(whole) // 2]:
                    path.write_bytes(whole)
            original(min(seconds, 0.001))

    room = build_room(find_layout({"ATM_HOME": str(inbox.parents[4])}), disk=disk, clock=Mending())
    send(room, "crew", "ann", Draft(sender="bob", text="ours"))
    assert sorted(texts(inbox)) == ["ours", "theirs"]


@proves("R001-3.2-23", "R001-3.2-24", "R001-8.1-04")
def test_a_write_into_the_displaced_file_after_the_exchange_is_caught(home, room, inbox):
    disk = Meddling(True)
    meddled = build_room(find_layout({"ATM_HOME": str(home)}), disk=disk)
    with inbox.open("r+b") as theirs:

        def late():
            theirs.seek(0)
            theirs.write(only([make_message("id-late", "late").raw]))
            theirs.flush()

        disk.after_commit = [late]
        sent = send(meddled, "crew", "ann", Draft(sender="bob", text="ours"))
    assert sent.merged == 1
    assert sorted(texts(inbox)) == ["late", "ours"]


def test_a_write_into_the_displaced_file_after_it_was_compared_is_caught_too(home, room, inbox):
    class Watched(RealDisk):
        """Somebody writes into the file that was displaced, between our two looks at it; nothing tells that he may."""

        is_exchanged, looks = False, 0

        def is_written(self, fd: int) -> bool:  # noqa: ARG002
            return False

        def exchange(self, one: str, other: str) -> bool:
            self.is_exchanged = super().exchange(one, other)
            return self.is_exchanged

        def look(self, path: str):
            self.looks += self.is_exchanged and ".ann.json.atm-" in path
            if self.looks == 2:
                self.looks += 1
                late()
            return super().look(path)

    def late() -> None:
        theirs.seek(0)
        theirs.write(only([make_message("id-late", "late").raw]))
        theirs.flush()

    watched = build_room(find_layout({"ATM_HOME": str(home)}), disk=Watched())
    with inbox.open("r+b") as theirs:
        sent = send(watched, "crew", "ann", Draft(sender="bob", text="ours"))
    assert sent.merged == 1
    assert sorted(texts(inbox)) == ["late", "ours"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who has a file open")
@pytest.mark.parametrize("was_renamed", [False, True], ids=["the version we know", "one that was renamed there"])
def test_a_writer_who_has_it_open_is_waited_for_though_what_lies_there_is_whole(home, room, inbox, was_renamed):
    """As one whose `open` is about to empty the file, and is kept from that by a busy disk until it is displaced."""
    opened: list[int] = []
    naps: list[float] = []

    class Patient(FakeClock):
        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            naps.append(seconds)
            if len(naps) == 3:
                os.ftruncate(opened[0], 0)
                os.write(opened[0], only([make_message("id-late", "late").raw]))
                os.close(opened[0])

    def begin() -> None:
        if was_renamed:
            add_by_rename(inbox, "renamed")()
        opened.append(os.open(inbox, os.O_WRONLY))

    disk = Meddling(True)
    disk.before_commit = [begin]
    send(
        build_room(find_layout({"ATM_HOME": str(home)}), disk=disk, clock=Patient(time.time())),
        "crew",
        "ann",
        Draft(sender="bob", text="ours"),
    )
    assert sorted(texts(inbox)) == ["late", "ours"]


def test_one_who_keeps_it_open_for_ever_is_waited_for_once(home, room, inbox):
    disk, clock = Meddling(True), FakeClock(time.time())
    crowded = build_room(find_layout({"ATM_HOME": str(home)}), disk=disk, clock=clock)
    with inbox.open("r+b"):
        for number in range(3):
            send(crowded, "crew", "ann", Draft(sender="bob", text=f"number {number}"))
    assert texts(inbox) == ["number 0", "number 1", "number 2"]
    assert clock.monotonic() < 1.0


def test_one_who_opens_it_again_and_again_and_writes_nothing_does_not_keep_a_message_out(home, room, inbox):
    disk, clock = Meddling(True), FakeClock(time.time())
    crowded = build_room(find_layout({"ATM_HOME": str(home)}), disk=disk, clock=clock)
    with contextlib.ExitStack() as opened:
        disk.before_commit = [lambda: opened.enter_context(inbox.open("r+b"))] * 20
        sent = send(crowded, "crew", "ann", Draft(sender="bob", text="ours"))
    assert (sent.merged, texts(inbox)) == (0, ["ours"])
    assert len(disk.before_commit) == 19, "it is placed once"


def test_a_change_that_a_fresh_time_stamp_does_not_show_is_kept_too(home, room, disk, inbox):
    """Within one tick of the clock, in place, to the same size: only the content tells."""
    rows = [make_message(f"id-{n:03}", "x" * 500).raw for n in range(200)]
    inbox.write_bytes(only(rows))
    now = time.time_ns() // 1_000_000_000 * 1_000_000_000 + 123_456_789
    os.utime(inbox, ns=(now, now))

    def replace_the_last_row() -> None:
        with inbox.open("r+b") as file:
            data = file.read().replace(b'"id-199"', b'"theirs"')
            file.seek(0)
            file.write(data)
        os.utime(inbox, ns=(now, now))

    at_once = build_room(find_layout({"ATM_HOME": str(home)}), disk=disk, clock=FakeClock(now / 1e9 + 0.01))
    disk.before_commit = [replace_the_last_row]
    assert at_once.inboxes.append("crew", "ann", [make_message("id-ours")], fresh=True).merged == 1
    ids = [row["msg_id"] for row in json.loads(inbox.read_bytes())]
    assert ids[-2:] == ["theirs", "id-ours"]
    assert len(ids) == 201


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["write", "sync"])
def test_half_a_new_version_does_not_stay(home, room, inbox, step, error):
    class Full(RealDisk):
        """Takes nothing that is meant for the place beside the inbox."""

        def __init__(self) -> None:
            super().__init__()
            self.fds: set[int] = set()

        def create(self, path: str, *given: Any, **options: Any) -> int:
            fd = super().create(path, *given, **options)
            self.fds |= {fd} if ".ann.json.atm-" in path else set()
            return fd

        def close(self, fd: int) -> None:
            self.fds.discard(fd)
            super().close(fd)

        def write(self, fd: int, data: bytes) -> None:
            if step == "write" and fd in self.fds:
                raise error
            super().write(fd, data)

        def sync(self, fd: int) -> None:
            if step == "sync" and fd in self.fds:
                raise error
            super().sync(fd)

    disk = Full()
    full = build_room(find_layout({"ATM_HOME": str(home)}), disk=disk)
    with pytest.raises((WriteRefused, KeyboardInterrupt)):
        full.inboxes.append("crew", "ann", [make_message("id-1")], fresh=True)
    assert disk.fds == set()
    assert sorted(os.listdir(inbox.parent)) == ["ann.json", "bob.json"]
    assert texts(inbox) == []


@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()])
@pytest.mark.parametrize("swaps", [True, False])
def test_a_whole_new_version_does_not_stay_either_unless_it_is_in_place(home, room, inbox, swaps, error):
    """Whoever is interrupted at any step between writing and committing leaves nothing beside the inbox."""

    def appended(number: int, stop_at: int | None = None) -> list[str]:
        disk = FaultyDisk(Meddling(swaps), stop_at=stop_at, error=error)
        later = FakeClock(time.time() + 100)  # else how much is read depends on how old the file is
        stopped = build_room(find_layout({"ATM_HOME": str(home)}), disk=disk, clock=later)
        with contextlib.suppress(WriteRefused, KeyboardInterrupt):
            stopped.inboxes.append("crew", "ann", [make_message(f"id-{number}")], fresh=True)
        return disk.steps

    appended(0)
    steps = appended(1)
    written, committed = steps.index("sync") + 2, steps.index("exchange" if swaps else "rename")
    for step in range(written, committed + 1):
        before = inbox.read_bytes()
        appended(step + 1, stop_at=step)
        left = [name for name in os.listdir(inbox.parent) if ".atm-" in name]
        assert (left, inbox.read_bytes()) == ([], before), f"interrupted at {step}, {steps[step]}"
        room.inboxes.append("crew", "ann", [make_message(f"after-{step}")], fresh=True)  # and the next one finds order


def test_what_is_read_after_a_writer_was_killed_is_marked_and_what_it_had_displaced_stays_unread(home, room, inbox):
    room.inboxes.append("crew", "ann", [make_message("id-1", "first")], fresh=True)
    meddling = Meddling(True)
    steps = FaultyDisk(meddling)
    build_room(find_layout({"ATM_HOME": str(home)}), disk=steps).inboxes.mark("crew", "ann", {"id-1"}, True)
    room.inboxes.mark("crew", "ann", {"id-1"}, False)
    meddling.before_commit = [add_by_rename(inbox, "theirs")]
    dying = build_room(
        find_layout({"ATM_HOME": str(home)}), disk=FaultyDisk(meddling, stop_at=steps.steps.index("exchange") + 1)
    )
    with pytest.raises(Crash):
        dying.inboxes.append("crew", "ann", [make_message("id-2", "second")], fresh=True)
    shown = [[row.text for row in room.inboxes.claim("crew", "ann", list)] for _ in range(3)]
    assert shown == [["first", "second"], ["theirs"], []]
    assert sorted(os.listdir(inbox.parent)) == ["ann.json", "bob.json"]


def test_what_a_killed_writer_displaced_goes_also_if_nothing_in_it_was_new(home, room, inbox):
    room.inboxes.append("crew", "ann", [make_message("id-1", "first")], fresh=True)
    meddling = Meddling(True)
    steps = FaultyDisk(meddling)
    build_room(find_layout({"ATM_HOME": str(home)}), disk=steps).inboxes.mark("crew", "ann", {"id-1"}, True)
    other = inbox.with_suffix(".theirs")
    other.write_bytes(inbox.read_bytes() + b"\n")
    meddling.before_commit = [lambda: os.replace(other, inbox)]
    dying = FaultyDisk(meddling, stop_at=steps.steps.index("exchange") + 1)
    with pytest.raises(Crash):
        build_room(find_layout({"ATM_HOME": str(home)}), disk=dying).inboxes.mark("crew", "ann", {"id-1"}, False)
    assert [name for name in os.listdir(inbox.parent) if name.startswith(".ann.json.atm-")]
    room.inboxes.change("crew", "ann", list)
    assert sorted(os.listdir(inbox.parent)) == ["ann.json", "bob.json"]
    assert texts(inbox) == ["first"]


def test_a_lock_lost_after_the_first_exchange_doubles_nothing(home, room, inbox):
    rows = [make_message(f"id-{n}", "x" * 500).raw for n in range(200)]
    inbox.write_bytes(only(rows))
    os.utime(inbox, (1, 1))
    disk = Meddling(True)
    meddled = build_room(find_layout({"ATM_HOME": str(home)}), disk=disk)
    disk.before_commit = [add_by_rename(inbox, "theirs")]
    disk.after_commit = [(inbox.parent / "ann.json.lock").rmdir]
    assert send(meddled, "crew", "ann", Draft(sender="bob", text="ours")).outcome != "queued"
    assert texts(inbox).count("ours") == 1
    assert texts(inbox).count("theirs") == 1
    assert sorted(os.listdir(inbox.parent)) == ["ann.json", "bob.json"]


@proves("R001-4.2-read-09")
def test_a_message_that_arrives_while_we_mark_is_kept_unread(meddled, disk, inbox):
    send(meddled, "crew", "ann", Draft(sender="bob", text="first"))
    disk.before_commit = [add_in_place(inbox, "second")]
    mail = take(meddled, "crew", "ann", Filter())
    assert [message.text for message in mail.messages] == ["first"]
    assert {row["text"]: row["read"] for row in json.loads(inbox.read_bytes())} == {"first": True, "second": False}


@proves("R001-3.1-22")
def test_unknown_fields_and_malformed_rows_survive_a_merge(meddled, disk, inbox):
    odd = '{"from": "x", "text": "odd", "timestamp": "t", "read": false, "n": 1.10, "big": 12345678901234567890123}'
    disk.before_commit = [lambda: inbox.write_bytes(only([odd, "42", '{"neither": 1}']))]
    send(meddled, "crew", "ann", Draft(sender="bob", text="ours"))
    content = inbox.read_text()
    assert odd in content
    assert "\n  42," in content
    assert '{"neither": 1}' in content


def test_the_mode_of_the_file_is_kept(meddled, inbox):
    inbox.chmod(0o640)
    send(meddled, "crew", "ann", Draft(sender="bob", text="ours"))
    assert inbox.stat().st_mode & 0o777 == 0o640


def test_a_new_version_is_durable_before_it_is_in_place_and_its_name_before_anybody_hears_of_it(home, room, disk):
    steps = FaultyDisk(disk)
    watched = build_room(find_layout({"ATM_HOME": str(home)}), disk=steps)
    watched.inboxes.append("crew", "ann", [make_message("id-1")], fresh=True)
    placed = "exchange" if disk.may_stay_open else "rename"
    assert [step for step in steps.steps if step in ("sync", placed, "sync_folder")] == ["sync", placed, "sync_folder"]


def test_where_nothing_changes_nothing_is_written(home, room, disk, inbox):
    room.inboxes.append("crew", "ann", [make_message("id-1")], fresh=True)
    before = inbox.stat()
    steps = FaultyDisk(disk)
    watched = build_room(find_layout({"ATM_HOME": str(home)}), disk=steps)
    assert watched.inboxes.append("crew", "ann", [make_message("id-1")], fresh=False).added == 0
    assert not {"create", "exchange", "rename", "sync", "sync_folder"} & set(steps.steps)
    assert (inbox.stat().st_ino, inbox.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_an_inbox_that_nobody_else_wrote_to_is_known_to_be_ours_until_somebody_does(meddled, disk, inbox):
    for text in ("one", "two"):
        send(meddled, "crew", "ann", Draft(sender="bob", text=text))
    assert not meddled.inboxes.touched("crew", "ann")
    add_by_rename(inbox, "theirs")()
    assert meddled.inboxes.touched("crew", "ann")
    meddled.inboxes.append("crew", "ann", [make_message("id-more")], fresh=True)
    assert meddled.inboxes.touched("crew", "ann"), "our own next write does not tell what theirs had dropped"


def test_an_inbox_in_which_a_foreign_version_was_merged_counts_as_touched(meddled, disk, inbox):
    for text in ("one", "two"):
        send(meddled, "crew", "ann", Draft(sender="bob", text=text))
    disk.before_commit = [add_by_rename(inbox, "theirs")]
    meddled.inboxes.append("crew", "ann", [make_message("id-more")], fresh=True)
    assert meddled.inboxes.touched("crew", "ann")


@proves("R001-3.2-18", "R001-3.2-31")
def test_no_temporary_file_ends_in_json_or_stays(meddled, disk, inbox):
    seen = []
    disk.before_commit = [lambda: seen.extend(os.listdir(inbox.parent))]
    send(meddled, "crew", "ann", Draft(sender="bob", text="ours"))
    ours = [name for name in seen if ".atm-" in name]
    assert ours
    assert all(name.startswith(".") and not name.endswith(".json") for name in ours)
    assert sorted(os.listdir(inbox.parent)) == ["ann.json", "bob.json"]


@proves("R001-3.2-17", "R001-8.4-02", "R001-11-05")
def test_a_large_inbox_is_spliced_without_being_read(home, room, inbox):
    rows = [make_message(f"id-{n}", f"text {n} " + "x" * 200).raw for n in range(2000)]
    inbox.write_bytes(only(rows))
    os.utime(inbox, (1, 1))
    reads = []

    class Counting(RealDisk):
        def read_at(self, fd, start, size):
            reads.append(size)
            return super().read_at(fd, start, size)

    counted = build_room(find_layout({"ATM_HOME": str(home)}), disk=Counting())
    counted.marks.put_off("crew", "ann", inbox.stat().st_size, counted.clock.now() + 99)
    counted.inboxes.append("crew", "ann", [make_message("new", "new")], fresh=True)
    assert max(reads) <= 4096
    assert texts(inbox)[-1] == "new"
    assert len(texts(inbox)) == 2001
    assert inbox.read_bytes().startswith(only(rows)[:-3])


def test_a_send_to_a_large_inbox_reads_no_more_than_its_ends(home, room, inbox):
    rows = [make_message(f"id-{n}", f"text {n} " + "x" * 200).raw for n in range(2000)]
    inbox.write_bytes(only(rows))
    os.utime(inbox, (1, 1))
    reads = []

    class Counting(RealDisk):
        def read_at(self, fd, start, size):
            reads.append(size)
            return super().read_at(fd, start, size)

    counted = build_room(find_layout({"ATM_HOME": str(home)}), disk=Counting())
    counted.marks.put_off("crew", "ann", inbox.stat().st_size, counted.clock.now() + 99)
    counted.quota = Quota(rows=0, size=0)  # counting what waits would mean reading it
    send(counted, "crew", "ann", Draft(sender="bob", text="ours"))
    assert max(reads) <= RECENT_TAIL < inbox.stat().st_size / 2
    assert texts(inbox)[-1] == "ours"


def test_a_row_is_put_back_also_where_nobody_remembers_who_wrote_the_inbox_last(home, room, inbox):
    """Our own notes about locks were lost: then we cannot say that nobody else was at it, and look."""
    send(room, "crew", "ann", Draft(sender="bob", text="ours"))
    inbox.write_bytes(only([make_message("id-theirs", "theirs").raw]))
    for note in (home / ".local/state/atm/locks").iterdir():
        note.unlink()
    assert put_back_dropped(room, room.rosters.load("crew")) == 1
    assert sorted(texts(inbox)) == ["ours", "theirs"]


@pytest.mark.parametrize(
    "tail",
    [b"\n]", b"\n]\n\n  \n", b"]", b"\r\n]\r\n"],
    ids=["plain", "blank-lines", "tight", "windows"],
)
def test_splicing_copes_with_any_ending(home, room, inbox, tail):
    rows = [make_message(f"id-{n}", "x" * 500).raw for n in range(200)]
    inbox.write_bytes(b"[\n  " + ",\n  ".join(rows).encode() + tail)
    room.inboxes.append("crew", "ann", [make_message("new", "new")], fresh=True)
    assert texts(inbox)[-1] == "new"
    assert len(texts(inbox)) == 201


@proves("R001-8.1-09", "R001-8.1-10")
@pytest.mark.parametrize("content", [b"", b"[", b'{"from": "x"}', b"[{}", b"[1,]", b"null", b"\xff\xfe[]", b"[" * 5000])
def test_an_unreadable_inbox_is_copied_aside_and_the_message_spooled(home, waiting, inbox, content):
    inbox.write_bytes(content)
    sent = send(waiting, "crew", "ann", Draft(sender="bob", text="ours"))
    assert sent.outcome == "queued"
    assert inbox.read_bytes() == content
    copies = list((home / ".config/atm/archive/crew/ann").glob("unreadable-*.json"))
    assert [copy.read_bytes() for copy in copies] == [content]
    inbox.write_bytes(b"[]")
    send(waiting, "crew", "ann", Draft(sender="bob", text="next"))
    assert texts(inbox) == ["ours", "next"]
