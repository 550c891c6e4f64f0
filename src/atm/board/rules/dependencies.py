"""
The board as a graph: what waits for what, what can never be done, and no circles.

Dependencies are ids. A task may be worked on when everything it depends on is completed. Something that is gone
counts as done only if it was completed when it was last seen: Claude Code deletes finished lists.
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
    STATUSES,
    UNREACHABLE,
    UNREADABLE,
    Card,
    task_id,
)
from atm.core.work_errors import BadTask, DependencyCycle, NoSuchTask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Protocol

    class QueuedWork(Protocol):
        """Completed work of a task on its way to the target."""

        @property
        def task(self) -> str: ...
        @property
        def head(self) -> str: ...
        @property
        def status(self) -> str: ...
        @property
        def skipped(self) -> bool: ...

    class WorkQueue(Protocol):
        """What waits to be merged, and what was."""

        @property
        def items(self) -> Sequence[QueuedWork]: ...


NO_NUMBER = -1
_ENDED = {FAILED: "failed for good", CANCELLED: "was cancelled"}


class Board:
    """All tasks of a team at one moment."""

    __slots__ = ("_blockers", "_dependants", "_lost", "cards", "gone", "merges")

    def __init__(self, cards: dict[int, Card], gone: dict[int, Card] | None = None) -> None:
        self.cards = cards
        self.gone = gone or {}
        """Tasks whose file is not there any more, as they were when last seen."""
        self.merges: Mapping[str, QueuedWork] | None = None
        """Items of the team's merge queue by task; None if there is no queue, or if it was not read."""
        self._blockers: dict[int, Sequence[str]] | None = None
        self._dependants: dict[str, list[int]] | None = None
        self._lost: dict[int, str] | None = None

    def card(self, id: str) -> Card:
        """Raises NoSuchTask, saying whether it was there once."""
        found = self.cards.get(int(id))
        if found is not None:
            return found
        former = self.gone.get(int(id))
        if former is not None:
            raise NoSuchTask(
                f"task #{id} is not on the board any more; it was {former.outcome or former.status}",
                f"see `atm tasks history {id}`",
            )
        raise NoSuchTask(f"there is no task #{id}", "see `atm tasks list`")

    def with_cards(self, cards: Iterable[Card]) -> Board:
        """The board after these tasks changed."""
        changed = {card.number: card for card in cards}
        board = Board({**self.cards, **changed}, self.gone)
        board.merges = self.merges
        if all(_has_same_edges(self.cards.get(number), card) for number, card in changed.items()):
            board._blockers, board._dependants = self._blockers, self._dependants
        return board

    def with_merges(self, queue: WorkQueue | None) -> Board:
        """The same board, which also knows how far the merging of its tasks is."""
        if queue is None and self.merges is None:
            return self
        board = Board(self.cards, self.gone)
        board._blockers, board._dependants, board._lost = self._blockers, self._dependants, self._lost
        board.merges = {one.task: one for one in queue.items} if queue is not None else None
        return board

    def without_edges(self, id: str, others: Sequence[str]) -> Board:
        """The board if a task did not depend on these."""
        changed = [_less(self.cards[int(id)], blocked_by=others)]
        changed += [_less(self.cards[int(other)], blocks=[id]) for other in others if int(other) in self.cards]
        return self.with_cards(changed)

    def sorted(self) -> list[Card]:
        return [self.cards[number] for number in sorted(self.cards)]

    # What waits for what.

    def blockers(self, card: Card) -> Sequence[str]:
        """Every id it depends on. Both sides of the pair count: other programs may have written one only."""
        return self._all_blockers().get(card.number, ())

    def _all_blockers(self) -> dict[int, Sequence[str]]:
        if self._blockers is None:
            self._blockers = _both_sides(self.cards.values())
        return self._blockers

    def is_done(self, id: str) -> bool:
        known = self._known(id)
        return known is not None and known.status == COMPLETED and not known.outcome

    def open_blockers(self, card: Card) -> list[str]:
        """What it still waits for, the broken ones included."""
        return [id for id in self.blockers(card) if not self.is_done(id)]

    def broken_blockers(self, card: Card) -> list[str]:
        """What it depends on and nobody can find: the lead must decide (D13)."""
        return [id for id in self.open_blockers(card) if self._number(id) not in self.cards]

    def is_there(self, id: str) -> bool:
        return self._number(id) in self.cards

    def dependants(self, id: str) -> list[Card]:
        """Tasks that depend on this one directly, in order. Who asks about all of them calls `turn_around` first."""
        if self._dependants is not None:
            found = self._dependants.get(id, [])
        else:
            found = [number for number, ids in self._all_blockers().items() if id in ids]
        return [self.cards[number] for number in sorted(found) if number in self.cards]

    def turn_around(self) -> Board:
        """Make every dependency known from its other end too."""
        if self._dependants is None:
            self._dependants = {}
            for number, ids in self._all_blockers().items():
                for id in ids:
                    self._dependants.setdefault(id, []).append(number)
        return self

    def newly_free(self, id: str) -> list[str]:
        """Which tasks wait for nothing else, now that this one is completed."""
        return [
            card.id
            for card in self.dependants(id)
            if card.status == PENDING and not card.outcome and not [b for b in self.open_blockers(card) if b != id]
        ]

    def _known(self, id: str) -> Card | None:
        number = self._number(id)
        return self.cards.get(number) or self.gone.get(number)

    @staticmethod
    def _number(id: str) -> int:
        return int(id) if id.isascii() and id.isdecimal() and len(id) < 16 else NO_NUMBER

    # What state a task is in.

    def state(self, card: Card) -> str:
        """One word for a task, everything considered."""
        if card.problem:
            return UNREADABLE
        if card.outcome:
            return card.outcome
        if card.status == COMPLETED:
            return COMPLETED
        if card.review == REVIEW:
            return REVIEW
        if card.status not in STATUSES:
            return card.status  # another program's word, such as deleted: nobody can claim it
        if card.status == IN_PROGRESS:
            return PLANNING if card.plan in ("required", "submitted", "rejected") else IN_PROGRESS
        if card.number in self.lost():
            return UNREACHABLE
        return BLOCKED if self.open_blockers(card) else PENDING

    def lost(self) -> dict[int, str]:
        """Pending tasks that can never be done, and why: so that a run always ends (D19)."""
        if self._lost is None:
            self._lost = self._find_lost()
        return self._lost

    def _find_lost(self) -> dict[int, str]:
        waiting = {n: c for n, c in self.cards.items() if c.status == PENDING and not c.outcome and self.blockers(c)}
        edges = {number: [self._number(id) for id in self.blockers(card)] for number, card in waiting.items()}
        lost = dict.fromkeys(_in_circles(edges), "it depends on itself, in a circle")
        for card in waiting.values():
            for id in self.blockers(card):
                known = self._known(id)
                if known is not None and known.outcome:
                    lost.setdefault(card.number, f"#{id} {_ENDED.get(known.outcome, 'has ended')}")
        spread = list(lost)
        if spread:
            self.turn_around()
        while spread:
            number = spread.pop()
            for card in self.dependants(str(number)):
                if card.number in waiting and card.number not in lost:
                    lost[card.number] = f"#{number} can never be done"
                    spread.append(card.number)
        return lost

    def counts(self) -> dict[str, int]:
        """How many tasks are in each state; Claude Code's own bookkeeping is not counted."""
        found: dict[str, int] = {}
        for card in self.cards.values():
            if not card.is_hidden:
                found[self.state(card)] = found.get(self.state(card), 0) + 1
        return found

    @property
    def is_resolved(self) -> bool:
        """Is there nothing left that a member could or should do?"""
        return all(c.is_finished or c.number in self.lost() or c.is_hidden for c in self.cards.values())


def _has_same_edges(one: Card | None, other: Card) -> bool:
    is_same = one is not None and list(one.blocked_by) == list(other.blocked_by)
    return is_same and one is not None and list(one.blocks) == list(other.blocks)


def _less(card: Card, *, blocked_by: Sequence[str] = (), blocks: Sequence[str] = ()) -> Card:
    copy = Card(*card.values())  # type: ignore[arg-type]
    copy.blocked_by = [id for id in card.blocked_by if id not in blocked_by]
    copy.blocks = [id for id in card.blocks if id not in blocks]
    return copy


SHORT = 30
"""Up to so many ids are looked through one by one."""


def _once(ids: Sequence[str]) -> Sequence[str]:
    return ids if len(ids) < 2 else list(dict.fromkeys(ids))


def _both_sides(cards: Collection[Card]) -> dict[int, Sequence[str]]:
    """Mostly both sides say the same: then nothing is copied, and a board of ten thousand costs a few milliseconds."""
    found = {card.number: _once(card.blocked_by) for card in cards if card.blocked_by}
    sets: dict[int, set[str]] = {}
    missing: dict[int, dict[str, None]] = {}
    for card in cards:
        if card.blocks:
            own = str(card.number)
            for id in card.blocks:
                number = Board._number(id)
                theirs = found.get(number, ())
                if len(theirs) > SHORT and number not in sets:
                    sets[number] = {*theirs}
                if own not in sets.get(number, theirs):
                    missing.setdefault(number, {})[own] = None
    missing.pop(NO_NUMBER, None)
    return {**found, **{number: [*found.get(number, ()), *ids] for number, ids in missing.items()}}


def _in_circles(edges: Mapping[int, Sequence[int]]) -> list[int]:
    """
    Nodes that depend on themselves: what is left when everything is taken away that waits for nothing, and then
    everything that nothing waits for.

    Foreign programs can make circles; we never do.
    """
    waiting = _without_ends({node: {other for other in others if other in edges} for node, others in edges.items()})
    backwards: dict[int, set[int]] = {node: set() for node in waiting}
    for node, others in waiting.items():
        for other in others:
            backwards[other].add(node)
    return sorted(_without_ends(backwards))


def _without_ends(edges: dict[int, set[int]]) -> dict[int, set[int]]:
    """What is left when nodes without an edge are taken away until there are none."""
    backwards: dict[int, list[int]] = {}
    for node, others in edges.items():
        for other in others:
            backwards.setdefault(other, []).append(node)
    ends = [node for node, others in edges.items() if not others]
    left = {node: {*others} for node, others in edges.items()}
    while ends:
        end = ends.pop()
        del left[end]
        for node in backwards.get(end, ()):
            left[node].discard(end)
            if not left[node]:
                ends.append(node)
    return left


def check_new_edges(board: Board, edges: Mapping[str, Sequence[str]], new: Mapping[str, str] | None = None) -> None:
    """
    May these tasks depend on those? Refused before anything is written; a circle is named.

    `edges` maps a task to what it shall depend on; `new` are the names of tasks that are about to be added.
    """
    known = new or {}
    for id, others in edges.items():
        for other in others:
            if other == id:
                what = known.get(id, f"task #{id}")
                raise DependencyCycle(f"{what} cannot depend on itself", "leave that dependency out")
            if other not in known and board._number(other) not in board.cards and not board.is_done(other):
                board.card(task_id(other))
            blocker = board.cards.get(board._number(other)) if other not in known else None
            if blocker is not None and blocker.problem:
                raise BadTask(f"the file of #{other} cannot be read: {blocker.problem}", "mend or remove the file")
    circle = find_circle({**_edges_of(board), **_joined(board, edges)}, list(edges))
    if circle:
        raise DependencyCycle(
            "that would make a circle: " + " → ".join(known.get(id, f"#{id}") for id in circle),
            "leave one of these dependencies out",
        )


def _edges_of(board: Board) -> dict[str, Sequence[str]]:
    return {card.id: board.blockers(card) for card in board.cards.values() if board.blockers(card)}


def _joined(board: Board, edges: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    joined = {}
    for id, others in edges.items():
        card = board.cards.get(int(id)) if id.isdecimal() else None
        joined[id] = [*(board.blockers(card) if card else ()), *others]
    return joined


def find_circle(edges: Mapping[str, Sequence[str]], starts: Sequence[str]) -> list[str]:
    """A circle that passes through what is reachable from `starts`, as the ids along it; empty if there is none."""
    done: set[str] = set()
    for start in starts:
        trail: list[str] = []
        on_trail: set[str] = set()
        stack: list[tuple[str, int]] = [(start, 0)]
        while stack:
            node, at = stack.pop()
            if at == 0:
                if node in done:
                    continue
                trail.append(node)
                on_trail.add(node)
            others = edges.get(node, ())
            if at < len(others):
                stack.append((node, at + 1))
                other = others[at]
                if other in on_trail:
                    return [*trail[trail.index(other) :], other]
                stack.append((other, 0))
            else:
                done.add(node)
                trail.pop()
                on_trail.discard(node)
    return []
