"""A line in the history of a task about something that happened beside the board."""

from __future__ import annotations

from atm.board.rules.tasks import Change, task_id
from atm.board.services.boardroom import open_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.tasks import Task
    from atm.board.services.boardroom import Boardroom
    from atm.core.plain import Plain


def note_on_task(boardroom: Boardroom, team: str, id: str, who: str, kind: str, **facts: Plain) -> None:
    """The task itself stays as it is."""
    found, by = open_team(boardroom, team), boardroom.stamp(who or "atm")

    def rule(_: Task) -> Change:
        return Change(by.event(kind, **facts))

    with boardroom.tasks.turn(found.name) as turn:
        turn.change(task_id(id), rule)
