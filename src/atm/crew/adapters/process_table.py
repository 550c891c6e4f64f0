"""The processes of this machine: implements `crew.ports.agents.ProcessTable`. By /proc, elsewhere by `ps`."""

from __future__ import annotations

import os
import signal

from atm.crew.rules.marks import VARIABLE, RunningProcess
from atm.files.adapters.processes import began, boot_id, suspended_among

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

_MARK = f"{VARIABLE}=".encode()
_PS_SECONDS = 5.0


class RealProcessTable:
    """What is not ours to look at has no mark, and none of our agents is among it."""

    def __init__(self) -> None:
        self.boot = boot_id()

    def running(self) -> list[RunningProcess]:
        if not os.path.isdir("/proc/self"):
            return _by_ps()
        found = (_in_proc(int(name)) for name in os.listdir("/proc") if name.isdecimal())
        return [one for one in found if one is not None]

    def began(self, pid: int) -> str:
        return began(pid)

    def suspended(self, pids: Collection[int]) -> set[int]:
        return suspended_among(pids)

    def signal(self, process: RunningProcess, *, hard: bool) -> bool:
        """By a handle that means one process, where the system has such; a number may be used again at any moment."""
        if process.pid <= 1 or not process.began:
            return False  # to `kill`, 0 and -1 mean groups of processes, and 1 is the system's first
        number = signal.SIGKILL if hard else signal.SIGTERM
        try:
            handle = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else -1
        except ProcessLookupError:
            return False
        except OSError:
            handle = -1
        try:
            if began(process.pid) != process.began:
                return False
            if handle >= 0:
                signal.pidfd_send_signal(handle, number)
            else:
                os.kill(process.pid, number)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True  # it is there, and stays
        finally:
            if handle >= 0:
                os.close(handle)
        return True


def _in_proc(pid: int) -> RunningProcess | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            words = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    if len(words) < 20 or words[0] in (b"Z", b"X"):
        return None  # dead, and its parent has not asked after it yet
    command, mark = _read(f"/proc/{pid}/cmdline"), ""
    for word in _read(f"/proc/{pid}/environ").split(b"\0"):
        if word.startswith(_MARK):
            mark = word[len(_MARK) :].decode("utf-8", "replace")
            break
    words_of = command.decode("utf-8", "replace").rstrip("\0").replace("\0", " ")
    return RunningProcess(pid, int(words[1]), words[19].decode("ascii"), words_of, mark)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def _by_ps() -> list[RunningProcess]:
    """macOS: the environment comes with the command line of one's own processes."""
    import subprocess

    words = ["ps", "-A", "-E", "-ww", "-o", "pid=,ppid=,lstart=,command="]
    try:
        said = subprocess.run(words, capture_output=True, timeout=_PS_SECONDS, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return []
    found = []
    for line in said.decode("utf-8", "replace").splitlines():
        parts = line.split(None, 7)
        if len(parts) == 8 and parts[0].isdecimal() and parts[1].isdecimal():
            marks = [word for word in parts[7].split() if word.startswith(f"{VARIABLE}=")]
            mark = marks[-1].partition("=")[2] if marks else ""
            found.append(RunningProcess(int(parts[0]), int(parts[1]), " ".join(parts[2:7]), parts[7], mark))
    return found
