"""Files that nobody else writes: what is durable when a write returns, and in which order it became so."""

from __future__ import annotations

import errno

import pytest

from atm.files.adapters.disk import RealDisk
from atm.files.adapters.whole_files import write_new, write_over
from atm.testing import FaultyDisk


@pytest.fixture
def disk() -> FaultyDisk:
    """Remembers its steps."""
    return FaultyDisk(RealDisk())


def order(disk: FaultyDisk, *names: str) -> list[str]:
    return [step for step in disk.steps if step in names]


def test_a_file_is_durable_before_it_takes_its_place_and_its_name_afterwards(disk, tmp_path):
    (tmp_path / "state.json").write_text("old")
    write_over(disk, str(tmp_path / "state.json"), b"new")
    assert order(disk, "write", "sync", "rename", "sync_folder") == ["write", "sync", "rename", "sync_folder"]
    assert (tmp_path / "state.json").read_bytes() == b"new"


def test_what_can_be_made_anew_does_not_wait_for_the_platter(disk, tmp_path):
    write_over(disk, str(tmp_path / "cache"), b"new", durable=False)
    assert order(disk, "sync", "rename", "sync_folder") == ["rename"]


def test_a_new_file_is_durable_under_its_name(disk, tmp_path):
    write_new(disk, str(tmp_path / "entry"), b"new")
    assert order(disk, "write", "sync", "link", "sync_folder") == ["write", "sync", "link", "sync_folder"]


def test_names_of_many_new_files_are_made_durable_by_whoever_asks_for_that(disk, tmp_path):
    write_new(disk, str(tmp_path / "entry"), b"new", sync_name=False)
    assert order(disk, "sync", "link", "sync_folder") == ["sync", "link"]


def test_a_name_that_is_taken_is_not_written_over_and_nothing_is_left(disk, tmp_path):
    (tmp_path / "entry").write_text("theirs")
    with pytest.raises(FileExistsError):
        write_new(disk, str(tmp_path / "entry"), b"ours")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("entry", "theirs")]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["write", "sync"])
def test_a_version_that_could_not_be_finished_leaves_the_old_one_and_nothing_beside_it(tmp_path, step, error):
    (tmp_path / "state.json").write_text("old")

    def refuse(*_: object) -> None:
        raise error

    disk = RealDisk()
    full = type("Full", (RealDisk,), {step: refuse})()
    with pytest.raises((OSError, KeyboardInterrupt)):
        write_over(full, str(tmp_path / "state.json"), b"new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("state.json", "old")]
    write_over(disk, str(tmp_path / "state.json"), b"new")
    assert (tmp_path / "state.json").read_bytes() == b"new"
