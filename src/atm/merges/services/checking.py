"""Checks of merged work, in a worktree of its own in which nobody works."""

from __future__ import annotations

from atm.board.rules.acceptance import COMMIT, FILE, about, is_command, kind_of, said_by
from atm.board.services.marks import check_marks
from atm.core.errors import AtmError
from atm.core.work_errors import SpawnFailed
from atm.crew.rules.refs import QUEUE
from atm.merges.rules.items import MergeCheck
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.board.rules.acceptance import Ran
    from atm.core.plain import Record
    from atm.crew.ports.worktrees import Repository, Worktree
    from atm.merges.rules.items import MergeItem
    from atm.merges.services.mergeroom import Mergeroom

CHECKS = "merge"
"""Stands for the task in the name of the worktree."""

OUTPUT_KEPT = 2000


class CheckPlace:
    """Made when the first check needs it, and moved from commit to commit: caches stay."""

    def __init__(self, room: Mergeroom, repository: Repository, team: str) -> None:
        self._room = room
        self._repository = repository
        self._team = team
        self._place: Worktree | None = None
        self._known: dict[str, list[Record]] = {}

    def is_checked(self, items: Sequence[MergeItem]) -> bool:
        """Is there anything to check?"""
        return bool(self._room.policy.check) or any(self._checks_of(one) for one in items)

    def run(self, commit: str, items: Sequence[MergeItem]) -> list[MergeCheck]:
        """The user's own check and those of these tasks, on a commit, up to the first that fails."""
        if not self.is_checked(items):
            return []
        place = self._at(commit)
        done: list[MergeCheck] = []
        commands: dict[str, MergeItem | None] = {self._room.policy.check: None} if self._room.policy.check else {}
        for item in items:
            for check in self._checks_of(item):
                if is_command(check):
                    commands.setdefault(about(check), item)
                elif kind_of(check) == FILE:
                    found = self._room.boardroom.programs.find(place.path, about(check))
                    done.append(_judged(f"file {about(check)}", found))
        for command, owner in commands.items():
            if done and not done[-1].ok:
                break
            done.append(_judged(command, self._run(place, command, owner)))
        return done

    def _checks_of(self, item: MergeItem) -> list[Record]:
        """Each command is one to which somebody of the team has put their name (D25). Raises NotTrusted."""
        if item.task not in self._known:
            boardroom = self._room.boardroom
            task = boardroom.tasks.read(self._team, item.task)
            check_marks(boardroom, find_team(boardroom.room, self._team), task, item.agent, "")
            self._known[item.task] = [one for one in task.acceptance if kind_of(one) != COMMIT]
        return self._known[item.task]

    def _run(self, place: Worktree, command: str, owner: MergeItem | None) -> Ran:
        boardroom = self._room.boardroom
        facts = {"ATM_TEAM": self._team, "ATM_WORKTREE": place.path}
        if owner is not None:
            facts |= {"ATM_TASK": owner.task, "ATM_IDENTITY": owner.agent}
        return boardroom.programs.run(command, folder=place.path, seconds=boardroom.check_seconds, facts=facts)

    def _at(self, commit: str) -> Worktree:
        if self._place is None:
            crew = self._room.crew
            self._place = crew.worktrees.make(self._repository, self._team, CHECKS, QUEUE, commit)
            if crew.policy.setup:
                ran = crew.boardroom.programs.run(crew.policy.setup, folder=self._place.path, seconds=crew.policy.task)
                if ran.code != 0:
                    raise SpawnFailed(f"`{crew.policy.setup}` failed in the worktree for checks: {said_by(ran)[-500:]}")
        self._room.git.stand(self._place, commit)
        return self._place

    def clear(self) -> None:
        """It goes. Nobody worked there, so nothing has to be saved."""
        if self._place is None:
            return
        place, self._place = self._place, None
        try:
            self._room.crew.worktrees.discard(place)
        except (AtmError, OSError) as error:
            self._room.crew.room.troubles.note(f"the worktree for checks stays: {error}")


def _judged(command: str, ran: Ran) -> MergeCheck:
    is_fine = ran.code == 0
    said = "" if is_fine else said_by(ran).strip()[-OUTPUT_KEPT:]
    if ran.timed_out:
        said = f"it did not end in time\n{said}"
    return MergeCheck(command=command, ok=is_fine, code=ran.code, output=said)


def failed(checks: Sequence[MergeCheck]) -> MergeCheck | None:
    return next((one for one in checks if not one.ok), None)
