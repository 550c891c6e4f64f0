"""What differs between systems, each forced here: no exchange, no flock, no fsync of folders, no copy in the kernel."""

from __future__ import annotations

import builtins
import errno
import os
import sys
import types

import pytest
from tests.proving import proves

from atm.files.adapters import disk, exchange
from atm.files.adapters import disk as disk_module
from atm.files.adapters import disk as folder_sync
from atm.files.adapters.disk import RealDisk
from atm.mail.services.posting import Draft
from atm.mail.services.sending import send


@pytest.fixture
def two_files(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("1")
    other.write_text("2")
    return one, other


@proves(
    "R001-1-10",
    "R001-3.2-20",
    "R001-3.2-22",
    "R001-3.2-34",
    "R001-8.1-01",
    "R001-8.1-02",
    "R001-8.3-03",
    "R001-8.5-04",
    "R001-10-04",
)
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


@proves("R001-8.5-05")
def test_windows_has_no_exchange(monkeypatch, two_files):
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(exchange, "_system_swap", None)
    assert exchange.swap(*map(str, two_files)) is False


@pytest.mark.parametrize("missing", ["call_function", "dlsym", "dlopen"])
def test_without_the_quick_way_the_other_one_is_taken(monkeypatch, tmp_path, two_files, missing):
    import _ctypes

    monkeypatch.delattr(_ctypes, missing)
    monkeypatch.setattr(exchange, "_system_swap", None)
    if not exchange.swap(*map(str, two_files)):
        pytest.skip("this file system cannot exchange files")
    assert [path.read_text() for path in two_files] == ["2", "1"]
    with pytest.raises(FileNotFoundError):
        exchange.swap(str(two_files[0]), str(tmp_path / "nothing"))


def test_a_python_without_ctypes_means_no_exchange(monkeypatch, two_files):
    for name in ("ctypes", "_ctypes"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it fails
    monkeypatch.setattr(exchange, "_system_swap", None)
    assert exchange.swap(*map(str, two_files)) is False


def test_a_library_without_the_call_means_no_exchange(monkeypatch, two_files):
    import _ctypes
    import ctypes

    def dlsym(*_: object) -> int:
        raise OSError("undefined symbol")

    monkeypatch.setattr(_ctypes, "dlsym", dlsym)
    monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: types.SimpleNamespace())
    for platform in ("linux", "darwin"):
        monkeypatch.setattr(sys, "platform", platform)
        monkeypatch.setattr(exchange, "_system_swap", None)
        assert exchange.swap(*map(str, two_files)) is False


@proves("R001-8.5-05")
def test_mail_works_without_exchange(monkeypatch, room):
    monkeypatch.setattr(exchange, "_system_swap", lambda *_: errno.ENOSYS)
    assert send(room, "crew", "ann", Draft(sender="bob", text="hello")).outcome == "success"
    assert [row.text for row in room.inboxes.rows("crew", "ann")] == ["hello"]


@proves("R001-8.5-05")
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
    assert disk.try_lock(first) is True
    assert disk.try_lock(second) is False
    assert os.lseek(first, 0, os.SEEK_CUR) == 0


@proves("R000-lock-19", "R000-lock-21", "R001-3.2-09")
def test_a_flock_is_free_again_when_its_holder_is_gone(tmp_path):
    path = str(tmp_path / "lock")
    first = os.open(path, os.O_RDWR | os.O_CREAT)
    second = os.open(path, os.O_RDWR | os.O_CREAT)
    assert disk.try_lock(first)
    assert not disk.try_lock(second)
    os.close(first)
    assert disk.try_lock(second)


def test_where_folders_cannot_be_synced_nothing_fails(monkeypatch, tmp_path):
    asked = []

    def refuse(fd):
        asked.append(fd)
        raise OSError(errno.EINVAL, "not here")

    monkeypatch.setattr(os, "fsync", refuse)
    folder_sync.sync_folder(str(tmp_path))
    assert len(asked) == 1


def test_a_real_error_of_a_folder_sync_is_not_hidden(monkeypatch, tmp_path):
    def refuse(fd):
        raise OSError(errno.EIO, "broken disk")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="broken disk"):
        folder_sync.sync_folder(str(tmp_path))


def test_windows_syncs_no_folders(monkeypatch, tmp_path):
    asked: list[int] = []
    monkeypatch.setattr(os, "fsync", asked.append)
    folder_sync.sync_folder(str(tmp_path))
    with monkeypatch.context() as windows:
        windows.setattr(os, "name", "nt")
        folder_sync.sync_folder(str(tmp_path))
    assert len(asked) == 1


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


class WindowsFiles(RealDisk):
    """Refuses what Windows refuses: renaming or removing a file that somebody has open."""

    def __init__(self) -> None:
        super().__init__()
        self.may_stay_open = False
        self._opened: dict[int, str] = {}

    def open_read(self, path: str) -> int:
        fd = super().open_read(path)
        self._opened[fd] = path
        return fd

    def close(self, fd: int) -> None:
        self._opened.pop(fd, None)
        super().close(fd)

    def _check(self, path: str) -> None:
        if path in self._opened.values():
            raise PermissionError(errno.EACCES, "in use", path)

    def exchange(self, *_: str) -> bool:
        return False

    def rename(self, source: str, target: str) -> None:
        self._check(source)
        self._check(target)
        super().rename(source, target)

    def remove(self, path: str) -> None:
        self._check(path)
        super().remove(path)


def test_mail_works_where_open_files_cannot_be_renamed_or_removed(room, home):
    from atm.mail.services.reading import Filter, take
    from atm.wiring.files import find_layout
    from atm.wiring.mail import build_room

    there = build_room(find_layout({"ATM_HOME": str(home)}), disk=WindowsFiles())
    for number in range(60):  # more than is read at once
        assert send(there, "crew", "ann", Draft(sender="bob", text=f"{number} " + "x" * 4000)).outcome == "success"
    assert len(take(there, "crew", "ann", Filter()).messages) == 60


def test_a_process_on_windows_is_asked_through_a_handle(monkeypatch):
    import ctypes

    from atm.files.adapters import processes as liveness

    class Kernel:
        def __init__(self, handle: int, code: int = 259, error: int = 0) -> None:
            self.handle, self.code, self.error = handle, code, error

        def OpenProcess(self, *_):
            return self.handle

        def GetLastError(self):
            return self.error

        def GetExitCodeProcess(self, _, reference):
            reference._obj.value = self.code

        def CloseHandle(self, _):
            return None

    monkeypatch.setattr(os, "name", "nt")
    for kernel, alive in (
        (Kernel(1), True),
        (Kernel(1, code=0), False),
        (Kernel(0, error=5), True),
        (Kernel(0), False),
    ):
        monkeypatch.setattr(ctypes, "windll", types.SimpleNamespace(kernel32=kernel), raising=False)
        assert liveness.process_is_alive(1234) is alive


def test_a_read_that_the_system_cuts_short_goes_on(tmp_path, monkeypatch):
    path, whole = tmp_path / "file", bytes(range(100))
    path.write_bytes(b"before" + whole)
    read = os.read
    monkeypatch.setattr(os, "read", lambda fd, size: read(fd, min(size, 30)))
    fd = RealDisk().open_read(str(path))
    try:
        assert RealDisk().read_at(fd, 6, 100) == whole
        assert RealDisk().read_at(fd, 6, 1000) == whole, "and ends where the file does"
    finally:
        os.close(fd)


def test_where_nobody_can_be_asked_who_writes_nobody_is_waited_for(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"{}")
    fcntl = pytest.importorskip("fcntl")
    with open(path, "rb") as file, open(path, "ab"):
        monkeypatch.delattr(fcntl, "F_SETLEASE", raising=False)
        assert not disk._has_writer(file.fileno())
