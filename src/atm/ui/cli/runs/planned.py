"""The tasks that a run would do: what is open on the board, and what its plan adds. Nothing is written."""

from __future__ import annotations

from dataclasses import dataclass

from atm.board.rules.acceptance import about, is_command
from atm.board.rules.schedule import edges_on
from atm.board.services.importing import rehearse_import
from atm.board.services.marks import entered
from atm.board.services.new_tasks import commands_in, meant_tasks
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.tasks import Task
    from atm.ui.cli.runs.prepared import Prepared
    from atm.ui.cli.session import Session


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """One of them."""

    id: str
    """The number that it has, or would get."""
    place: str
    subject: str
    depends_on: list[str]
    files: list[str]
    runtime: str
    has_commands: bool
    commands: list[tuple[str, bool]]
    """Each, and whether somebody has said yes to it, or would with this plan."""


def planned_tasks(session: Session, made: Prepared) -> list[PlannedTask]:
    found = [_on_board(session, made, id, waits_for) for id, waits_for in edges_on(made.board).items()]
    if not made.wishes:
        return found
    if made.is_new_team:
        return _of_plan(made)
    who = find_team(session.room, made.team).lead
    done = rehearse_import(session.boardroom, made.team, who, made.wishes, made.plan_file)
    return [*found, *(_added(task, made) for task in done.added if not task.is_finished)]


def _on_board(session: Session, made: Prepared, id: str, waits_for: list[str]) -> PlannedTask:
    task = session.boardroom.tasks.read(made.team, id)
    team = find_team(session.room, made.team)
    commands = [*task.run, *filter(is_command, task.acceptance)]
    told = [(about(one), entered(session.boardroom, team, task, one) is not None) for one in commands]
    return PlannedTask(id, f"#{id}", task.subject, waits_for, [*task.files], task.runtime, bool(task.run), told)


def _added(task: Task, made: Prepared) -> PlannedTask:
    commands = [about(one) for one in (*task.run, *filter(is_command, task.acceptance))]
    told = [(one, not made.is_model_made) for one in commands]
    return PlannedTask(
        task.id, f"#{task.id}", task.subject, [*task.blocked_by], [*task.files], task.runtime, bool(task.run), told
    )


def _of_plan(made: Prepared) -> list[PlannedTask]:
    """For a team that is not made yet."""
    numbers = [str(number) for number in range(1, len(made.wishes) + 1)]
    edges = meant_tasks(made.board, made.wishes, numbers)
    done = {id for id, wish in zip(numbers, made.wishes, strict=True) if wish.is_done}
    return [
        PlannedTask(
            id,
            wish.place,
            wish.subject,
            [other for other in edges[id] if other not in done],
            wish.files,
            wish.runtime,
            bool(wish.run),
            [(one["command"], not made.is_model_made) for one in commands_in([wish])],
        )
        for id, wish in zip(numbers, made.wishes, strict=True)
        if not wish.is_done
    ]
