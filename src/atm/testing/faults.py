"""A disk that stops the world at a chosen step: the error or the kill -9 of your choice."""

from __future__ import annotations

import os
import signal
from typing import Any

from atm.ports.files.disk import Disk
from atm.system.files.disk import RealDisk


class QuickDisk(RealDisk):
    """The real disk, for tests in which nobody pulls the plug: nothing waits for the platter."""

    __slots__ = ()

    def sync(self, fd: int) -> None:  # noqa: ARG002
        return None

    def sync_folder(self, path: str) -> None:  # noqa: ARG002
        return None


class Crash(BaseException):
    """The process was killed here. Not an Exception: no handler of ours may catch it."""


class FaultyDisk:
    """
    A disk that counts its steps and stops at one of them.

    At the chosen step it raises `error`, or, without one, the process is dead: open files are closed (so flocks
    go), and every later step raises Crash too, because a dead process runs no `finally`. With `for_real` it is a
    real kill -9. A write that is stopped has written half.
    """

    def __init__(
        self, disk: Disk, *, stop_at: int | None = None, error: OSError | None = None, for_real: bool = False
    ) -> None:
        self._disk = disk
        self._stop_at = stop_at
        self._error = error
        self._for_real = for_real
        self._open: set[int] = set()
        self.steps: list[str] = []
        self.dead = False
        self.may_stay_open = disk.may_stay_open

    def __getattr__(self, name: str) -> Any:  # Any: one wrapper for every step of the port
        real = getattr(self._disk, name)

        def step(*args: Any, **options: Any) -> Any:
            self._check(name, args)
            result = real(*args, **options)
            self._note_open(name, args, result)
            return result

        return step

    def _check(self, name: str, args: tuple[Any, ...]) -> None:
        if self.dead:
            raise Crash
        self.steps.append(name)
        if self._stop_at is None or len(self.steps) - 1 != self._stop_at:
            return
        if name == "write":
            os.write(args[0], args[1][: len(args[1]) // 2])
        if self._error is not None:
            raise self._error
        self._die()

    def _die(self) -> None:
        if self._for_real:
            os.kill(os.getpid(), signal.SIGKILL)
        self.dead = True
        for fd in self._open:
            os.close(fd)
        raise Crash

    def _note_open(self, name: str, args: tuple[Any, ...], result: Any) -> None:
        if name in ("open_read", "create", "open_append", "lock") and isinstance(result, int):
            self._open.add(result)
        elif name == "close":
            self._open.discard(args[0])
