"""What the board needs from the machine: task files, their history, and one turn at a time."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from atm.board.formats.task_history import Past
    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Change, Task
    from atm.core.plain import Record
else:
    Protocol = object


class Tasks(Protocol):
    """Task lists, shared with Claude Code."""

    def exists(self, team: str) -> bool:
        """Is there a list of that name, whether or not there is still a team?"""

    def board(self, team: str) -> Board:
        """Every task at this moment. Takes no lock; files that did not change are not read again."""

    def read(self, team: str, id: str) -> Task:
        """One whole task. Raises NoSuchTask, or UnreadableFile if its file is no task."""

    def past(self, team: str) -> tuple[list[Past], int]:
        """The history, and how many of its lines could not be read."""

    def turn(self, team: str) -> Turn:
        """`with tasks.turn(team) as turn:` nobody else of us, and no Claude Code, changes the list meanwhile."""

    def unfinished(self, team: str) -> str | None:
        """The note of a change of several files that was cut off, if there is one."""

    def path(self, team: str, id: str) -> str: ...


class NewFile:
    """A task to be created under a number that was reserved."""

    __slots__ = ("content", "events", "number")

    def __init__(self, number: int, content: bytes, events: list[Record]) -> None:
        self.number = number
        self.content = content
        self.events = events


class Turn(Protocol):
    """While it is our turn. Whatever a former turn left unfinished has been finished."""

    board: Board

    def __enter__(self) -> Turn: ...

    def __exit__(self, *_: object) -> None: ...

    def upcoming(self, count: int) -> list[int]:
        """The next numbers, which no task ever had. They are ours for as long as the turn lasts."""

    def reserve(self, numbers: list[int]) -> None:
        """See to it that nobody else gets these numbers, also after the turn."""

    def change(self, id: str, rule: Callable[[Task], Change | None]) -> Task | None:
        """
        Change one task by a rule, made again if another program changed the file meanwhile.

        None, and nothing is written, if the rule gives None. What the rule raises is raised after the file was left
        as the other program wants it.
        """

    def write(self, new: list[NewFile], changes: dict[str, Change]) -> None:
        """Create and change several tasks: all of it, also if we are killed in the middle."""
