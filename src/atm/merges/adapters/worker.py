"""A process that works a merge queue off: implements `merges.ports.MergeWorker`."""

from __future__ import annotations

import os
import subprocess
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO

PATIENT = 5.0
FINE = (0, 2, 3)
"""All is merged; something is flagged; there was nothing."""
KEPT = 2000


class MergeProcess:
    """`atm merge work`, as a child."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._child: subprocess.Popen[bytes] | None = None
        self._errors: IO[bytes] | None = None
        self._trouble = ""

    def start(self, team: str, folder: str) -> None:
        if self.is_running():
            return
        self._errors = _unnamed_file()
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-m", "atm", "merge", "work", "--team", team, "--json"],
            cwd=folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
        )

    def is_running(self) -> bool:
        if self._child is None:
            return False
        code = self._child.poll()
        if code is None:
            return True
        self._end(code)
        return False

    def _end(self, code: int) -> None:
        self._child = None
        if self._errors is not None:
            self._errors.seek(0)
            said = self._errors.read().decode("utf-8", "replace").strip()[-KEPT:]
            self._errors.close()
            self._trouble = "" if code in FINE else said or f"it ended with {code}"

    def trouble(self) -> str:
        return "" if self.is_running() else self._trouble

    def stop(self) -> None:
        if self._child is None:
            return
        self._child.terminate()
        try:
            code = self._child.wait(PATIENT)
        except subprocess.TimeoutExpired:
            self._child.kill()
            code = self._child.wait()
        self._end(code)


def _unnamed_file() -> IO[bytes]:
    """A file without a name: a loop that is killed here leaves nothing behind, where the system has such files."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("atm-merge-errors"), "w+b")
    import tempfile

    return tempfile.TemporaryFile()
