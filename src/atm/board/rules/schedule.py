"""
The order of a plan: which tasks can be done at the same time, and which of those would touch the same files.

Pure, and about edges alone: what a task depends on, by id on a board or by position in a plan that is on none yet.
"""

from __future__ import annotations

from atm.board.rules.file_overlap import meeting_pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from atm.board.rules.dependencies import Board

    Id = TypeVar("Id", bound=Hashable)
    Edges = Mapping[Id, Sequence[Id]]

MOST_OVERLAPS = 1_000
"""Warnings that are given at once. Nobody reads more, and what overlaps so often has one cause."""


def edges_on(board: Board) -> dict[str, list[str]]:
    """
    What can still be done on a board, each with what it waits for among that, in the order of their numbers.

    What waits for something that is gone, failed or cancelled will never be done, and is left out.
    """
    lost = board.lost()
    edges = {
        card.id: board.open_blockers(card)
        for card in board.sorted()
        if not (card.is_finished or card.is_hidden or card.problem or card.number in lost)
    }
    waiting_in_vain = [id for id, others in edges.items() if any(other not in edges for other in others)]
    backwards = _turned(edges)
    while waiting_in_vain:
        id = waiting_in_vain.pop()
        if edges.pop(id, None) is not None:
            waiting_in_vain += backwards.get(id, ())
    return edges


def waves(edges: Edges[Id]) -> list[list[Id]]:
    """
    Tasks that can be done together, wave after wave; a task comes in the first wave in which it can.

    What is named and not among them counts as done. What waits for itself, in a circle, is in no wave.
    """
    waits_for = {id: len({other for other in others if other in edges}) for id, others in edges.items()}
    needed_by = _turned(edges)
    place = {id: number for number, id in enumerate(edges)}
    found: list[list[Id]] = []
    wave = [id for id, count in waits_for.items() if not count]
    while wave:
        found.append(wave)
        free: list[Id] = []
        for id in wave:
            for other in needed_by.get(id, ()):
                waits_for[other] -= 1
                if not waits_for[other]:
                    free.append(other)
        wave = sorted(free, key=place.__getitem__)
    return found


def overlaps(files: Mapping[Id, Sequence[str]], edges: Edges[Id]) -> list[tuple[list[Id], list[str]]]:
    """
    Groups of tasks whose files overlap though they do not wait for one another, and the patterns that do.

    In a group each task has at least one other beside which it could run. A warning, so `MOST_OVERLAPS` are enough.
    """
    order = {id: number for number, id in enumerate(files)}
    ids = list(files)
    beside = _beside(files, edges, order)
    naming: dict[str, int] = {}  # for every pattern, whose it is: one bit for each task
    for id, patterns in files.items():
        for pattern in patterns:
            naming[pattern] = naming.get(pattern, 0) | 1 << order[id]
    names = list(naming)
    found: dict[int, dict[str, None]] = {}
    for one, other in _meetings(names):
        ours, theirs = naming[names[one]], naming[names[other]]
        group = _with_company(ours, theirs, beside) | _with_company(theirs, ours, beside)
        if group:
            found.setdefault(group, {}).update(dict.fromkeys((names[one], names[other])))
            if len(found) == MOST_OVERLAPS:
                break
    groups = [([ids[bit] for bit in _bits(group)], [*patterns]) for group, patterns in found.items()]
    return sorted(groups, key=lambda each: [order[id] for id in each[0]])


def _meetings(names: Sequence[str]) -> Iterator[tuple[int, int]]:
    yield from ((at, at) for at in range(len(names)))
    yield from meeting_pairs(names)


def _beside(files: Mapping[Id, Sequence[str]], edges: Edges[Id], order: Mapping[Id, int]) -> list[int]:
    """For every task a number whose bits are the others that neither wait for it nor it for them."""
    flow = [id for wave in waves(edges) for id in wave]
    everyone = (1 << len(order)) - 1
    related = [1 << number for number in range(len(order))]
    for next_ones, sequence in ((edges, flow), (_turned(edges), flow[::-1])):
        reached: dict[Id, int] = {}
        for id in sequence:
            bits = 0
            for other in next_ones.get(id, ()):
                bits |= reached.get(other, 0) | (1 << order[other] if other in order else 0)
            reached[id] = bits
            if id in order:
                related[order[id]] |= bits
    return [everyone & ~related[order[id]] for id in files]


def _with_company(ours: int, theirs: int, beside: list[int]) -> int:
    return sum(1 << bit for bit in _bits(ours) if beside[bit] & theirs)


def _bits(number: int) -> list[int]:
    """Which are set, the lowest first."""
    text = bin(number)[:1:-1]
    found, at = [], text.find("1")
    while at >= 0:
        found.append(at)
        at = text.find("1", at + 1)
    return found


def _turned(edges: Edges[Id]) -> dict[Id, list[Id]]:
    backwards: dict[Id, list[Id]] = {}
    for id, others in edges.items():
        for other in dict.fromkeys(others):
            if other in edges:
                backwards.setdefault(other, []).append(id)
    return backwards
