"""
Where the tasks of a graph stand in a drawing: in which layer, in which order, at which height.

The classic recipe (Sugiyama): break circles, put each task one layer behind its last dependency, let links that skip
layers reserve a lane in each of them, sort each layer by the middle of its neighbours, then move boxes towards them.
Pure: takes tasks, returns numbers. Every step is a loop, so a chain of thousands cannot exhaust the stack.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Place = tuple[str, int]
    """A task and a layer: its box if that is its own layer, else the lane of its links to later ones."""

SWEEPS = 4
"""Passes over the layers, there and back. More of them hardly remove a crossing."""

MOST_LANES = 5_000
"""Beyond that a drawing is a carpet anyway, and its links go straight."""


class Node:
    """A task as a drawing needs it."""

    __slots__ = ("depends_on", "id", "label", "owner", "state")

    def __init__(self, id: str, label: str, state: str, owner: str = "", depends_on: Iterable[str] = ()) -> None:
        self.id = id
        self.label = label
        self.state = state
        self.owner = owner
        self.depends_on = list(depends_on)


class Arrangement:
    """
    The tasks in layers.

    `depends_on` holds the links that are drawn, dependencies before dependants; `cut` those (task, dependency) that
    closed a circle and were left out. `columns` are the layers with the lanes of long links in them; `before` says
    to which places of earlier columns each place is linked.
    """

    __slots__ = ("before", "columns", "cut", "depends_on", "layer_of")

    def __init__(self, depends_on: dict[str, list[str]], cut: list[tuple[str, str]]) -> None:
        self.depends_on = depends_on
        self.cut = cut
        self.layer_of = _longest_paths(depends_on)
        self.before = _links(depends_on, self.layer_of)
        self.columns = _ordered(_columns(self.before), self.before)

    @property
    def layers(self) -> list[list[str]]:
        return [[task for task, layer in column if self.layer_of[task] == layer] for column in self.columns]


def arrange(nodes: Sequence[Node]) -> Arrangement:
    """Give every task a layer and a place in it. Of two tasks with the same id the first counts."""
    known: dict[str, Node] = {}
    for node in nodes:
        known.setdefault(node.id, node)
    wanted = {
        task: sorted({other for other in known[task].depends_on if other in known}, key=by_number)
        for task in sorted(known, key=by_number)
    }
    return Arrangement(*_without_circles(wanted))


def layers(nodes: Sequence[Node]) -> list[list[str]]:
    """The ids in layers, each task behind everything that it depends on."""
    return arrange(nodes).layers


def by_number(task: str) -> tuple[int, int, str]:
    """Sorts 2 before 10, and ids that are no numbers after those that are."""
    plain = task.isascii() and task.isdecimal() and len(task) < 19
    return (0, int(task), task) if plain else (1, 0, task)


def needed_links(depends_on: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The links that say something new: if 3 waits for 2 and 2 for 1, that 3 waits for 1 goes without saying."""
    bit = {task: 1 << number for number, task in enumerate(depends_on)}
    above: dict[str, int] = {}
    needed: dict[str, list[str]] = {}
    for task, others in depends_on.items():
        implied = own = 0
        for other in others:
            implied |= above[other]
            own |= bit[other]
        needed[task] = [other for other in others if not implied & bit[other]]
        above[task] = implied | own
    return needed


def _without_circles(wanted: Mapping[str, list[str]]) -> tuple[dict[str, list[str]], list[tuple[str, str]]]:
    """The links without those that lead back to where we come from; tasks come out behind their dependencies."""
    kept: dict[str, list[str]] = {}
    cut: list[tuple[str, str]] = []
    links: dict[str, list[str]] = {}
    for root in wanted:
        trail = [] if root in links else [(root, iter(wanted[root]))]
        links.setdefault(root, [])
        while trail:
            task, rest = trail[-1]
            for other in rest:
                if other in links and other not in kept:  # begun and not finished: it is on our trail
                    cut.append((task, other))
                    continue
                links[task].append(other)
                if other not in links:
                    links[other] = []
                    trail.append((other, iter(wanted[other])))
                    break
            else:
                kept[task] = links[task]
                trail.pop()
    return kept, cut


def _longest_paths(depends_on: Mapping[str, Sequence[str]]) -> dict[str, int]:
    layer_of: dict[str, int] = {}
    for task, others in depends_on.items():
        layer_of[task] = max((layer_of[other] + 1 for other in others), default=0)
    return layer_of


def _links(depends_on: Mapping[str, Sequence[str]], layer_of: Mapping[str, int]) -> dict[Place, list[Place]]:
    """Each place with those before it. The links of a task to all later layers share one lane."""
    channels = dict(layer_of)
    for task, others in depends_on.items():
        for other in others:
            channels[other] = max(channels[other], layer_of[task] - 1)
    with_lanes = sum(channels[task] - layer_of[task] for task in channels) <= MOST_LANES
    before: dict[Place, list[Place]] = {}
    for task, others in depends_on.items():
        layer = layer_of[task]
        before[task, layer] = [(other, layer - 1 if with_lanes else layer_of[other]) for other in others]
        if with_lanes:
            before.update({(task, lane): [(task, lane - 1)] for lane in range(layer + 1, channels[task] + 1)})
    return before


def _columns(places: Iterable[Place]) -> list[list[Place]]:
    columns: list[list[Place]] = []
    for place in sorted(places, key=lambda place: (place[1], by_number(place[0]))):
        if len(columns) == place[1]:
            columns.append([])
        columns[-1].append(place)
    return columns


def _reversed(before: Mapping[Place, Sequence[Place]]) -> dict[Place, list[Place]]:
    after: dict[Place, list[Place]] = {place: [] for place in before}
    for place, others in before.items():
        for other in others:
            after[other].append(place)
    return after


def _ordered(columns: list[list[Place]], before: Mapping[Place, Sequence[Place]]) -> list[list[Place]]:
    """Sort each column by the middle of its neighbours, from the left and from the right in turn."""
    after = _reversed(before)
    where: dict[Place, float] = {}
    for column in columns:
        _note_positions(column, where)
    for sweep in range(SWEEPS):
        neighbours, order = (after, reversed(columns)) if sweep % 2 else (before, iter(columns))
        for column in order:
            middle = {place: _mean(where, neighbours[place], where[place]) for place in column}
            column.sort(key=middle.__getitem__)
            _note_positions(column, where)
    return columns


def _note_positions(column: Sequence[Place], where: dict[Place, float]) -> None:
    """As shares of the column: columns of different heights are compared."""
    for index, place in enumerate(column):
        where[place] = (index + 0.5) / len(column)


def _mean(where: Mapping[Place, float], places: Sequence[Place], otherwise: float) -> float:
    return sum([where[place] for place in places]) / len(places) if places else otherwise


def heights(arrangement: Arrangement, box: float, lane: float) -> dict[Place, float]:
    """The middle of each place, from 0 downwards, near its neighbours; `box` and `lane` include the space between."""
    where: dict[Place, float] = {}
    size = {
        place: box if arrangement.layer_of[place[0]] == place[1] else lane
        for column in arrangement.columns
        for place in column
    }
    for column in arrangement.columns:
        where.update(_settled(column, size, dict.fromkeys(column, 0.0)))
    after = _reversed(arrangement.before)
    for sweep in range(2 * SWEEPS):
        for column in arrangement.columns[:: -1 if sweep % 2 else 1]:
            wish = {p: _mean(where, [*arrangement.before[p], *after[p]], where[p]) for p in column}
            where.update(_settled(column, size, wish))
    top = min((where[place] - size[place] / 2 for place in where), default=0.0)
    return {place: y - top for place, y in where.items()}


def _settled(
    column: Sequence[Place], size: Mapping[Place, float], wish: Mapping[Place, float]
) -> list[tuple[Place, float]]:
    """
    The heights nearest to what each place wishes, in order and without overlap.

    Places that want the same room become a block that stands at the middle of its wishes (isotonic regression:
    pool adjacent violators), which is the best answer there is, in one pass.
    """
    offset, offsets = 0.0, []
    blocks: list[tuple[float, int]] = []  # the mean wish of a block, and how many places it has
    for place in column:
        offset += size[place] / 2
        offsets.append(offset)
        mean, count = wish[place] - offset, 1
        offset += size[place] / 2
        while blocks and blocks[-1][0] >= mean:
            other, more = blocks.pop()
            mean, count = (mean * count + other * more) / (count + more), count + more
        blocks.append((mean, count))
    bases = [mean for mean, count in blocks for _ in range(count)]
    return [(place, base + down) for place, base, down in zip(column, bases, offsets, strict=True)]
