"""
Is a process alive, and what does it run under? And which start of the machine is this?

POSIX is asked with `kill(pid, 0)`. On Windows that would interrupt the process, so a handle is asked.
"""

from __future__ import annotations

import os

_BOOT_ID = "/proc/sys/kernel/random/boot_id"
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
    return True


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


def boot_id() -> str:
    """Another text after every start of the machine; empty where the system has none to offer."""
    try:
        with open(_BOOT_ID, "rb") as file:
            return file.read().decode("ascii").strip()  # an open file of text would import the codec's module
    except (OSError, ValueError):
        return ""


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
    """macOS and the BSDs. Without `ps`, only what Python knows itself."""
    import subprocess

    try:
        done = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, timeout=_PS_SECONDS, check=False)
        pairs = [line.split() for line in done.stdout.decode("ascii", "replace").splitlines()]
        return {int(pair[0]): int(pair[1]) for pair in pairs if len(pair) == 2}
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return {os.getpid(): os.getppid()}
