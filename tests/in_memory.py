"""
A folder for tests that make a thousand homes: on a file system in memory, where the machine has one.

For tests in which nobody pulls the plug: processes are killed, and the system lives on. On a disk, making and removing
their files takes longer than all that is done with them, and most of that is waiting for others who make theirs
durable.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

MEMORY = Path("/dev/shm")
ENOUGH = 256 << 20
"""Bytes: more than all test runners together have there at one time. A container is often given 64 MB in all."""


def in_memory(otherwise: Path) -> Iterator[Path]:
    """For a fixture `tmp_path`: `yield from in_memory(tmp_path)`. Gone afterwards, also when the test failed."""
    if not has_room():
        yield otherwise
        return
    with tempfile.TemporaryDirectory(prefix="atm-test-", dir=MEMORY) as folder:
        yield Path(folder)


def has_room() -> bool:
    if not MEMORY.is_dir() or not os.access(MEMORY, os.W_OK):
        return False
    facts = os.statvfs(MEMORY)
    return facts.f_bavail * facts.f_frsize > ENOUGH
