"""
What each refusal of the system becomes: which error, in which words, and whether a message waits in the spool for it.

The crash tests let the disk refuse at every step, with the ways of refusing in turn (`tests/chaos.py`). That is enough
because the way makes a difference only where this table says so.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atm.core.errors import AtmError, NoSuchTeam, WriteRefused
from atm.files.adapters.disk import sync_folder
from atm.files.adapters.refusals import explained, in_team, refused
from atm.files.formats.file_stamp import FileStamp
from atm.files.formats.layout import Layout
from atm.mail.services.posting import QUEUED_WARNING, Draft, Posted
from atm.mail.services.sending import send
from atm.mail.services.spooling import drain
from atm.roster.services.members import add_member, create_team
from atm.team.rules.team import Member
from atm.testing import FakeClock, QuickDisk
from atm.wiring.mail import build_room

FULL = ["ENOSPC", "EDQUOT", "EFBIG"]
FORBIDDEN = ["EACCES", "EPERM", "EROFS"]
BROKEN = ["EIO", "ESTALE", "ENXIO", "ETIMEDOUT"]
BUSY = ["EBUSY", "ETXTBSY", "EAGAIN", "EINTR", "EMFILE", "ENFILE", "ENOMEM"]
ODD = ["EINVAL", "ELOOP", "ENAMETOOLONG", "EISDIR", "EXDEV"]
SAID_NO = [way for way in (*FULL, *FORBIDDEN, *BROKEN, *BUSY, *ODD) if hasattr(errno, way)]  # Windows lacks some
GONE = ["ENOENT", "ENOTDIR"]

PATH = "/home/ann/.claude/teams/crew/inboxes/bob.json"


def an_error(way: str, *named: str) -> OSError:
    number = getattr(errno, way)
    return OSError(number, os.strerror(number), *named)


def what_comes_of(error: BaseException, around: Callable[[str], Any]) -> BaseException:
    with pytest.raises(BaseException) as caught, around(PATH):
        raise error
    return caught.value


# The words.


@pytest.mark.parametrize("around", [explained, in_team])
@pytest.mark.parametrize("way", SAID_NO)
def test_a_no_of_the_system_is_told_in_its_own_words_with_the_file_and_the_next_step(way, around):
    found = what_comes_of(an_error(way), around)
    assert type(found) is WriteRefused
    assert found.code == "write-refused"
    assert str(found) == f"{PATH}: {os.strerror(getattr(errno, way))}"
    assert found.remedy == "check permissions and free space, then try again"
    assert found.path == PATH
    assert isinstance(found.__cause__, OSError)


@pytest.mark.parametrize("way", GONE)
def test_what_is_gone_in_a_teams_folder_is_a_team_that_ended(way):
    found = what_comes_of(an_error(way), in_team)
    assert type(found) is NoSuchTeam
    assert found.code == "no-such-team"
    assert str(found) == f"the folder of {PATH} is gone"
    assert found.remedy == "the team may have ended; see `atm teams`"
    assert found.path == PATH


@pytest.mark.parametrize("way", GONE)
def test_what_is_gone_elsewhere_is_a_no_like_any_other(way):
    assert type(what_comes_of(an_error(way), explained)) is WriteRefused


def test_the_file_that_the_system_names_is_named_and_the_one_that_was_asked_for_stays_known():
    found = refused(PATH, an_error("EACCES", "/home/ann/.claude"))
    assert str(found) == "/home/ann/.claude: Permission denied"
    assert found.path == PATH


def test_a_file_that_is_named_by_its_number_or_in_bytes_is_none_that_a_person_knows():
    for named in (b"/home/ann", 7):
        assert str(refused(PATH, OSError(errno.EIO, "Input/output error", named))) == f"{PATH}: Input/output error"


def test_an_error_without_a_number_is_told_as_it_is():
    assert str(refused(PATH, OSError("the cable was pulled"))) == f"{PATH}: the cable was pulled"


@pytest.mark.parametrize("around", [explained, in_team])
@pytest.mark.parametrize("error", [ValueError("no"), NoSuchTeam("no"), KeyboardInterrupt()])
def test_what_is_not_a_no_of_the_system_passes_unchanged(error, around):
    assert what_comes_of(error, around) is error


# What becomes of a message.


WRITING = ("create", "open_append", "exchange", "rename", "link", "make_folders")


class Refusing:
    """A disk that says no to whatever would write under some folders, as long as it has an error to say it with."""

    def __init__(self, *folders: str) -> None:
        self._disk = QuickDisk()
        self._folders = folders
        self.error: OSError | None = None
        self.may_stay_open = self._disk.may_stay_open

    def __getattr__(self, name: str) -> Any:  # Any: one wrapper for every step of the port
        real = getattr(self._disk, name)

        def step(*args: Any, **options: Any) -> Any:
            is_refused = name in WRITING and any(folder in args[0] for folder in self._folders)
            if is_refused and self.error is not None:
                raise self.error
            return real(*args, **options)

        return step


INBOXES, SPOOL, LEDGER = "/inboxes", "/spool", "/mailbox.log"


class Office:
    """A team of ann and bob on such a disk, in which time passes only for those who wait."""

    def __init__(self, layout: Layout, *folders: str) -> None:
        self.disk = Refusing(*folders)
        self.room = build_room(layout, disk=self.disk, clock=FakeClock(time.time()))
        create_team(self.room, "crew")
        for name in ("ann", "bob"):
            add_member(self.room, "crew", Member(name))

    def send(self, way: str) -> Posted:
        self.disk.error = an_error(way)
        try:
            return send(self.room, "crew", "bob", Draft(sender="ann", text="hello"))
        finally:
            self.disk.error = None

    @property
    def arrived(self) -> list[str | None]:
        return [row.id for row in self.room.inboxes.rows("crew", "bob")]

    @property
    def waiting(self) -> list[str]:
        return [spooled.path for spooled in self.room.spool.pending()]


@pytest.mark.parametrize("way", SAID_NO)
def test_a_message_whose_inbox_says_no_waits_in_the_spool_with_the_reason_and_arrives_later(layout, way):
    office = Office(layout, INBOXES)
    sent = office.send(way)
    assert (sent.outcome, sent.error) == ("queued", None)
    assert sent.warnings[0] == QUEUED_WARNING
    assert sent.warnings[1].endswith(f": {os.strerror(getattr(errno, way))}")
    assert (office.arrived, office.waiting) == ([], [sent.spool_path])
    drain(office.room, everything=True)
    assert (office.arrived, office.waiting) == ([sent.message_id], [])


@pytest.mark.parametrize("way", SAID_NO)
def test_a_message_that_nothing_takes_is_an_error_that_says_so_and_lies_nowhere(layout, way):
    office = Office(layout, INBOXES, SPOOL)
    with pytest.raises(WriteRefused) as caught:
        office.send(way)
    assert str(caught.value).startswith("not sent: neither the inbox nor the spool can be written (")
    assert str(caught.value).endswith(f": {os.strerror(getattr(errno, way))})")
    assert caught.value.remedy == "check permissions and free space, then send it again"
    assert (office.arrived, office.waiting) == ([], [])


@pytest.mark.parametrize("way", SAID_NO)
def test_a_message_that_only_the_ledger_does_not_take_is_sent_and_says_what_it_lacks(layout, way):
    office = Office(layout, LEDGER)
    sent = office.send(way)
    assert (sent.outcome, sent.seq) == ("success", None)
    assert sent.warnings[0].startswith("the ledger could not be written, so this message has no seq: ")
    assert sent.warnings[0].endswith(os.strerror(getattr(errno, way)))
    assert (office.arrived, office.waiting) == ([sent.message_id], [])


@pytest.mark.parametrize("way", GONE)
def test_a_message_to_a_team_that_is_gone_by_now_waits_for_nobody(layout, way):
    office = Office(layout, INBOXES)
    with pytest.raises(NoSuchTeam):
        office.send(way)
    assert (office.arrived, office.waiting) == ([], [])


# Where the way makes a difference.


class Shut(QuickDisk):
    """A team's folder cannot be looked into."""

    __slots__ = ("error",)

    def __init__(self, error: OSError) -> None:
        self.error = error

    def look(self, path: str) -> FileStamp | None:
        if "/teams/shut/" in path:
            raise self.error
        return super().look(path)


@pytest.mark.parametrize("way", ["EACCES", "EPERM"])
def test_a_folder_that_we_may_not_look_into_may_be_a_team_and_the_others_are_found(layout, way):
    Office(layout)
    Path(layout.team("shut")).mkdir()
    assert build_room(layout, disk=Shut(an_error(way))).rosters.teams() == ["crew", "shut"]


@pytest.mark.parametrize("way", ["EIO", "ESTALE"])
def test_a_disk_that_is_broken_is_not_taken_for_a_folder_that_is_shut(layout, way):
    Office(layout)
    Path(layout.team("shut")).mkdir()
    with pytest.raises((OSError, AtmError)):
        build_room(layout, disk=Shut(an_error(way))).rosters.teams()


@pytest.mark.parametrize("way", ["EINVAL", "ENOTSUP", "EBADF"])
def test_a_file_system_that_cannot_make_a_folder_durable_is_believed(tmp_path, monkeypatch, way):
    asked: list[int] = []

    def refuse(fd: int) -> None:
        asked.append(fd)
        raise an_error(way)

    monkeypatch.setattr(os, "fsync", refuse)
    sync_folder(str(tmp_path))
    assert len(asked) == 1


@pytest.mark.parametrize("way", ["EIO", "ENOSPC", "EDQUOT", "EROFS", "EACCES"])
def test_a_folder_that_could_not_be_made_durable_is_no_success(tmp_path, monkeypatch, way):
    monkeypatch.setattr(os, "fsync", _raiser(an_error(way)))
    with pytest.raises(OSError, match=os.strerror(getattr(errno, way))):
        sync_folder(str(tmp_path))


def _raiser(error: OSError) -> Callable[[int], None]:
    def fsync(fd: int) -> None:
        raise error

    return fsync
