"""What merging is done with."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.services.crewroom import Crewroom
    from atm.files.ports.clock import Clock
    from atm.merges.ports import MergeGit, Merges
    from atm.roster.services.full_boardroom import FullBoardroom

NOBODY = "none"


@dataclass(slots=True, kw_only=True)
class MergePolicy:
    """Every one is a setting (`merges.*`)."""

    strategy: str = "rebase"
    at_once: int = 1
    """How many are merged together before the checks run."""
    check: str = ""
    """A command that must succeed after every merge, beside the checks of the tasks."""
    resolver: str = ""
    """The runtime that resolves conflicts; `none` for nobody; empty for the first of a run that has a mind."""
    command: str = ""
    """A command that resolves conflicts."""
    resolve: float = 1200.0
    sends_back: int = 2
    """How often a task is opened again because it is red together with others."""
    radar: float = 15.0
    """Seconds between two looks at what agents change; 0 for none."""


class Mergeroom:
    """Ports, policy, and who resolves."""

    __slots__ = ("crew", "git", "merges", "policy")

    def __init__(self, crew: Crewroom, merges: Merges, git: MergeGit, policy: MergePolicy | None = None) -> None:
        self.crew = crew
        self.merges = merges
        self.git = git
        self.policy = policy or MergePolicy()

    def resolver(self, proposed: str) -> str:
        """The runtime that resolves conflicts: what the user says, or what a run proposes. Empty for nobody."""
        chosen = self.policy.resolver or proposed
        return "" if chosen == NOBODY else chosen

    @property
    def boardroom(self) -> FullBoardroom:
        return self.crew.boardroom

    @property
    def clock(self) -> Clock:
        return self.crew.clock
