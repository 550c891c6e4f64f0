"""
Temporary files of tests, on a file system in memory, where the machine has one.

Nobody pulls the plug in a test: processes are killed, and the system lives on. On a disk, making and removing files
takes longer than much that is done with them, and most of that is waiting for others who make theirs durable. Some
fixtures ask for it; `ATM_MEMORY=1 make test` has all temporary files there.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

MEMORY = Path("/dev/shm")
ENOUGH = 256 << 20
"""Bytes: more than all runners together have there at one time, in folders of `in_memory`. A container is often given
64 MB in all."""

ENOUGH_FOR_ALL = 2 << 30
"""Bytes: ten times as much as a whole run has there at one time; what a test made goes with it."""


def in_memory(otherwise: Path) -> Iterator[Path]:
    """For a fixture `tmp_path`: `yield from in_memory(tmp_path)`. Gone afterwards, also when the test failed."""
    if not has_room():
        yield otherwise
        return
    with tempfile.TemporaryDirectory(prefix="atm-test-", dir=MEMORY) as folder:
        yield Path(folder)


def has_room(size: int = ENOUGH) -> bool:
    if not MEMORY.is_dir() or not os.access(MEMORY, os.W_OK):
        return False
    facts = os.statvfs(MEMORY)
    return facts.f_bavail * facts.f_frsize > size


def root_of_a_run() -> Path | None:
    """Where all temporary files of this run are made; None where the system's own place has to do."""
    if os.environ.get("ATM_MEMORY") != "1" or not has_room(ENOUGH_FOR_ALL):
        return None
    may_run_programs = not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC  # which tests write, and containers forbid
    return MEMORY if may_run_programs else None
