"""Threads of one process, before they ask for the lock on a file."""

from __future__ import annotations

from threading import Lock


class Turns:
    """
    They wait for one another in one queue for each file.

    Thirty threads that each nap and look again would take up the process that one of them needs in order to finish, and
    whoever naps at the wrong moment every time is told that the file is busy.
    """

    __slots__ = ("_guard", "_queues")

    def __init__(self) -> None:
        self._guard = Lock()
        self._queues: dict[str, tuple[Lock, int]] = {}
        """A lock, and how many have it or wait for it."""

    def take(self, path: str, seconds: float) -> bool:
        with self._guard:
            turn, wanted = self._queues.get(path) or (Lock(), 0)
            self._queues[path] = (turn, wanted + 1)
        is_mine = False
        try:
            is_mine = turn.acquire(timeout=max(0.0, seconds))
        finally:
            if not is_mine:
                self._leave(path)
        return is_mine

    def give(self, path: str) -> None:
        self._queues[path][0].release()
        self._leave(path)

    def _leave(self, path: str) -> None:
        with self._guard:
            turn, wanted = self._queues[path]
            if wanted > 1:
                self._queues[path] = (turn, wanted - 1)
            else:
                del self._queues[path]


OF_THIS_PROCESS = Turns()
