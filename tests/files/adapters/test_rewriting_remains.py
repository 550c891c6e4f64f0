"""
What a killed writer leaves beside a file that is not a list, and what the next writer makes of it.

The version that it displaced may be all there is of another program's change. But once somebody has written a newer
one, the old one must not come back.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from atm.board.adapters.task_rule import TaskRule
from atm.board.formats.task import decode_task
from atm.files.adapters.disk import RealDisk
from atm.files.adapters.locking import Locks
from atm.files.adapters.machine import RealChance, RealClock
from atm.files.adapters.shared_edit import EditWhole, edit_shared
from atm.testing import Crash, FaultyDisk, QuickDisk

BEFORE, THEIRS, NEWER = (b'{"id": "7", "subject": "%s"}' % word for word in (b"before", b"theirs", b"newer"))


class Meddled(QuickDisk):
    """Another program writes right before our new version is put in place."""

    def __init__(self, meddle: Callable[[], None] | None) -> None:
        super().__init__()
        self._meddle = meddle

    def exchange(self, one: str, other: str) -> bool:
        if self._meddle:
            self._meddle()
        return super().exchange(one, other)


class Site:
    """One shared file in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "tasks"
        self.folder.mkdir()
        self.path = self.folder / "7.json"
        self.path.write_bytes(BEFORE)
        self._locks = str(folder / "locks")

    def write(self, data: bytes) -> None:
        """As another program does: a new file in the place of the old one."""
        other = self.folder / "theirs"
        other.write_bytes(data)
        os.replace(other, self.path)

    def edit(self, change: Callable[[bytes], bytes], disk: RealDisk | FaultyDisk | None = None) -> int:
        # The host is nobody's: no process on it can be asked whether it lives.
        locks = Locks(disk or QuickDisk(), RealClock(), RealChance(), self._locks, pid=os.getpid(), host="here")
        return edit_shared(locks, str(self.path), EditWhole(change), lambda _: "aside")

    def be_killed_after_the_exchange(self, meddle: Callable[[], None] | None = None) -> None:
        whole = FaultyDisk(QuickDisk())
        self.edit(shouting, whole)
        self.path.write_bytes(BEFORE)
        with pytest.raises(Crash):
            self.edit(shouting, FaultyDisk(Meddled(meddle), stop_at=whole.steps.index("exchange") + 1))

    @property
    def subject(self) -> str:
        return decode_task(self.path.read_bytes(), 7).subject

    def names(self) -> list[str]:
        return sorted(os.listdir(self.folder))


def shouting(data: bytes) -> bytes:
    return data.upper().replace(b"ID", b"id").replace(b"SUBJECT", b"subject")


def marked(data: bytes) -> bytes:
    return data.replace(b'"}', b'!"}')


@pytest.fixture
def around(tmp_path) -> Site:
    return Site(tmp_path)


def test_without_another_program_the_version_that_was_placed_stays(around):
    around.be_killed_after_the_exchange()
    assert around.edit(marked) == 0
    assert (around.subject, around.names()) == ("BEFORE!", ["7.json"])


def test_what_a_killed_writer_displaced_comes_back_in_the_place_of_its_own(around):
    around.be_killed_after_the_exchange(lambda: around.write(THEIRS))
    assert around.subject == "BEFORE"
    assert around.edit(marked) == 1
    assert (around.subject, around.names()) == ("theirs!", ["7.json"])


def test_what_a_killed_writer_displaced_stays_away_once_somebody_wrote_a_newer_version(around):
    around.be_killed_after_the_exchange(lambda: around.write(THEIRS))
    around.write(NEWER)
    assert around.edit(marked) == 0
    assert (around.subject, around.names()) == ("newer!", ["7.json"])


def test_a_file_that_was_deleted_since_does_not_come_back(around):
    around.be_killed_after_the_exchange(lambda: around.write(THEIRS))
    around.path.unlink()
    with pytest.raises(FileNotFoundError):
        around.edit(marked)
    assert not around.path.exists()


def test_what_was_displaced_comes_back_also_if_the_next_rule_changes_nothing(around):
    around.be_killed_after_the_exchange(lambda: around.write(THEIRS))
    around.edit(TaskRule(7, lambda _: None))
    assert (around.subject, around.names()) == ("theirs", ["7.json"])
