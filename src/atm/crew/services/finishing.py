"""
The work of one task, from the commit that it begins with to the moment in which it is done or given up.

The same for every kind of agent: what it did is committed, then proven, then completed, and what was cut off is saved
first (D20).
"""

from __future__ import annotations

from atm.board.services import working as board
from atm.core.errors import AtmError, DiskError
from atm.core.untrusted_text import one_line
from atm.core.work_errors import ChecksFailed, GitTrouble
from atm.crew.services.hosting import end_commands
from atm.crew.services.reaping import worktree_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.tasks import Task
    from atm.crew.ports.worktrees import Repository
    from atm.crew.services.crewroom import Crewroom
    from atm.crew.services.hosting import Host, TaskWatch


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


def finish(host: Host, task: Task, result: str, watch: TaskWatch | None = None) -> str:
    """
    Why it is not done; empty if it is. The checks are part of the attempt: they end when its time limit has passed,
    with every process that they started.
    """
    boardroom, record = host.crew.boardroom, host.record
    result += f" on {record.branch}" if record.branch else ""
    seconds = watch.clock.left if watch is not None and watch.clock.limit else None
    try:
        board.complete(
            *(boardroom, record.team, record.member, task.id), result=result, claim_id=task.claim_id, seconds=seconds
        )
    except ChecksFailed as error:
        if watch is not None:
            watch.advance(has_output=host.machine.has_output())
            if watch.is_over_limit:
                end_commands(host)
                return f"{watch.why_over_limit}: {error}"
        return str(error)
    return ""


def is_of_the_machine(error: AtmError | OSError) -> bool:
    """
    Is it a full disk, a busy file or the like, which is no attempt of the task (D35)? Trouble with git may be the
    task's own doing: given back without blame, it would do the same again and again.
    """
    is_disk = isinstance(error, DiskError | OSError) and not isinstance(error, GitTrouble)
    return is_disk or "No space left" in str(error)


def give_back(host: Host, task: Task, error: AtmError | OSError) -> None:
    """No attempt is counted. The work, if there is any, is saved when its worktree goes."""
    why = f"{error}; {error.remedy}" if isinstance(error, AtmError) and error.remedy else str(error)
    host.machine.log(f"#{task.id} goes back to the board: {why}")
    try:
        board.give_back(host.crew.boardroom, host.record.team, host.record.member, task.id, why, task.claim_id)
    except AtmError as trouble:  # another process took the task in the meantime
        host.machine.log(str(trouble))


def give_up(host: Host, task: Task, why: str, *, final: bool = False) -> None:
    """
    The work is saved first: a reader of the failure finds what it left. Work that cannot be saved stays in its
    worktree; the attempt counts all the same, or the task would be done again without an end.
    """
    host.machine.log(f"#{task.id} failed: {why}")
    boardroom, record, worktree = host.crew.boardroom, host.record, worktree_of(host.record)
    try:
        if worktree is not None:
            said = why.partition("\n")[0].rstrip(":")[:200]
            host.crew.worktrees.save(worktree, record.team, task.id, said, branch=True)
    except (AtmError, OSError) as error:
        host.machine.log(f"its work could not be saved: {error}")
    try:
        board.fail(boardroom, record.team, record.member, task.id, why, claim_id=task.claim_id, final=final)
    except AtmError as error:  # it was taken from us meanwhile
        host.machine.log(str(error))
