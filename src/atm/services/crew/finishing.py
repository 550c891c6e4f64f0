"""
The work of one task, from the commit that it begins with to the moment in which it is done or given up.

The same for every kind of agent: what it did is committed, then proven, then completed, and what was cut off is saved
first (D20).
"""

from __future__ import annotations

from atm.domain.errors import AtmError
from atm.domain.untrusted_text import one_line
from atm.domain.work_errors import ChecksFailed, GitTrouble
from atm.services.board import working as board
from atm.services.crew.reaping import worktree_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.board.tasks import Task
    from atm.ports.crew.worktrees import Repository
    from atm.services.crew.crewroom import Crewroom
    from atm.services.crew.hosting import Host


def start_of(crew: Crewroom, repository: Repository, team: str, task: Task, start: str = "") -> str:
    """The commit that a task begins with: where the run began, and the work of everything that it depends on."""
    done = [_work_of(crew, team, id) for id in crew.boardroom.tasks.board(team).blockers(task)]
    tips = [start or repository.head, *(commit for commit in done if commit)]
    if len(tips) == 1:
        return start
    joined = crew.worktrees.join(repository, tips, f"What #{task.id} of {team} builds on")
    if not joined.commit:
        files = ", ".join(map(one_line, joined.conflicts[:10]))
        raise GitTrouble(f"what #{task.id} builds on does not go together: {files}", "join it by hand, as one task")
    return joined.commit


def _work_of(crew: Crewroom, team: str, id: str) -> str:
    try:
        work = crew.boardroom.tasks.read(team, id).part("work")
    except AtmError:
        return ""  # it is gone from the board, which counts as done
    commit = work.get("merged") or work.get("commit")
    return commit if isinstance(commit, str) else ""


def former_work(crew: Crewroom, repository: Repository, task: Task, start: str) -> str:
    """
    For a task that was sent back from merging: a commit with what it had done and with what it begins with, to go on
    from. What it had done alone, where these do not go together; empty if there is none.
    """
    former = task.part("work").get("former")
    if not isinstance(former, str) or not former:
        return ""
    joined = crew.worktrees.join(repository, [start or repository.head, former], f"#{task.id}, and what it must fit")
    return joined.commit or former


def finish(host: Host, task: Task, result: str) -> str:
    """Why it is not done; empty if it is."""
    record = host.record
    result += f" on {record.branch}" if record.branch else ""
    try:
        board.complete(host.crew.boardroom, record.team, record.member, task.id, result=result, claim_id=task.claim_id)
    except ChecksFailed as error:
        return str(error)
    return ""


def give_up(host: Host, task: Task, why: str, *, final: bool = False) -> None:
    """Saved first: whoever sees that it failed finds what it left."""
    host.machine.log(f"#{task.id} failed: {why}")
    boardroom, record, worktree = host.crew.boardroom, host.record, worktree_of(host.record)
    try:
        if worktree is not None:
            said = why.partition("\n")[0].rstrip(":")[:200]
            host.crew.worktrees.save(worktree, record.team, task.id, said, branch=True)
        board.fail(boardroom, record.team, record.member, task.id, why, claim_id=task.claim_id, final=final)
    except AtmError as error:  # it was taken from us meanwhile
        host.machine.log(str(error))
