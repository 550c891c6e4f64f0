"""Task lists on disk, `tasks/{team}/{N}.json`: implements `board.ports.Tasks`."""

from __future__ import annotations

from atm.board.adapters.task_folder import TaskFolder
from atm.board.adapters.task_turn import TaskTurn


class TaskFiles(TaskFolder):
    """The folder, and turns at it."""

    __slots__ = ()

    def turn(self, team: str) -> TaskTurn:
        return TaskTurn(self, team)
