"""Tasks for programs and for people."""

from __future__ import annotations

from atm.board.rules.acceptance import is_command
from atm.board.services.boardroom import list_name
from atm.core.plain import dicts_in
from atm.core.untrusted_text import one_line
from atm.snapshot.services.tasks import task_fields
from atm.ui.verbs.verb import number_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Card, Task
    from atm.core.plain import Plain, Record
    from atm.ui.cli.arguments import Args
    from atm.ui.cli.session import Session


def card_json(card: Card, board: Board) -> dict[str, Plain]:
    """What `list` says of a task."""
    found = task_fields(card, board)
    return {**found, "blockedBy": found["blocked_by"], "maxRetries": found["max_retries"]}  # until 1.0


def task_json(session: Session, team: str, task: Task, board: Board) -> dict[str, Plain]:
    """A task with its texts."""
    shown = (
        "result",
        "error",
        "folder",
        "source",
        "timeout",
        "createdBy",
        "createdAt",
        "finishedBy",
        "finishedAt",
        "evidence",
        "unverified",
    )
    return {
        **card_json(task, board),
        "description": task.description,
        "acceptance": [*checks_json(session, team, task, task.acceptance)],
        "run": [*checks_json(session, team, task, task.run)],
        "comments": [*task.comments],
        "clarification": task.part("clarification") or None,
        "attempts": task.failures,
        "tries": [*tries_of(task)],
        "last_check": task.part("lastCheck") or None,
        "refused": task.part("refused") or None,
        "planDetails": task.part("plan") or None,
        "reviewDetails": task.part("review") or None,
        **{key: task.details[key] for key in shown if key in task.details},
    }


def tries_of(task: Task) -> list[Record]:
    """The attempts that failed, as far as the file of the task keeps them: attempt, by, at, error, output."""
    return dicts_in(task.details.get("tries"))


def checks_json(session: Session, team: str, task: Task, checks: Sequence[Record]) -> list[dict[str, Plain]]:
    """Each with the member who wrote its command, and whether that is sure."""
    return [_check_json(session, team, task, check) for check in checks]


def _check_json(session: Session, team: str, task: Task, check: Record) -> dict[str, Plain]:
    shown = {key: value for key, value in check.items() if key != "mark"}
    if not is_command(check):
        return shown
    from atm.board.services.marks import written_by

    by = written_by(session.boardroom, team, task, check)
    return {**shown, "by": by or None, "trusted": bool(by)}


def team_of(args: Args, session: Session) -> str:
    """The team that is meant, as it is spelled."""
    return list_name(session.boardroom, session.team(args))


def check_new_work(args: Args, session: Session, team: str) -> None:
    """New work goes to a team of another repository only if the user named that team."""
    if not args.text("team") and not session.home_team():
        from atm.ui.cli.team.belonging import check_here

        check_here(session, team, is_named=False)


def task_meant(args: Args, session: Session, team: str, name: str = "id") -> str:
    """The number of a task that is called by it, or by its title."""
    return number_of(session.boardroom, team, args.need(name))


def board_of(session: Session, team: str) -> Board:
    """The board with the merge queue of its team."""
    from atm.wiring.runs import board_with_merges

    return board_with_merges(session.layout, session.boardroom.tasks.board(team), team)


def board_now(session: Session, team: str, task: Task) -> Board:
    """The board with this task as we just left it."""
    board = board_of(session, team)
    board.cards[task.number] = task
    return board


def report(
    session: Session,
    action: str,
    team: str,
    task: Task,
    words: str,
    board: Board | None = None,
    warnings: Sequence[str] = (),
    **more: Plain,
) -> int:
    """Say what became of a task."""
    for warning in warnings:
        session.warn(f"note: {warning}")
    result: dict[str, object] = {"action": action, "team": team}
    if session.as_json:
        result["task"] = task_json(session, team, task, board or board_now(session, team, task))
    session.tell({**result, **more}, one_line(words))
    return 0
