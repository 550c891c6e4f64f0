"""
The conflict radar: who changes the same files, or the same lines, as somebody else just now.

Whether two pieces of work go together is git's to say; here is decided whom to compare, and what to tell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import combinations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TARGET = ""
"""Stands for a task in a pair: the branch that all is merged into."""

MOST_FILES = 5

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? ", re.MULTILINE)


@dataclass(slots=True, kw_only=True)
class WorkNow:
    """What one agent has changed so far, or the target since somebody began."""

    task: str
    agent: str = ""
    files: list[str] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Collision:
    """Two that change the same files."""

    tasks: list[str]
    agents: list[str]
    files: list[str]
    conflicts: list[str] = field(default_factory=list)
    """Those of the files in which git could not put both together."""
    lines: dict[str, list[list[int]]] = field(default_factory=dict)
    """Of these files: first and last line of each place, as they were when the first of the two began."""

    @property
    def about(self) -> str:
        """The same two are told once."""
        return " ".join(sorted(self.tasks))


def meeting(works: Sequence[WorkNow]) -> Iterator[tuple[WorkNow, WorkNow, list[str]]]:
    """Pairs with files in common. Most pairs have none, and cost nothing more."""
    owners: dict[str, list[int]] = {}
    for number, work in enumerate(works):
        for path in work.files:
            owners.setdefault(path, []).append(number)
    shared: dict[tuple[int, int], list[str]] = {}
    for path, numbers in owners.items():
        for pair in combinations(dict.fromkeys(numbers), 2):
            shared.setdefault(pair, []).append(path)
    for (one, other), paths in sorted(shared.items()):
        yield works[one], works[other], sorted(paths)


def places_in(patch: str) -> list[tuple[int, int]]:
    """First and last line of each change, as the lines were numbered before."""
    found = []
    for match in _HUNK.finditer(patch):
        begin, count = int(match[1]), int(match[2]) if match[2] is not None else 1
        found.append((begin, begin + max(count, 1) - 1))
    return found


def common_places(one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Where both change the same lines, or lines that touch: git wants one line between two changes."""
    met = [(max(a, c), min(b, d)) for a, b in one for c, d in other if a <= d + 1 and c <= b + 1]
    return sorted([min(pair), max(pair)] for pair in {*met})


def owners(said: Mapping[str, tuple[str, Sequence[str]]], touched: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Whose each path is: by the files that tasks name, and by those that were changed for them. Two is a warning."""
    found: dict[str, list[str]] = {}
    for task, (agent, files) in said.items():
        for path in (*files, *touched.get(task, ())):
            if agent not in found.setdefault(path, []):
                found[path].append(agent)
    return dict(sorted(found.items()))


def warning(collision: Collision, me: str, titles: Mapping[str, str], target: str) -> str:
    """What one of the two is told."""
    mine = next((task for task, agent in zip(collision.tasks, collision.agents, strict=True) if agent == me), "")
    others = [(task, agent) for task, agent in zip(collision.tasks, collision.agents, strict=True) if task != mine]
    task, agent = others[0] if others else (TARGET, "")
    whose = f"#{task} {titles.get(task, '')} ({agent})" if task != TARGET else f"{target}, which was merged meanwhile"
    where = ", ".join(_where(path, collision) for path in collision.conflicts[:MOST_FILES])
    more = f" and {len(collision.conflicts) - MOST_FILES} more" if len(collision.conflicts) > MOST_FILES else ""
    advice = (
        f"Speak with {agent} about who changes what, or keep your change away from these lines"
        if agent
        else f"Look at it (`git diff HEAD...{target}`), and keep your change away from these lines"
    )
    return (
        f"Your #{mine} and {whose} change the same lines: {where}{more}. {advice}. Nothing is lost if you both go on: "
        "whoever is merged second is in conflict, and somebody resolves that."
    )


def _where(path: str, collision: Collision) -> str:
    places = collision.lines.get(path, [])
    said = ", ".join(f"{begin}-{end}" if begin != end else str(begin) for begin, end in places[:3])
    return f"{path} (lines {said})" if said else path
