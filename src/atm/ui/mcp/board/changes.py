"""What all tools that change a task have in common: who acts, the trace that is left, and the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atm.board.rules.acceptance import is_command
from atm.board.services.marks import written_by
from atm.ui.mcp.actor import actor, sign
from atm.ui.mcp.board.view import TASK, preview
from atm.ui.mcp.schema import gives
from atm.ui.mcp.wording import known, lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Task
    from atm.core.plain import Plain, Record
    from atm.ui.mcp.caller import Caller
    from atm.ui.mcp.tool import Schema


def changed(more: Mapping[str, Schema] | None = None) -> dict[str, Plain]:
    """The schema of what `answer` gives."""
    return gives({"task": TASK}, more)


def whose(caller: Caller, team: str, task: Task, check: Record) -> str:
    """Behind a command, whose words it is: nobody has to run what they have not seen."""
    if not is_command(check):
        return ""
    by = written_by(caller.boardroom, team, task, check)
    return f" ({by}'s)" if by else " (not trusted)"


def answer(
    caller: Caller,
    task: Task,
    board: Board | None = None,
    *,
    warnings: Iterable[str] = (),
    more: dict[str, Plain] | None = None,
) -> dict[str, Plain]:
    """A task as it is after a change; whoever changed it has shown that they are there."""
    team, me = actor(caller)
    sign(caller, team, me)
    if board is None:
        board = caller.boardroom.tasks.board(team.name)
        board.cards[task.number] = task
    return {"task": preview(task, board), **known({"warnings": lines(warnings), **(more or {})})}
