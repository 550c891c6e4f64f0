"""
What the system tells of a process: when it began, and how much memory it holds.

A process number is used again and again; together with the time at which the process began it means one process.
"""

from __future__ import annotations

import os
import subprocess

_SECONDS = 2.0


def began(pid: int) -> str:
    """When a process began, in whatever form the system tells; empty if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            words = file.read().rpartition(b")")[2].split()
            return "" if words[0] == b"Z" else words[19].decode("ascii")  # dead, and nobody has asked after it yet
    except (OSError, IndexError, UnicodeDecodeError):
        return "" if os.path.isdir("/proc/self") else _ask_ps(pid)


def _ask_ps(pid: int) -> str:
    """macOS and the BSDs."""
    try:
        done = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return " ".join(done.stdout.decode("ascii", "replace").split())


def memory(pid: int) -> int | None:
    """Bytes that a process holds in memory; None where the system does not tell."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return None
