"""The archive: what is kept there is kept once, under a name of its own, and never written over."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from atm.core.errors import WriteRefused
from atm.files.adapters.archive import MOST_UNREADABLE, ArchiveFolder
from atm.files.adapters.disk import RealDisk
from atm.files.formats.layout import Layout
from atm.testing import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(1_800_000_000.0)


@pytest.fixture
def archive(layout, clock) -> ArchiveFolder:
    return ArchiveFolder(RealDisk(), clock, layout)


def kept(layout: Layout) -> list[Path]:
    return sorted(Path(layout.archive("crew", "ann")).iterdir())


def test_the_same_content_is_kept_once_however_often_we_meet_it(archive, clock, layout):
    path = archive.keep("crew", "ann", b"[1]")
    clock.pass_time(10)
    assert archive.keep("crew", "ann", b"[1]") == path
    assert [str(one) for one in kept(layout)] == [path]
    assert Path(path).read_bytes() == b"[1]"


def test_other_content_has_a_name_of_its_own_also_within_the_same_moment(archive, layout):
    paths = [archive.keep("crew", "ann", content) for content in (b"[1]", b"[2]")]
    assert [Path(path).read_bytes() for path in paths] == [b"[1]", b"[2]"]
    assert sorted(paths) == [str(one) for one in kept(layout)]


def test_what_was_removed_and_what_could_not_be_read_are_told_apart_though_they_say_the_same(archive, layout):
    removed = archive.keep("crew", "ann", b"[1]")
    unreadable = archive.put_aside("crew", "ann", b"[1]")
    assert Path(removed).name.startswith("archive-")
    assert Path(unreadable).name.startswith("unreadable-")
    assert len(kept(layout)) == 2


def test_of_what_could_not_be_read_the_newest_copies_are_kept(archive, clock, layout):
    removed = archive.keep("crew", "ann", b"[0]")
    for number in range(3 * MOST_UNREADABLE):
        clock.pass_time(1)
        archive.put_aside("crew", "ann", b"torn %d" % number)
    *copies, first = [path.read_bytes() for path in kept(layout)][::-1]
    assert copies == [b"torn %d" % number for number in reversed(range(2 * MOST_UNREADABLE, 3 * MOST_UNREADABLE))]
    assert first == Path(removed).read_bytes() == b"[0]"


def test_and_not_more_of_them_than_fit(archive, clock, layout, monkeypatch):
    monkeypatch.setattr("atm.files.adapters.archive.MOST_UNREADABLE_BYTES", 100)
    for size in (60, 30, 40, 200):
        clock.pass_time(1)
        archive.put_aside("crew", "ann", b"x" * size)
    assert [path.stat().st_size for path in kept(layout)] == [200]  # the newest is kept, however large
    clock.jump(-1000)  # a clock that was set back: the newest is the one that is written now
    archive.put_aside("crew", "ann", b"y" * 10)
    assert [path.stat().st_size for path in kept(layout)] == [10]


def test_an_archive_that_cannot_be_written_is_a_clear_refusal(layout, clock):
    class Full(RealDisk):
        __slots__ = ()

        def sync(self, fd: int) -> None:
            super().sync(fd)
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(WriteRefused):
        ArchiveFolder(Full(), clock, layout).keep("crew", "ann", b"[1]")
    assert kept(layout) == []
