"""
Folders of ours are for us alone whatever the umask, parents included; shared ones are no wider than Claude Code's.

One suite for the real disk and for what stands in for it in tests.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from atm.core.errors import WriteRefused
from atm.daemon.adapters.seat import take_seat
from atm.files.adapters.archive import ArchiveFolder
from atm.files.adapters.disk import RealDisk, make_private, make_shared, open_private, open_shared
from atm.files.adapters.machine import RealClock, find_layout
from atm.files.ports.disk import Disk
from atm.testing import FaultyDisk, QuickDisk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes say nothing there")

UMASKS = [0o000, 0o002, 0o022, 0o077]
STRANGER = 65534

needs_root = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root gives folders away")


def mode(path: Path) -> int:
    return path.lstat().st_mode & 0o7777


@pytest.fixture
def umask() -> Iterator[Callable[[int], int]]:
    """Another umask until the test ends."""
    former = os.umask(0o022)
    yield os.umask
    os.umask(former)


DISKS: dict[str, Callable[[], Any]] = {
    "real": RealDisk,
    "quick": QuickDisk,
    "faulty": lambda: FaultyDisk(RealDisk()),
}


@pytest.fixture(params=DISKS)
def disk(request) -> Disk:
    made: Disk = DISKS[request.param]()
    return made


@pytest.mark.parametrize("mask", UMASKS, ids=oct)
def test_a_private_folder_and_all_its_missing_parents_are_for_us_alone(disk, tmp_path, umask, mask):
    umask(mask)
    disk.make_folders(str(tmp_path / "a/b/c"), private=True)
    assert [mode(tmp_path / part) for part in ("a", "a/b", "a/b/c")] == [0o700] * 3


@pytest.mark.parametrize("mask", UMASKS, ids=oct)
def test_a_shared_folder_and_its_parents_are_as_the_umask_has_it_and_no_other_user_may_write_there(
    disk, tmp_path, umask, mask
):
    umask(mask)
    disk.make_folders(str(tmp_path / "a/b/c"))
    assert [mode(tmp_path / part) for part in ("a", "a/b", "a/b/c")] == [0o755 & ~mask] * 3


@pytest.mark.parametrize("mask", UMASKS, ids=oct)
def test_a_single_folder_has_the_same_modes_and_must_be_new(disk, tmp_path, umask, mask):
    umask(mask)
    disk.make_folder(str(tmp_path / "ours"), private=True)
    disk.make_folder(str(tmp_path / "lock"))
    assert (mode(tmp_path / "ours"), mode(tmp_path / "lock")) == (0o700, 0o755 & ~mask)
    for private in (True, False):
        with pytest.raises(FileExistsError):
            disk.make_folder(str(tmp_path / "ours"), private=private)
        with pytest.raises(FileNotFoundError):
            disk.make_folder(str(tmp_path / "none/ours"), private=private)


@pytest.mark.parametrize("mask", UMASKS, ids=oct)
def test_files_of_ours_are_for_us_alone_and_shared_ones_are_written_by_us_alone(disk, tmp_path, umask, mask):
    umask(mask)
    for name, made in [
        ("new", disk.create(str(tmp_path / "new"))),
        ("log", disk.open_append(str(tmp_path / "log"))),
        ("lock", disk.lock(str(tmp_path / "lock"))),
        ("opened", open_private(str(tmp_path / "opened"), os.O_WRONLY | os.O_CREAT)),
    ]:
        assert made is not None
        os.close(made)
        assert mode(tmp_path / name) == 0o600, name
    os.close(open_shared(str(tmp_path / "unit"), os.O_WRONLY | os.O_CREAT))
    assert mode(tmp_path / "unit") == 0o644 & ~mask


def test_what_is_there_already_is_left_as_it_is(disk, tmp_path):
    (tmp_path / "there/ours").mkdir(parents=True)
    for path in (tmp_path / "there", tmp_path / "there/ours"):
        path.chmod(0o750)
    for _ in range(2):
        disk.make_folders(str(tmp_path / "there/ours"), private=True)
        disk.make_folders(str(tmp_path / "there/ours/new"), private=True)
    assert [mode(tmp_path / part) for part in ("there", "there/ours", "there/ours/new")] == [0o750, 0o750, 0o700]


def put_a_file(place: Path) -> None:
    place.write_text("")


def put_a_link_to_nowhere(place: Path) -> None:
    place.symlink_to("nowhere")


def put_a_link_to_a_folder(place: Path) -> None:
    (place.parent / "elsewhere").mkdir()
    place.symlink_to("elsewhere")


@pytest.mark.parametrize("below", ["", "/x", "/x/y"])
@pytest.mark.parametrize("put", [put_a_file, put_a_link_to_nowhere, put_a_link_to_a_folder])
@pytest.mark.parametrize("make", [make_private, make_shared])
def test_what_stands_in_the_way_is_met_as_os_makedirs_meets_it(tmp_path, make, put, below):
    """Callers know these errors: that something is there already is "no" for one of them, not a failure."""

    def outcome(name: str, make: Callable[[str], None]) -> object:
        (tmp_path / name).mkdir()
        put(tmp_path / name / "a")
        try:
            make(f"{tmp_path}/{name}/a{below}")
        except OSError as error:
            return type(error), error.errno, str(error.filename).removeprefix(f"{tmp_path}/{name}")
        return sorted(str(path.relative_to(tmp_path / name)) for path in (tmp_path / name).rglob("*"))

    assert outcome("ours", make) == outcome("theirs", lambda path: os.makedirs(path, exist_ok=True))


def test_a_disk_that_is_read_only_says_so_only_if_the_folder_is_not_there(tmp_path, monkeypatch):
    def read_only(path: str, mode: int) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)

    (tmp_path / "there").mkdir()
    monkeypatch.setattr(os, "mkdir", read_only)
    make_private(str(tmp_path / "there"))
    with pytest.raises(OSError, match="Read-only"):
        make_private(str(tmp_path / "missing"))


def test_several_who_make_the_same_parents_at_once_all_succeed(tmp_path, umask):
    umask(0)
    deep = "/".join("abcdefgh")
    with ThreadPoolExecutor(8) as pool:
        for number in range(20):
            list(pool.map(make_private, [f"{tmp_path}/{number}/{deep}"] * 8))
    assert {mode(path) for path in tmp_path.rglob("*")} == {0o700}


# The folders that are ours.


def test_a_root_of_ours_that_is_open_is_closed_when_something_is_made_in_it(tmp_path):
    root, beside = tmp_path / "state/atm", tmp_path / "state/atmosphere"
    for path in (root / "teams", beside):
        path.mkdir(parents=True)
    for path in (tmp_path / "state", root, root / "teams", beside):
        path.chmod(0o755)
    disk = RealDisk((str(root), str(tmp_path / "config/atm")))
    disk.make_folders(str(beside / "x"), private=True)
    assert mode(root) == 0o755
    disk.make_folders(str(root / "teams/crew"), private=True)
    assert [mode(path) for path in (tmp_path / "state", root, root / "teams", beside)] == [0o755, 0o700, 0o755, 0o755]
    root.chmod(0o770)
    disk.make_folders(str(root), private=True)
    assert mode(root) == 0o700


def test_a_root_that_is_a_link_is_the_users_and_stays_as_it_is(tmp_path):
    (tmp_path / "dotfiles").mkdir(mode=0o755)
    (tmp_path / "atm").symlink_to("dotfiles")
    RealDisk((str(tmp_path / "atm"),)).make_folders(str(tmp_path / "atm/spool"), private=True)
    assert (mode(tmp_path / "dotfiles"), mode(tmp_path / "dotfiles/spool")) == (0o755, 0o700)


def test_a_file_system_without_modes_is_no_failure(tmp_path, monkeypatch):
    def refuse(path: str, mode: int) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM), path)

    monkeypatch.setattr(os, "chmod", refuse)
    (tmp_path / "atm").mkdir(mode=0o755)
    make_private(str(tmp_path / "atm/x"), (str(tmp_path / "atm"),))
    assert mode(tmp_path / "atm/x") == 0o700


@needs_root
def test_a_root_of_another_user_is_never_changed(tmp_path):
    (tmp_path / "atm").mkdir(mode=0o755)
    os.chown(tmp_path / "atm", STRANGER, -1)
    make_private(str(tmp_path / "atm/x"), (str(tmp_path / "atm"),))
    assert mode(tmp_path / "atm") == 0o755


# Folders that another user made for us.


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A place for everybody like /tmp, and in it a folder that another user made, in which we may write."""
    (tmp_path / "everybodys").mkdir()
    (tmp_path / "everybodys").chmod(0o1777)
    path = tmp_path / "everybodys/box"
    path.mkdir()
    path.chmod(0o777)
    os.chown(path, STRANGER, -1)
    return path


@needs_root
@pytest.mark.parametrize("below", ["", "/.config", "/.config/atm/spool/pending"])
def test_a_folder_that_another_user_made_first_where_everybody_may_is_not_used(trap, below):
    with pytest.raises(PermissionError) as caught:
        make_private(f"{trap}{below}")
    assert caught.value.filename == str(trap)
    assert list(trap.iterdir()) == []
    make_shared(f"{trap}{below}")  # what is shared is not ours to judge


@needs_root
def test_a_link_that_another_user_made_there_is_not_used_either(trap, tmp_path):
    (tmp_path / "ours").mkdir()
    link = trap.parent / "link"
    link.symlink_to(tmp_path / "ours")
    os.lchown(link, STRANGER, -1)
    with pytest.raises(OSError, match=r"another user|Permission denied"):  # the latter by kernels that look at links
        make_private(str(link / "x"))


@needs_root
def test_that_is_told_as_a_write_that_was_refused_and_nothing_is_written(trap):
    layout = find_layout({"ATM_HOME": str(trap)})
    archive = ArchiveFolder(RealDisk(layout.private_roots), RealClock(), layout)
    with pytest.raises(WriteRefused) as caught:
        archive.keep("crew", "ann", b"[]")
    assert str(caught.value) == f"{trap}: another user made this folder, so nothing of yours goes there"
    with pytest.raises(WriteRefused, match="another user made this folder"):
        take_seat(layout)
    assert list(trap.iterdir()) == []


@needs_root
def test_a_folder_that_another_user_makes_while_we_make_ours_is_not_used(tmp_path, monkeypatch):
    (tmp_path / "everybodys").mkdir()
    (tmp_path / "everybodys").chmod(0o1777)
    make = os.mkdir

    def slow(path: str, mode: int) -> None:
        if path.endswith("/box"):
            make(path, 0o777)
            os.chown(path, STRANGER, -1)
        make(path, mode)

    monkeypatch.setattr(os, "mkdir", slow)
    with pytest.raises(PermissionError, match="another user made this folder"):
        make_private(str(tmp_path / "everybodys/box/atm"))


@needs_root
def test_a_folder_of_another_user_elsewhere_is_used_as_before(tmp_path):
    """A home that an administrator made, a volume of a container: only its owner's parents could make it."""
    (tmp_path / "volume").mkdir()
    os.chown(tmp_path / "volume", STRANGER, -1)
    make_private(str(tmp_path / "volume/.config/atm"))
    assert mode(tmp_path / "volume/.config/atm") == 0o700


def test_a_folder_of_ours_where_everybody_may_make_some_is_used(tmp_path):
    (tmp_path / "everybodys").mkdir()
    (tmp_path / "everybodys").chmod(0o1777)
    for _ in range(2):
        make_private(str(tmp_path / "everybodys/box/.config/atm"))
    assert mode(tmp_path / "everybodys/box") == 0o700
