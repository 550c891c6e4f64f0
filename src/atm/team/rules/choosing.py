"""
Which team is meant where nobody says so.

Narrowed down step by step, each from what is known for sure: whose process asks, which repository this is, whose
rosters the asker is on, which folder. A step that leaves nobody over is passed over. What is not down to one by then is
not guessed. Teams of Claude Code's sessions come and go by themselves: they are meant only by their own agents.
"""

from __future__ import annotations

from atm.core.names import is_claudes_team, same_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from atm.team.rules.repositories import RepositoryHere

ONLY, PROCESS, REPOSITORY, ROSTER, FOLDER = "only", "process", "repository", "roster", "folder"
IN_WORDS = {
    ONLY: "the only one",
    PROCESS: "that of the agent that asks",
    REPOSITORY: "the one that works in this repository",
    ROSTER: "the only one that you are in",
    FOLDER: "the one of this folder",
}
"""Why a team was chosen."""


class Candidate:
    """A team as far as the choice goes: its members and where each of them works."""

    __slots__ = ("folders", "is_bound_elsewhere", "is_bound_here", "name")

    def __init__(
        self, name: str, folders: dict[str, str], *, is_bound_here: bool = False, is_bound_elsewhere: bool = False
    ) -> None:
        self.name = name
        self.folders = folders
        self.is_bound_here = is_bound_here
        """Does it belong to the repository that the caller is in?"""
        self.is_bound_elsewhere = is_bound_elsewhere
        """Does it belong to another one? Then no name of a folder makes it this one's."""

    def has(self, who: str) -> bool:
        return any(same_name(who, name) for name in self.folders)

    def works_in(self, root: str) -> bool:
        return any(folder == root or folder.startswith(f"{root}/") for folder in self.folders.values() if folder)


class Whereabouts:
    """Where somebody asks from, and who they are. A name that nobody gave (`human`) is none."""

    __slots__ = ("folder", "me", "repository", "root")

    def __init__(
        self, *, me: str = "", root: str = "", folder: str = "", repository: RepositoryHere | None = None
    ) -> None:
        self.repository = repository
        self.me = me
        self.root = root
        """The repository, or the folder itself."""
        self.folder = folder


def choose(candidates: Iterable[Candidate], at: Whereabouts, own: Iterable[str] = ()) -> tuple[str, str]:
    """The team and why; both empty if it cannot be told. `own` are the teams of the agent whose process asks."""
    every = [*candidates]
    mine = [one for one in every if one.name in own]
    if len(mine) == 1:
        return mine[0].name, PROCESS
    ours = [one for one in every if not is_claudes_team(one.name)]
    if len(ours) == 1:
        return ours[0].name, ONLY
    if at.me and not any(one.has(at.me) for one in ours):
        claudes = [one for one in every if one.has(at.me)]
        if len(claudes) == 1:
            return claudes[0].name, ROSTER
    return _narrowed(ours, at)


def _is_of(one: Candidate, folder: str) -> bool:
    return folder in one.folders.values() or same_name(one.name, folder.rpartition("/")[2])


def _narrowed(left: list[Candidate], at: Whereabouts) -> tuple[str, str]:
    steps: list[tuple[str, Callable[[Candidate], bool]]] = [
        (REPOSITORY, lambda one: one.is_bound_here),
        (REPOSITORY, lambda one: bool(at.root) and one.works_in(at.root) and not one.is_bound_elsewhere),
        (ROSTER, lambda one: bool(at.me) and one.has(at.me)),
        (FOLDER, lambda one: bool(at.folder) and _is_of(one, at.folder) and not one.is_bound_elsewhere),
    ]
    for why, fits in steps:
        left = [one for one in left if fits(one)] or left
        if len(left) == 1:
            return left[0].name, why
    return "", ""
