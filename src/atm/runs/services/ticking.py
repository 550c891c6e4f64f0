"""Ticks in plans: always in the run's own copy, in the user's file only with `--tick`."""

from __future__ import annotations

from atm.board.formats.plan_ticks import ticked
from atm.board.formats.task_drafts import NotAPlan
from atm.board.formats.task_import import read_plan
from atm.board.rules.tasks import COMPLETED, folded
from atm.core.errors import AtmError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.runs.rules.orders import RunOrder
    from atm.runs.services.runroom import Runroom

MARKDOWN = "markdown"


def tick_plans(desk: Runroom, order: RunOrder) -> None:
    """What is completed on the board now. A plan that somebody changed meanwhile is ticked as it lies there now."""
    names = _completed(desk, order)
    desk.runs.change_copy(order.team, order.run, lambda text: tick(text, names))
    if order.tick and order.plan_file:
        desk.runs.change_plan(order.plan_file, lambda text: tick(text, names))


def tick(text: str, names: set[str]) -> str:
    """By its id, else by its title."""
    try:
        drafts = read_plan(text, MARKDOWN)
    except NotAPlan:
        return text
    return ticked(text, {draft.line for draft in drafts if folded(draft.key or draft.subject) in names})


def _completed(desk: Runroom, order: RunOrder) -> set[str]:
    found: set[str] = set()
    for card in desk.boardroom.tasks.board(order.team).sorted():
        if card.status != COMPLETED:
            continue
        try:
            task = desk.boardroom.tasks.read(order.team, card.id)
        except AtmError:
            continue
        found.add(folded(task.text("key") or task.subject))
    return found
