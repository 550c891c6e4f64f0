"""Clearing away what a run left: its branches and its folder. What would be lost is saved first (D20)."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.crew.rules.refs import names_in
from atm.merges.rules.items import MERGED
from atm.runs.services.starting import memory_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.crew.ports.worktrees import Repository, Worktree
    from atm.runs.rules.orders import RunOrder
    from atm.runs.services.runroom import Runroom


class RunCleaned:
    """What went, and what was saved."""

    __slots__ = ("branches", "merged", "saved")

    def __init__(self) -> None:
        self.branches: list[str] = []
        self.merged: list[str] = []
        """Those of the branches whose work is on the target."""
        self.saved: list[str] = []


class RunLeft:
    """What a run has left that can be removed."""

    __slots__ = ("branches", "folder", "into", "merged", "repository")

    def __init__(self, folder: str, into: str, repository: Repository | None) -> None:
        self.folder = folder
        self.into = into
        """The branch that stays, with everything that was merged; empty if nothing is merged."""
        self.repository = repository
        self.branches: list[Worktree] = []
        self.merged: set[str] = set()
        """Names of those whose work is on the target."""


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


def left_by(desk: Runroom, order: RunOrder) -> RunLeft:
    """Branches of its tasks, those of failed attempts too. Nothing is changed."""
    crew, memory = desk.crew, memory_of(desk.runs, order.team, order.run)
    repository = crew.worktrees.repository(order.folder)
    left = RunLeft(desk.runs.folder(order.team, order.run), order.into if order.merges else "", repository)
    if repository is None:
        return left
    left.merged = _merged(desk, order, repository)
    for one in crew.worktrees.unused(order.team):
        task = (names_in(one.branch.rpartition("/")[2]) or ("", ""))[0]
        if one.common == repository.common and task in memory.tasks:
            left.branches.append(one)
    return left


def clean(desk: Runroom, order: RunOrder) -> RunCleaned:
    """The branches; then the folder that knows which tasks these were."""
    done, left, crew = RunCleaned(), left_by(desk, order), desk.crew
    if left.repository is not None:
        before = {one.id for one in crew.worktrees.saved(left.repository.common, order.team)}
        for one in left.branches:
            if one.branch in left.merged:
                crew.worktrees.discard(one)
                done.merged.append(one.branch)
            else:
                crew.worktrees.remove(one, branch=True)
            done.branches.append(one.branch)
        after = [one.id for one in crew.worktrees.saved(left.repository.common, order.team)]
        done.saved = [id for id in after if id not in before]
    desk.runs.remove(order.team, order.run)
    return done
