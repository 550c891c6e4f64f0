"""Worktrees of agents, as the board sees them: implements `board.ports.workplaces.AgentPlaces`."""

from __future__ import annotations

from atm.board.ports.workplaces import KeptWork
from atm.crew.ports.worktrees import Worktree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.crew.ports.agents import AgentRecords
    from atm.crew.ports.worktrees import Worktrees


class AgentWorkplaces:
    """By the record of the agent, which nobody else writes."""

    def __init__(self, records: AgentRecords, worktrees: Callable[[], Worktrees]) -> None:
        self._records = records
        self._worktrees = worktrees
        """Made when it is needed: most who complete a task were started by themselves."""

    def keep(self, team: str, member: str, task: str, message: str) -> KeptWork | None:
        record = self._records.read(team, member)
        if record is None or record.is_over or record.task != task or not record.worktree:
            return None
        place = Worktree(path=record.worktree, branch=record.branch, base=record.base, common=record.common)
        commit = self._worktrees().commit(place, record.member, message)
        return KeptWork(folder=place.path, branch=place.branch, base=place.base, commit=commit)
