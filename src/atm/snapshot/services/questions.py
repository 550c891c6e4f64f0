"""What the board waits for a person or the lead with: plans that want a yes, questions that want an answer."""

from __future__ import annotations

from atm.core.errors import AtmError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.ports.tasks import Tasks
    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Card
    from atm.core.plain import Plain, Record

LONGEST = 2000
"""Characters of a question or a plan; `atm tasks show` has all of it."""

Kept = dict[str, tuple[str, "Record"]]


def asked_in(tasks: Tasks, team: str, board: Board, kept: Kept) -> list[Plain]:
    """One for each such task. Those that did not change since are not read again."""
    rows: list[Plain] = []
    for card in board.sorted():
        if card.needs or card.plan == "submitted":
            known = kept.get(card.id)
            if known is None or known[0] != card.last_event:
                known = card.last_event, _asked(tasks, team, card)
                kept[card.id] = known
            rows.append(known[1])
    return rows


def _asked(tasks: Tasks, team: str, card: Card) -> Record:
    said: Record = {"task": card.id, "kind": "question" if card.needs else "plan", "whom": card.needs or "lead"}
    try:
        task = tasks.read(team, card.id)
    except AtmError:
        return {**said, "by": card.owner, "at": "", "text": ""}  # gone meanwhile: the next look knows
    part = task.part("clarification") if card.needs else task.part("plan")
    text = str(part.get("question" if card.needs else "text") or "")[:LONGEST]
    return {**said, "by": str(part.get("by") or card.owner), "at": str(part.get("at") or ""), "text": text}
