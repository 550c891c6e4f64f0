"""What the system tells of a process: how much memory it holds."""

from __future__ import annotations

import os


def memory(pid: int) -> int | None:
    """Bytes that a process holds in memory; None where the system does not tell."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return None
