"""What differs between systems, each forced here: no exchange, no flock, no fsync of folders, no copy in the kernel."""

from __future__ import annotations

import builtins
import errno
import os
import sys
import types

import pytest

from atm.services.mail import Letter, send
from atm.system.files import disk as disk_module
from atm.system.files import exchange, flock, folder_sync
from atm.system.files.disk import RealDisk


@pytest.fixture
def two_files(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    other.write_text("2")
    return one, other


def test_two_files_are_exchanged_in_one_step(two_files):
    one, other = two_files
    if not exchange.swap(str(one), str(other)):
        pytest.skip("this file system cannot exchange files")
    assert (one.read_text(), other.read_text()) == ("2", "1")


def test_exchanging_with_nothing_is_an_error(tmp_path, two_files):
    with pytest.raises(FileNotFoundError):
        exchange.swap(str(two_files[0]), str(tmp_path / "nothing"))


@pytest.mark.parametrize("failure", [errno.ENOSYS, errno.EINVAL, errno.ENOTSUP])
def test_a_file_system_that_cannot_exchange_says_so(monkeypatch, two_files, failure):
    monkeypatch.setattr(exchange, "_system_swap", lambda *_: failure)
    assert exchange.swap(*map(str, two_files)) is False
    assert two_files[0].read_text() == "1"


def test_windows_has_no_exchange(monkeypatch, two_files):
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(exchange, "_system_swap", None)
    assert exchange.swap(*map(str, two_files)) is False


def test_a_library_without_the_call_means_no_exchange(monkeypatch, two_files):
    import ctypes

    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: types.SimpleNamespace())
    for platform in ("linux", "darwin"):
        monkeypatch.setattr(sys, "platform", platform)
        monkeypatch.setattr(exchange, "_system_swap", None)
        assert exchange.swap(*map(str, two_files)) is False


def test_mail_works_without_exchange(monkeypatch, room):
    monkeypatch.setattr(exchange, "_system_swap", lambda *_: errno.ENOSYS)
    assert send(room, "crew", "ann", Letter(sender="bob", text="hello")).outcome == "success"
    assert [row.text for row in room.inboxes.rows("crew", "ann")] == ["hello"]


def test_without_fcntl_the_lock_of_windows_is_used(monkeypatch, tmp_path):
    held: set[tuple[int, int]] = set()

    def locking(fd, mode, size):
        key = (os.fstat(fd).st_ino, os.lseek(fd, 0, os.SEEK_CUR))
        if key in held:
            raise OSError(errno.EACCES, "locked")
        held.add(key)

    monkeypatch.setitem(sys.modules, "msvcrt", types.SimpleNamespace(locking=locking, LK_NBLCK=2))
    real = builtins.__import__

    def without_fcntl(name, *args, **options):
        if name == "fcntl":
            raise ImportError(name)
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without_fcntl)
    path = str(tmp_path / "lock")
    first, second = os.open(path, os.O_RDWR | os.O_CREAT), os.open(path, os.O_RDWR | os.O_CREAT)
    assert flock.try_lock(first) is True
    assert flock.try_lock(second) is False
    assert os.lseek(first, 0, os.SEEK_CUR) == 0


def test_a_flock_is_free_again_when_its_holder_is_gone(tmp_path):
    path = str(tmp_path / "lock")
    first = os.open(path, os.O_RDWR | os.O_CREAT)
    second = os.open(path, os.O_RDWR | os.O_CREAT)
    assert flock.try_lock(first)
    assert not flock.try_lock(second)
    os.close(first)
    assert flock.try_lock(second)


def test_where_folders_cannot_be_synced_nothing_fails(monkeypatch, tmp_path):
    def refuse(fd):
        raise OSError(errno.EINVAL, "not here")

    monkeypatch.setattr(os, "fsync", refuse)
    folder_sync.sync_folder(str(tmp_path))


def test_a_real_error_of_a_folder_sync_is_not_hidden(monkeypatch, tmp_path):
    def refuse(fd):
        raise OSError(errno.EIO, "broken disk")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="broken disk"):
        folder_sync.sync_folder(str(tmp_path))


def test_windows_syncs_no_folders(monkeypatch):
    monkeypatch.setattr(os, "name", "nt")
    folder_sync.sync_folder("/does/not/exist")


@pytest.mark.parametrize("kernel", ["works", "missing", "refuses", "stops half-way"])
def test_copies_are_whole_whatever_the_kernel_can(monkeypatch, tmp_path, kernel):
    data = os.urandom(3_000_000)
    (tmp_path / "source").write_bytes(data)
    if kernel == "missing":
        monkeypatch.delattr(os, "copy_file_range", raising=False)
    elif kernel == "refuses":
        monkeypatch.setattr(os, "copy_file_range", _raise_xdev, raising=False)
    elif kernel == "stops half-way" and hasattr(os, "copy_file_range"):
        monkeypatch.setattr(os, "copy_file_range", _once(os.copy_file_range))
    disk = RealDisk()
    source = disk.open_read(str(tmp_path / "source"))
    target = disk.create(str(tmp_path / "target"))
    disk.copy(source, target, len(data) - 7)
    disk.write(target, b"end")
    assert (tmp_path / "target").read_bytes() == data[:-7] + b"end"
    assert disk_module._CHUNK > 0


def _raise_xdev(*_):
    raise OSError(errno.EXDEV, "another device")


def _once(real):
    calls = []

    def copy(source, target, count, offset):
        calls.append(count)
        return real(source, target, min(count, 1000), offset) if len(calls) == 1 else 0

    return copy


def test_copying_more_than_there_is_is_noticed(tmp_path):
    (tmp_path / "source").write_bytes(b"short")
    disk = RealDisk()
    with pytest.raises(EOFError):
        disk.copy(disk.open_read(str(tmp_path / "source")), disk.create(str(tmp_path / "target")), 100)
