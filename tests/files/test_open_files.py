"""Whatever is done to mail and the board, no file stays open: a daemon does it for months."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from atm.board.services import working as board
from atm.board.services.new_tasks import NewTask
from atm.board.services.planning import add
from atm.core.errors import AtmError
from atm.files.adapters.disk import RealDisk
from atm.files.formats.file_stamp import FileStamp
from atm.files.formats.layout import Layout
from atm.mail.formats.inbox import only
from atm.mail.rules.quotas import Allowance, Quota
from atm.mail.services.posting import Draft
from atm.mail.services.putting_back import put_back_dropped
from atm.mail.services.reading import Filter, take
from atm.mail.services.sending import send
from atm.mail.services.spooling import drain
from atm.roster.services.full_boardroom import FullBoardroom
from atm.roster.services.teamroom import Teamroom
from atm.testing import FakeClock, MemoryPrograms, QuickDisk, make_message
from atm.wiring.board import build_tasks
from atm.wiring.mail import build_room


class Accountant(QuickDisk):
    """Knows which files are open, and that each is closed once. Without an exchange, as on Windows, few may stay so."""

    def __init__(self, can_exchange: bool = True) -> None:
        super().__init__()
        self.may_stay_open = can_exchange
        self.open: dict[int, str] = {}

    def _opened(self, fd: int, path: str) -> int:
        self.open[fd] = path
        return fd

    def open_read(self, path: str) -> int:
        return self._opened(super().open_read(path), path)

    def create(self, path: str, like: FileStamp | None = None, mode: int = 0o600) -> int:
        return self._opened(super().create(path, like, mode), path)

    def open_append(self, path: str, mode: int = 0o600) -> int:
        return self._opened(super().open_append(path, mode), path)

    def lock(self, path: str) -> int | None:
        fd = super().lock(path)
        return None if fd is None else self._opened(fd, path)

    def close(self, fd: int) -> None:
        del self.open[fd]
        super().close(fd)

    def exchange(self, one: str, other: str) -> bool:
        return self.may_stay_open and super().exchange(one, other)


def letter(text: str = "hello") -> Draft:
    return Draft(sender="bob", text=text)


def send_to_a_large_inbox(mail: Teamroom, inbox: Path) -> None:
    inbox.write_bytes(only([make_message(f"id-{n}", "x" * 2000).raw for n in range(100)]))
    os.utime(inbox, (1, 1))
    send(mail, "crew", "ann", letter())


def read_what_is_there(mail: Teamroom, inbox: Path) -> None:
    inbox.write_bytes(only([make_message("id-1").raw]))
    take(mail, "crew", "ann", Filter())


def put_back_what_was_dropped(mail: Teamroom, inbox: Path) -> None:
    send(mail, "crew", "ann", letter())
    inbox.write_bytes(b"[]")
    assert put_back_dropped(mail, mail.rosters.load("crew")) == 1


def wait_for_a_lock_and_spool(mail: Teamroom, inbox: Path) -> None:
    (inbox.parent / "ann.json.lock").write_text(json.dumps({"pid": os.getpid()}))
    assert send(mail, "crew", "ann", letter()).outcome == "queued"
    (inbox.parent / "ann.json.lock").unlink()
    assert drain(mail, everything=True).delivered == 1


def set_an_unreadable_inbox_aside(mail: Teamroom, inbox: Path) -> None:
    inbox.write_bytes(b"{")
    assert send(mail, "crew", "ann", letter()).outcome == "queued"
    with pytest.raises(AtmError):
        mail.inboxes.rows("crew", "ann")


def ask_about_it(mail: Teamroom, inbox: Path) -> None:
    """Whatever can be asked without a lock, of an inbox that is whole, of one that is not, and of none."""
    allowance = Allowance(Quota(1, 0), mail.rosters.load("crew"), "ann", make_message("id-9"))
    send(mail, "crew", "ann", letter())
    for content in (
        inbox.read_bytes(),
        only([make_message(f"id-{n}", "x" * 2000).raw for n in range(100)]),
        b"[{",
        None,
    ):
        if content is None:
            inbox.unlink()
        else:
            inbox.write_bytes(content)
        mail.inboxes.has_room("crew", "ann", allowance)
        mail.inboxes.missing("crew", "ann", ["id-1", "id-100"])
        mail.inboxes.touched("crew", "ann")
        if content != b"[{":
            mail.inboxes.glance("crew", "ann", lambda _: False, 5)


@pytest.mark.parametrize(
    "act",
    [
        lambda mail, _: send(mail, "crew", "ann", letter()),
        send_to_a_large_inbox,
        read_what_is_there,
        put_back_what_was_dropped,
        wait_for_a_lock_and_spool,
        set_an_unreadable_inbox_aside,
        ask_about_it,
    ],
    ids=["send", "large", "read", "put-back", "spool", "unreadable", "ask"],
)
@pytest.mark.parametrize("can_exchange", [True, False], ids=["exchange", "compare-and-replace"])
def test_no_file_of_mail_stays_open(layout: Layout, room, act: Callable[[Teamroom, Path], object], can_exchange: bool):
    disk = Accountant(can_exchange)
    mail = build_room(layout, disk=disk, clock=FakeClock(time.time()))
    act(mail, Path(layout.inbox("crew", "ann")))
    assert disk.open == {}


def test_no_file_of_the_board_stays_open(layout: Layout, room):
    disk, clock, programs = Accountant(), FakeClock(time.time()), MemoryPrograms()
    tasks = build_tasks(layout, disk=disk, clock=clock)
    boardroom = FullBoardroom(room=build_room(layout, disk=disk, clock=clock), tasks=tasks, programs=lambda: programs)
    add(boardroom, "crew", "ann", [NewTask("base"), NewTask("next", depends_on=["base"])])
    board.claim(boardroom, "crew", "ann", "1")
    Path(layout.tasks("crew"), "3.json").write_text("no task")
    board.complete(boardroom, "crew", "ann", "1")
    assert board.claim(boardroom, "crew", "ann", "3").refusal is not None
    assert disk.open == {}


def test_no_file_stays_open_when_it_cannot_be_looked_at(layout: Layout, room):
    class Blind(Accountant):
        def look_open(self, fd: int) -> FileStamp:
            if self.open[fd].endswith("/ann.json"):
                raise OSError(errno.EIO, "Input/output error", self.open[fd])
            return super().look_open(fd)

    disk = Blind()
    mail = build_room(layout, disk=disk, clock=FakeClock(time.time()))
    with pytest.raises(AtmError):
        mail.inboxes.append("crew", "ann", [make_message("id-1")], fresh=True)
    with pytest.raises(AtmError):
        mail.inboxes.rows("crew", "ann")
    assert disk.open == {}


def next_number() -> int:
    """Of the next file that is opened: the lowest that is free."""
    fd = os.open(os.devnull, os.O_RDONLY)
    os.close(fd)
    return fd


def open_a_folder(path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        RealDisk().open_read(str(path))


def open_a_pipe(path: Path) -> None:
    os.mkfifo(path / "pipe")
    with pytest.raises(OSError, match="not a file"):
        RealDisk().open_read(str(path / "pipe"))


def lock_what_is_held(path: Path) -> None:
    held = RealDisk().lock(str(path / "lock"))
    assert held is not None
    assert RealDisk().lock(str(path / "lock")) is None
    os.close(held)


@pytest.mark.parametrize(
    "act", [open_a_folder, open_a_pipe, lock_what_is_held, lambda path: RealDisk().sync_folder(str(path))]
)
def test_what_the_disk_opens_and_does_not_give_away_it_closes(tmp_path, act):
    first = next_number()
    act(tmp_path)
    assert next_number() == first


def test_a_file_that_was_made_durable_has_reached_the_system(tmp_path, monkeypatch):
    asked: list[int] = []
    monkeypatch.setattr(os, "fsync", asked.append)
    fd = RealDisk().create(str(tmp_path / "new"))
    RealDisk().sync(fd)
    RealDisk().close(fd)
    assert asked == [fd]
    RealDisk().sync_folder(str(tmp_path))
    assert len(asked) == 2
