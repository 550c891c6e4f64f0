"""Where members work that atm has given a worktree, so that what they did is committed before it counts as done."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class KeptWork:
    """What a member did for a task, on its branch."""

    __slots__ = ("base", "branch", "commit", "folder")

    def __init__(self, *, folder: str, branch: str, base: str, commit: str) -> None:
        self.folder = folder
        self.branch = branch
        self.base = base
        """The commit that it began with; the same as `commit` if nothing was changed."""
        self.commit = commit


class AgentPlaces(Protocol):
    """Of the members that atm has started."""

    def keep(self, team: str, member: str, task: str, message: str) -> KeptWork | None:
        """
        Commit all that is dirty where this member works on this task, in its name. None for everybody who works in a
        place of their own.
        """
