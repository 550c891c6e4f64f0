"""Clearing away what a run left: its branches and its folder. What would be lost is saved first (D20)."""

from __future__ import annotations

from atm.domain.crew.refs import names_in
from atm.domain.errors import AtmError
from atm.domain.merges.items import MERGED
from atm.services.runs.starting import memory_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.runs.orders import RunOrder
    from atm.ports.crew.worktrees import Repository
    from atm.services.runs.runroom import Runroom


class RunCleaned:
    """What went, and what was saved."""

    __slots__ = ("branches", "saved")

    def __init__(self) -> None:
        self.branches: list[str] = []
        self.saved: list[str] = []


def _merged(desk: Runroom, order: RunOrder, repository: Repository) -> set[str]:
    """Branches of which everything is on the target, as these or as other commits: there is nothing to be saved."""
    room = desk.merges
    try:
        queue = room.merges.read(order.team)
    except AtmError:
        return set()
    whole = [one for one in queue.items if one.status == MERGED and not one.lost] if queue is not None else []
    return {
        one.branch
        for one in whole
        if queue is not None
        and room.git.head(repository, one.branch) == one.head
        and room.git.contains(repository, queue.branch, one.commit)
    }


def clean(desk: Runroom, order: RunOrder) -> RunCleaned:
    """Branches of its tasks, those of failed attempts too; then the folder that knows which tasks these were."""
    done, memory = RunCleaned(), memory_of(desk.runs, order.team, order.run)
    crew = desk.crew
    repository = crew.worktrees.repository(order.folder)
    if repository is not None:
        merged = _merged(desk, order, repository)
        before = {one.id for one in crew.worktrees.saved(repository.common, order.team)}
        for one in crew.worktrees.unused(order.team):
            task = (names_in(one.branch.rpartition("/")[2]) or ("", ""))[0]
            if one.common == repository.common and task in memory.tasks:
                if one.branch in merged:
                    crew.worktrees.discard(one)
                else:
                    crew.worktrees.remove(one, branch=True)
                done.branches.append(one.branch)
        after = [one.id for one in crew.worktrees.saved(repository.common, order.team)]
        done.saved = [id for id in after if id not in before]
    desk.runs.remove(order.team, order.run)
    return done
