"""Running what a task declares as proof, in the folder where the work was done."""

from __future__ import annotations

from atm.board.rules import claims
from atm.board.rules.acceptance import COMMIT, FILE, SUBJECTS, Ran, about, evidence, kind_of, why_not
from atm.board.services.boardroom import working_folder
from atm.board.services.marks import check_marks, own_shell
from atm.core.errors import AtmError
from atm.core.names import same_name
from atm.core.work_errors import ChecksFailed
from atm.team.rules.liveness import WORKING
from atm.team.services.presence import beat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.rules.tasks import Change, Task
    from atm.board.services.boardroom import Boardroom
    from atm.core.plain import Plain, Record
    from atm.team.rules.team import Team


CLAIM_EVERY = 1.0
"""Seconds between two checks, while a command runs, whether the task is still its claimant's."""
BEAT_EVERY = 30.0
CHECKING = "acceptance checks"
"""What the sign of life says of a member whose checks run."""


def verify(
    boardroom: Boardroom,
    team: Team,
    task: Task,
    who: str,
    commit: str,
    place: str = "",
    seconds: float | None = None,
) -> list[Plain]:
    """
    Run all checks, in order, in `place` if the work was done there. The first that fails raises ChecksFailed with its
    output.

    `seconds`: what is left of the attempt's time limit, for all checks together. None: only each check has its limit.
    """
    end = None if seconds is None else boardroom.clock.monotonic() + seconds
    folder = check_marks(boardroom, team, task, who, place or working_folder(boardroom, team, task, who))
    folder = folder or boardroom.stands_in
    if boardroom.is_server and not folder:  # the server's own folder is nobody's, and proves nothing
        raise own_shell(f"nobody knows where {who} works, so the checks of #{task.id}", team, task, who)
    at = boardroom.programs.commit_of(folder, "HEAD")  # whatever is named for checks of commits
    proof: list[Plain] = []
    for check in task.acceptance:
        limit = boardroom.check_seconds
        if end is not None:
            limit = min(limit, max(0.0, end - boardroom.clock.monotonic()))
        ran = _run(boardroom, team, task, who, check, folder, commit, limit)
        if ran.code != 0:
            _note_failure(boardroom, team, task, who, evidence(check, ran, at))
            raise ChecksFailed(
                f"#{task.id} is not completed: {why_not(check, ran, round(limit, 1))}",
                f"mend it and complete it again; checks run in {folder or 'the folder you are in'}",
            )
        proof.append(evidence(check, ran, at))
    return proof


def _note_failure(boardroom: Boardroom, team: Team, task: Task, who: str, failed: dict[str, Plain]) -> None:
    """On the board too: who goes on with the task would begin with the same failure. Whoever ran it is told anyway."""
    by = boardroom.stamp(who)

    def rule(now: Task) -> Change | None:
        is_theirs = now.is_claimed and same_name(now.owner, task.owner) and now.claim_id == task.claim_id
        return claims.note_failed_check(now, by, failed) if is_theirs else None

    try:
        with boardroom.tasks.turn(team.name) as turn:
            turn.change(task.id, rule)
    except AtmError as error:
        boardroom.room.troubles.note(f"#{task.id}: the check that failed could not be noted: {error}")


def _run(
    boardroom: Boardroom, team: Team, task: Task, who: str, check: Record, folder: str, commit: str, seconds: float
) -> Ran:
    if kind_of(check) not in SUBJECTS or not about(check).strip():
        return Ran(None, "this version of atm does not understand this check, so nothing is proven")
    if kind_of(check) == FILE:
        return boardroom.programs.find(folder, about(check))
    if kind_of(check) == COMMIT:
        return boardroom.programs.is_reachable(folder, commit or "HEAD", about(check))

    beaten = boardroom.clock.monotonic()

    def still_here() -> None:
        nonlocal beaten
        if (now := boardroom.clock.monotonic()) - beaten >= BEAT_EVERY:
            beaten = now
            beat(boardroom.presence, team, who, boardroom.clock.now(), CHECKING, state=WORKING)
        _check_still_claimed(boardroom, team, task)

    return boardroom.programs.run(
        about(check),
        folder=folder,
        seconds=seconds,
        facts={"ATM_TEAM": team.name, "ATM_IDENTITY": who, "ATM_TASK": task.id},
        meanwhile=still_here,
        every=CLAIM_EVERY,
    )


def _check_still_claimed(boardroom: Boardroom, team: Team, task: Task) -> None:
    """Raises TaskClosed or NotClaimant, which ends the check: nobody can complete the task with it any more."""
    try:
        now = boardroom.tasks.read(team.name, task.id)
    except AtmError:
        return  # its file is busy: the next look reads it, and completing it asks once more
    claims.check_claimant(now, task.owner, task.claim_id)
