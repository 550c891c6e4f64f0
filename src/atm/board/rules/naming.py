"""Which task somebody means who does not say its number."""

from __future__ import annotations

from atm.board.rules.tasks import LONGEST_NUMBER, folded, task_id
from atm.core.names import nearest_name
from atm.core.work_errors import BadTask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.dependencies import Board

SHORTEST = 3
"""Letters of a title that stand for all of it: fewer are a slip of the finger."""


def is_number(said: str) -> bool:
    digits = said.strip().removeprefix("#")
    return digits.isascii() and digits.isdecimal() and len(digits) <= LONGEST_NUMBER


def meant_task(board: Board, said: str) -> str:
    """
    Its number, the id that its plan gave it, its title, or the beginning of a title that no other has; what is open
    comes before what is finished. Raises BadTask where that is none, or several.
    """
    if is_number(said):
        return task_id(said)
    wanted = folded(said)
    cards = [card for card in board.sorted() if not card.is_hidden and not card.problem]
    long_enough = len(wanted) >= SHORTEST
    for fits in (
        [card for card in cards if wanted and folded(card.key) == wanted],
        [card for card in cards if wanted and folded(card.subject) == wanted],
        [card for card in cards if long_enough and folded(card.subject).startswith(wanted)],
    ):
        found = [card for card in fits if not card.is_finished] or fits
        if len(found) == 1:
            return found[0].id
        if found:
            numbers = ", ".join(f"#{card.id}" for card in found[:10])
            raise BadTask(f"{said!r} may mean {len(found)} tasks: {numbers}", "name it by its number")
    near = nearest_name(wanted, [folded(card.subject) for card in cards])
    hint = f"did you mean {near!r}?" if near else "use the number or the title that `atm tasks list` shows"
    raise BadTask(f"no task is called {said!r}", hint)
