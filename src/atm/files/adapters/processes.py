"""
Is a process alive, and what does it run under? And which start of the machine is this?

POSIX is asked with `kill(pid, 0)`. On Windows that would interrupt the process, so a handle is asked.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_boot: list[str] = []
"""Read once: it cannot change while this process lives."""

_QUERY = 0x1000  # PROCESS_QUERY_LIMITED_INFORMATION
_STILL_ACTIVE = 259
_ACCESS_DENIED = 5
_DEEPEST = 200
_PS_SECONDS = 2.0


def process_is_alive(pid: int) -> bool:
    """Does a process with this number run here? One that we may not ask does."""
    if pid <= 0:
        return False
    if os.name == "nt":
        return _is_alive_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError) as error:
        return isinstance(error, OSError)  # not permitted to ask: it is there; no such number can be: it is not
    return not _has_ended(pid)


def _has_ended(pid: int) -> bool:
    """It was killed, and nobody has asked after it yet: in a container without an init that can be for ever."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] == b"Z"
    except (OSError, IndexError):
        return False


def _is_alive_on_windows(pid: int) -> bool:
    import ctypes

    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined, unused-ignore]
    handle = kernel.OpenProcess(_QUERY, False, pid)
    if not handle:
        return bool(kernel.GetLastError() == _ACCESS_DENIED)
    code = ctypes.c_ulong()
    kernel.GetExitCodeProcess(handle, ctypes.byref(code))
    kernel.CloseHandle(handle)
    return code.value == _STILL_ACTIVE


def suspended_among(pids: Collection[int]) -> set[int]:
    """
    Which of these processes a signal has stopped, as Ctrl-Z does, until another one continues them. Empty where the
    system does not tell.
    """
    if os.path.isdir("/proc/self"):
        return {pid for pid in pids if pid > 0 and _is_stopped_in_proc(pid)}
    asked = [str(pid) for pid in pids if pid > 0]
    if os.name == "nt" or not asked:
        return set()
    pairs = [line.split() for line in _told_by_ps("pid=,state=", "-p", ",".join(asked)).splitlines()]
    return {int(pair[0]) for pair in pairs if len(pair) == 2 and pair[0].isdecimal() and pair[1].startswith("T")}


def _is_stopped_in_proc(pid: int) -> bool:
    """`T`: stopped by a signal. A process that a debugger holds is `t`."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] == b"T"
    except (OSError, IndexError):
        return False


def boot_id() -> str:
    """Another text after every start of the machine; empty where the system has none to offer."""
    if not _boot:
        _boot.append(_read_boot_id())
    return _boot[0]


def _read_boot_id() -> str:
    try:
        with open(_BOOT_ID, "rb") as file:
            return file.read().decode("ascii").strip()  # an open file of text would import the codec's module
    except (OSError, ValueError):
        return ""


def began(pid: int) -> str:
    """
    When a process began, in whatever form the system tells; empty if there is no such process.

    A process number is used again and again; together with this it means one process.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            words = file.read().rpartition(b")")[2].split()
            return "" if words[0] == b"Z" else words[19].decode("ascii")  # dead, and nobody has asked after it yet
    except (OSError, IndexError, UnicodeDecodeError):
        return "" if os.path.isdir("/proc/self") else " ".join(_told_by_ps("lstart=", "-p", str(pid)).split())


def command_of(pid: int) -> str:
    """The command line of a process, its words parted by NUL; empty if the system does not tell."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read(4096).decode("utf-8", "replace")
    except OSError:
        return "" if os.path.isdir("/proc/self") else _told_by_ps("command=", "-p", str(pid)).strip().replace(" ", "\0")


def ancestors_of(pid: int) -> list[int]:
    """A process and those that it runs under, nearest first; as far as the system tells."""
    parent_of = _parent_in_proc if os.path.isdir("/proc/self") else _parents_by_ps().get
    found: list[int] = []
    while pid > 0 and pid not in found and len(found) < _DEEPEST:
        found.append(pid)
        pid = parent_of(pid) or 0
    return found


def _parent_in_proc(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return None


def _parents_by_ps() -> dict[int, int]:
    """Without `ps`, only what Python knows itself."""
    pairs = [line.split() for line in _told_by_ps("pid=,ppid=", "-A").splitlines()]
    try:
        return {int(pair[0]): int(pair[1]) for pair in pairs if len(pair) == 2} or {os.getpid(): os.getppid()}
    except ValueError:
        return {os.getpid(): os.getppid()}


def _told_by_ps(*words: str) -> str:
    """macOS and the BSDs."""
    import subprocess

    try:
        done = subprocess.run(["ps", "-o", *words], capture_output=True, timeout=_PS_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace")
