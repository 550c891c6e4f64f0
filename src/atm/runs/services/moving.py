"""
What a team recorded of its repository, after the repository was moved: paths that are still to be used are rewritten.

Worktrees are outside the repository and stay where they are; git and atm are told where their repository is now.
"""

from __future__ import annotations

from dataclasses import replace

from atm.core.errors import AtmError
from atm.roster.services.members import update_member
from atm.team.rules.repositories import folder_of
from atm.team.services.leading import change_lead
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.runs.services.runroom import Runroom
    from atm.team.rules.lead_session import LeadSession


class RepositoryMove:
    """A repository was at one path and is at another."""

    __slots__ = ("after", "before")

    def __init__(self, before: str, after: str) -> None:
        self.before = before
        """The git common directory."""
        self.after = after

    def path(self, path: str) -> str:
        """Where a path in the repository, or in its git folder, is now. Others stay."""
        for before, after in ((self.before, self.after), (folder_of(self.before), folder_of(self.after))):
            if path == before or path.startswith(f"{before}/"):
                return f"{after}{path[len(before) :]}"
        return path


def follow(desk: Runroom, team: str, move: RepositoryMove, *, has_worktrees: bool) -> list[str]:
    """
    Rewrite what the team recorded. What could not be rewritten, in words: the rest is done all the same.

    Without `has_worktrees` a repository is still at the former place, and the worktrees are left to it.
    """
    if move.before == move.after:
        return []
    steps = (*((_worktrees, _agents) if has_worktrees else ()), _members, _lead, _runs, _queue)
    warnings = []
    for step in steps:
        try:
            step(desk, team, move)
        except AtmError as error:
            warnings.append(str(error))
    return warnings


def _worktrees(desk: Runroom, team: str, move: RepositoryMove) -> None:
    desk.crew.worktrees.follow(team, move.before, move.after)


def _agents(desk: Runroom, team: str, move: RepositoryMove) -> None:
    records = desk.crew.records
    for member in records.names(team):
        with records.turn(team, member) as turn:
            record = turn.record
            if record is not None and (move.path(record.common), move.path(record.folder)) != (
                record.common,
                record.folder,
            ):
                turn.write(replace(record, common=move.path(record.common), folder=move.path(record.folder)))


def _members(desk: Runroom, team: str, move: RepositoryMove) -> None:
    for member in find_team(desk.crew.room, team).members:
        if move.path(member.cwd) != member.cwd:
            update_member(desk.crew.room, team, member.name, {"cwd": move.path(member.cwd)})


def _lead(desk: Runroom, team: str, move: RepositoryMove) -> None:
    def change(lead: LeadSession) -> LeadSession | None:
        made = replace(lead, folder=move.path(lead.folder), common=move.path(lead.common))
        return made if made != lead else None

    change_lead(desk.crew.room, team, change)


def _runs(desk: Runroom, team: str, move: RepositoryMove) -> None:
    """Only orders that are as atm wrote them: to write one is to seal it."""
    for run in desk.runs.names(team):
        order = desk.runs.order(team, run)
        if order is None or move.path(order.folder) == order.folder or not desk.runs.is_as_written(team, run):
            continue
        order.folder = move.path(order.folder)
        order.plan_file = move.path(order.plan_file)
        desk.runs.write(order)


def _queue(desk: Runroom, team: str, move: RepositoryMove) -> None:
    merges = desk.merges.merges
    with merges.hold(team):
        queue = merges.read(team)
        if queue is not None and move.path(queue.folder) != queue.folder:
            queue.folder = move.path(queue.folder)
            merges.write(queue)
