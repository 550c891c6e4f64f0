"""
The one state of a task that every surface shows, with its word for people, its tone and its column on the board.

The board alone does not know everything: completed work may still have to be merged, a task in progress may wait for
an answer, and a pending task may have failed before. `shown_state` is the only place that decides between them.
"""

from __future__ import annotations

from atm.board.rules.tasks import (
    BLOCKED,
    CANCELLED,
    COMPLETED,
    FAILED,
    IN_PROGRESS,
    PENDING,
    PLANNING,
    REVIEW,
    UNREACHABLE,
    UNREADABLE,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.dependencies import Board, QueuedWork
    from atm.board.rules.tasks import Card
    from atm.core.plain import Plain

YOU, BROKEN, MOVING, PROVEN, REST = "you", "broken", "moving", "proven", "rest"
"""Tones. `you`: a person or the lead must answer. `broken`: something failed. `rest`: nothing happens, or unknown."""

QUESTION, PLAN_WAITS, TO_RETRY = "question", "plan_waits", "to_retry"
TO_MERGE, MERGING, MERGED = "to_merge", "merging", "merged"
CONFLICT, NOT_MERGED, LEFT_OUT = "conflict", "not_merged", "left_out"
"""Shown states that say more than the state of the board."""

READY_COLUMN, DONE_COLUMN, NOT_DONE_COLUMN = "ready", "done", "not_done"
COLUMNS = (
    (BLOCKED, "Blocked"),
    (READY_COLUMN, "Ready"),
    (PLANNING, "Planning"),
    (IN_PROGRESS, "In progress"),
    (REVIEW, "Review"),
    (DONE_COLUMN, "Done"),
    (NOT_DONE_COLUMN, "Not done"),
)
"""The columns of a board, in their order, with their titles."""


class ShownState:
    """One state, for every surface."""

    __slots__ = ("column", "state", "tone", "word")

    def __init__(self, state: str, word: str, tone: str, column: str) -> None:
        self.state = state
        """For programs."""
        self.word = word
        """For people."""
        self.tone = tone
        self.column = column
        """Its column on the board."""

    def fields(self) -> dict[str, Plain]:
        return {"state": self.state, "word": self.word, "tone": self.tone, "column": self.column}


_ALL = (
    ShownState(IN_PROGRESS, "in progress", MOVING, IN_PROGRESS),
    ShownState(REVIEW, "in review", MOVING, REVIEW),
    ShownState(PLANNING, "planning", MOVING, PLANNING),
    ShownState(PLAN_WAITS, "plan waits", YOU, PLANNING),
    ShownState(QUESTION, "question", YOU, IN_PROGRESS),
    ShownState(PENDING, "ready", REST, READY_COLUMN),
    ShownState(TO_RETRY, "to retry", BROKEN, READY_COLUMN),
    ShownState(BLOCKED, "blocked", REST, BLOCKED),
    ShownState(COMPLETED, "done", PROVEN, DONE_COLUMN),
    ShownState(TO_MERGE, "to merge", PROVEN, DONE_COLUMN),
    ShownState(MERGING, "merging", MOVING, DONE_COLUMN),
    ShownState(MERGED, "merged", PROVEN, DONE_COLUMN),
    ShownState(CONFLICT, "in conflict", BROKEN, DONE_COLUMN),
    ShownState(NOT_MERGED, "not merged", BROKEN, DONE_COLUMN),
    ShownState(LEFT_OUT, "left out", REST, DONE_COLUMN),
    ShownState(FAILED, "failed", BROKEN, NOT_DONE_COLUMN),
    ShownState(CANCELLED, "cancelled", REST, NOT_DONE_COLUMN),
    ShownState(UNREACHABLE, "unreachable", BROKEN, NOT_DONE_COLUMN),
    ShownState(UNREADABLE, "unreadable", BROKEN, NOT_DONE_COLUMN),
)
SHOWN = {one.state: one for one in _ALL}


def shown(state: str) -> ShownState:
    """A state by its name; a word of another program is shown as it is."""
    return SHOWN.get(state) or ShownState(state, state.replace("_", " "), REST, NOT_DONE_COLUMN)


def shown_state(card: Card, board: Board) -> ShownState:
    """A board that was given the merge queue of its team (`Board.with_merges`) tells more of completed tasks."""
    state = board.state(card)
    if state == COMPLETED:
        return SHOWN[_after_completion(card, board)]
    if state in (IN_PROGRESS, PLANNING, PENDING) and card.needs:
        return SHOWN[QUESTION]
    if state == PLANNING and card.plan == "submitted":
        return SHOWN[PLAN_WAITS]
    if state == PENDING and card.failures and not card.owner:
        return SHOWN[TO_RETRY]
    return shown(state)


def shown_on(board: Board, id: str) -> ShownState:
    """The task of that number. Raises NoSuchTask."""
    return shown_state(board.card(id), board)


def _after_completion(card: Card, board: Board) -> str:
    """An item about former work of a task says nothing about work that was completed since."""
    item = board.merges.get(card.id) if board.merges is not None else None
    if item is not None and card.work == item.head:
        return shown_merge(item).state
    if card.merged:
        return MERGED
    return TO_MERGE if card.work else COMPLETED


def shown_item(item: QueuedWork, board: Board) -> ShownState:
    """An item of the merge queue is shown as its task is: one that was opened again is not to be merged."""
    card = board.cards.get(int(item.task)) if item.task.isdecimal() else None
    return shown_merge(item) if card is None else shown_state(card, board)


def shown_merge(item: QueuedWork) -> ShownState:
    """How far the merging of some work is."""
    from atm.merges.rules import items as merge

    of_status = {
        merge.MERGING: MERGING,
        merge.MERGED: MERGED,
        merge.CONFLICT: CONFLICT,
        merge.FAILED: NOT_MERGED,
    }
    return SHOWN[LEFT_OUT if item.skipped else of_status.get(item.status, TO_MERGE)]


def shown_counts(board: Board) -> dict[str, int]:
    """How many tasks are shown in each state, in the order of the states; hidden tasks are not counted."""
    found: dict[str, int] = {}
    for card in board.cards.values():
        if not card.is_hidden:
            state = shown_state(card, board).state
            found[state] = found.get(state, 0) + 1
    order = [*SHOWN]
    return dict(sorted(found.items(), key=lambda pair: order.index(pair[0]) if pair[0] in SHOWN else len(order)))
