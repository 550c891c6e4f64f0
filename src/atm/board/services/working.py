"""
The board: claim, start, complete, fail, release, assign, cancel, comment.

Everything that decides between two members happens in a turn, on a fresh look at the files. What takes long (checks,
hooks) happens before it, and what was true then is asked again inside.
"""

from __future__ import annotations

from atm.board.rules import claims, plans, reviews
from atm.board.rules.tasks import COMPLETED, MOST_COMMENTS, PENDING, Change, check_said, check_text, task_id
from atm.board.services.boardroom import open_team, sign_of_life
from atm.board.services.leaving import release_in_turn
from atm.board.services.marks import marker_for
from atm.core.errors import UnreadableFile
from atm.core.names import same_name
from atm.core.work_errors import ChecksFailed, NoSuchTask, TaskClosed
from atm.team.formats.team_config import must_plan
from atm.team.rules.liveness import IDLE, WORKING
from atm.team.rules.team import is_boss as is_named_boss
from atm.team.services.lifecycle import note_activity
from atm.team.services.presence import beat
from atm.team.services.standing import is_boss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.board.ports.tasks import Turn
    from atm.board.ports.workplaces import KeptWork
    from atm.board.rules.dependencies import Board
    from atm.board.rules.tasks import Refusal, Task
    from atm.board.services.boardroom import Boardroom
    from atm.board.services.hooks import HookVerdict
    from atm.core.plain import Plain, Record
    from atm.team.rules.team import Team

MOST_ATTEMPTS = 20
"""Candidates that other programs may take from under our nose before we say that nothing can be had."""


class Claimed:
    """What a claimant got, or why nothing."""

    __slots__ = ("board", "is_resumed", "overlaps", "refusal", "released", "task", "verdict")

    def __init__(self) -> None:
        self.board: Board
        """As it was at the end of the turn."""
        self.task: Task | None = None
        self.refusal: Refusal | None = None
        self.is_resumed = False
        self.released: list[str] = []
        """Tasks taken back from members that went silent."""
        self.overlaps: dict[str, list[str]] = {}
        """Tasks in progress whose files overlap with this one's, and which of their patterns do."""
        self.verdict: HookVerdict | None = None
        """What the hook for idle members said."""

    @property
    def warnings(self) -> list[str]:
        """What a claimant should know, and what stopped nothing."""
        released = [f"#{id} was taken back from a member that went silent" for id in self.released]
        touched = [
            f"#{id} is in progress and touches the same files: {', '.join(patterns[:5])}"
            for id, patterns in self.overlaps.items()
        ]
        return [*released, *touched, *(self.verdict.warnings if self.verdict is not None else ())]

    @property
    def why_nothing(self) -> str:
        return self.refusal.why if self.refusal is not None else "other programs took every task from under our nose"


class _Sign:
    """The one sign of life that a claim leaves: with what the claimant does from now on, as soon as that is clear."""

    __slots__ = ("_boardroom", "_former", "_said", "_team", "_who", "task")

    def __init__(self, boardroom: Boardroom, team: Team, who: str) -> None:
        self.task: str | None = None
        """What was claimed, once that is known."""
        self._boardroom = boardroom
        self._team = team
        self._who = who
        self._former: str | None = None
        """What they did before, once that is known."""
        self._said: str | None = None

    def leave(self, state: str) -> bool:
        """Were they something else before? Who says nothing about that (an empty state) is what they were."""
        wanted = state or self._former or (IDLE if self._said else "")
        if self._said is None or self._said != wanted:
            now, source = self._boardroom.clock.now(), self._boardroom.source("claim")
            former = beat(self._boardroom.presence, self._team, self._who, now, source, state=wanted, task=self.task)
            if self._said is None:
                self._former = former.state if former is not None else ""
            self._said = wanted
        return bool(state) and state != self._former


def claim(boardroom: Boardroom, team: str | Team, who: str, id: str | None = None) -> Claimed:
    """Take the task of that number, or the best one there is."""
    found = open_team(boardroom, team)
    wanted = None if id is None else task_id(id)
    done, sign = Claimed(), _Sign(boardroom, found, who)
    with boardroom.tasks.turn(found.name) as turn:
        done.released = release_in_turn(boardroom, found, turn, who)
        for _ in range(MOST_ATTEMPTS):
            choice = _choice(turn, who, wanted)
            done.refusal, done.is_resumed = choice.refusal, choice.is_resumed
            if choice.card is None:
                break
            # Before the claim can be seen: whoever looks next must not take it back from a claimant never heard of.
            sign.task = choice.card.id
            sign.leave(WORKING)
            done.task = _take_or_pass(boardroom, found, turn, who, choice, wanted)
            if done.task is not None:
                done.overlaps = _overlaps(turn, done.task)
                break
        done.board = turn.board
    # Who was only refused one task is what they were before.
    is_new = sign.leave(WORKING if done.task is not None else IDLE if wanted is None else "")
    if done.task is not None:
        note_activity(boardroom.room, found.name)
    elif is_new:
        done.verdict = _tell_idle(boardroom, found.name, who)
    return done


def _choice(turn: Turn, who: str, wanted: str | None) -> claims.ClaimChoice:
    if wanted is None:
        return claims.choose(turn.board, who)
    card = turn.board.card(wanted)
    refusal = claims.may_claim(turn.board, card, who)
    return claims.ClaimChoice(None if refusal else card, refusal, is_resumed=card.is_claimed)


def _take_or_pass(
    boardroom: Boardroom, team: Team, turn: Turn, who: str, choice: claims.ClaimChoice, wanted: str | None
) -> Task | None:
    """None if it has gone meanwhile, or cannot be written: then the next best is tried, unless this one was wanted."""
    try:
        return _take(boardroom, team, turn, who, choice)
    except (NoSuchTask, UnreadableFile):
        if wanted is not None:
            raise
        return None


def _take(boardroom: Boardroom, team: Team, turn: Turn, who: str, choice: claims.ClaimChoice) -> Task | None:
    """Under the task's own lock, on its file as it is now: another program may have been quicker."""
    assert choice.card is not None
    if choice.is_resumed:
        return boardroom.tasks.read(team.name, choice.card.id)
    by, needs_plan = boardroom.stamp(who), _must_plan(team, who)

    def rule(task: Task) -> Change | None:
        taken = task.status != PENDING or (task.owner and not same_name(task.owner, who))
        return None if taken else claims.claim(task, who, by, needs_plan=needs_plan)

    return turn.change(choice.card.id, rule)


def _must_plan(team: Team, who: str) -> bool:
    member = team.member(who)
    return member is not None and must_plan(member)


def _overlaps(turn: Turn, task: Task) -> dict[str, list[str]]:
    if not task.files:
        return {}
    from atm.board.rules.file_overlap import overlapping

    others = {c.id: c.files for c in turn.board.cards.values() if c.is_claimed and c.files and c.number != task.number}
    return overlapping(task.files, others)


def _tell_idle(boardroom: Boardroom, team: str, who: str) -> HookVerdict | None:
    """Once in each idle time, not on every look."""
    if not boardroom.hooks.get("TeammateIdle"):
        return None
    from atm.board.services.hooks import run_hooks

    return run_hooks(boardroom, "TeammateIdle", team, who)


def start(boardroom: Boardroom, team: str | Team, who: str, id: str) -> Claimed:
    """Begin the work: claims it if need be, and says so if the plan for it is not approved yet."""
    done = claim(boardroom, team, who, id)
    if done.task is not None:
        plans.check_may_begin(done.task)
    return done


class Completed:
    """A finished task and what can be done now."""

    __slots__ = ("board", "task", "unblocked", "verdict", "was_done")

    def __init__(self, task: Task, board: Board, *, was_done: bool = False) -> None:
        self.task = task
        self.board = board
        self.unblocked = board.newly_free(task.id)
        self.was_done = was_done
        """It was completed by the same member before: nothing happened now."""
        self.verdict: HookVerdict | None = None


def complete(
    boardroom: Boardroom,
    team: str,
    who: str,
    id: str,
    *,
    result: str = "",
    claim_id: str = "",
    commit: str = "",
    verify: bool = True,
    seconds: float | None = None,
) -> Completed:
    """
    Finish a task: its work is committed, then checks, then hooks, then, if it is still theirs, it is completed.

    `seconds`: what is left of the attempt's time limit, for the checks; None where the caller has none.
    """
    found = open_team(boardroom, team)
    check_text(result, "result")
    task = boardroom.tasks.read(found.name, task_id(id))
    if _is_done_by(task, who):
        return Completed(task, boardroom.tasks.board(found.name), was_done=True)
    _check_may_complete(task, who, claim_id)
    if not verify:
        claims.check_may_lead(who, is_boss(boardroom.room, found, who), "complete a task without its checks")
    beat(boardroom.presence, found, who, boardroom.clock.now(), boardroom.source("complete"), state=WORKING)
    kept = _keep(boardroom, found.name, who, task)
    proof = _prove(boardroom, found, task, who, commit, kept, seconds) if verify and task.acceptance else []
    verdict = _ask_hooks(boardroom, found.name, who, task)
    by = boardroom.stamp(who)

    def rule(now: Task) -> Change | None:
        if _is_done_by(now, who):
            return None  # they asked twice at the same time
        _check_may_complete(now, who, claim_id or task.claim_id)
        if verify and now.acceptance != task.acceptance:
            raise ChecksFailed(f"the checks of #{now.id} were changed while they ran", "complete it again")
        skipped = not verify and bool(now.acceptance)
        return claims.complete(now, by, result=result, evidence=proof, unverified=skipped, work=_work(kept))

    with boardroom.tasks.turn(found.name) as turn:
        done = turn.change(task.id, rule)
        finished = Completed(done or boardroom.tasks.read(found.name, task.id), turn.board, was_done=done is None)
    finished.verdict = verdict
    return finished


def _is_done_by(task: Task, who: str) -> bool:
    return task.status == COMPLETED and same_name(task.text("finishedBy"), who)


def _check_may_complete(task: Task, who: str, claim_id: str) -> None:
    claims.check_claimant(task, who, claim_id)
    plans.check_may_begin(task)
    reviews.check_may_complete(task)


def _keep(boardroom: Boardroom, team: str, who: str, task: Task) -> KeptWork | None:
    """Committed before it is proven: what is proven is what others get."""
    places = boardroom.workplaces
    return places.keep(team, who, task.id, f"{task.subject}\n\nTask #{task.id} of {team}") if places else None


def _work(kept: KeptWork | None) -> dict[str, Plain] | None:
    if kept is None:
        return None
    return {"commit": kept.commit, "base": kept.base, **({"branch": kept.branch} if kept.commit != kept.base else {})}


def _prove(
    boardroom: Boardroom,
    team: Team,
    task: Task,
    who: str,
    commit: str,
    kept: KeptWork | None,
    seconds: float | None,
) -> list[Plain]:
    from atm.board.services.evidence import verify

    head, place = (kept.commit, kept.folder) if kept else ("", "")
    return verify(boardroom, team, task, who, commit or head, place, seconds)


def _ask_hooks(boardroom: Boardroom, team: str, who: str, task: Task) -> HookVerdict | None:
    if not boardroom.hooks.get("TaskCompleted"):
        return None
    from atm.board.services.hooks import check_not_blocked, run_hooks

    verdict = run_hooks(boardroom, "TaskCompleted", team, who, task)
    check_not_blocked(verdict, f"#{task.id} was not completed")
    return verdict


def fail(
    boardroom: Boardroom, team: str, who: str, id: str, error: str, *, claim_id: str = "", final: bool = False
) -> Task:
    """It went wrong: back to the board for the next attempt, or failed for good."""
    found, by = open_team(boardroom, team), boardroom.stamp(who)

    def rule(task: Task) -> Change:
        claims.check_claimant(task, who, claim_id)
        return claims.fail(task, by, check_text(error, "error"), final=final)

    return _changed(boardroom, found, who, id, rule)


def release(boardroom: Boardroom, team: str, who: str, id: str, *, reason: str = "", claim_id: str = "") -> Task:
    """Give it back without blame. The lead and humans may take it back from others."""
    found, by = open_team(boardroom, team), boardroom.stamp(who)

    def rule(task: Task) -> Change:
        if claim_id or not is_boss(boardroom.room, found, who) or task.is_finished or not task.is_claimed:
            claims.check_claimant(task, who, claim_id)
        return claims.release(task, by, reason or "released")

    return _changed(boardroom, found, who, id, rule)


def give_back(boardroom: Boardroom, team: str, who: str, id: str, why: str, claim_id: str) -> Task:
    """Its claimant could not begin it. Says why, and uses up no attempt."""
    found, by = open_team(boardroom, team), boardroom.stamp(who)

    def rule(task: Task) -> Change:
        claims.check_claimant(task, who, claim_id)
        return claims.give_back(task, by, check_text(why, "reason"))

    return _changed(boardroom, found, who, id, rule)


def reopen(
    boardroom: Boardroom, team: str, who: str, id: str, reason: str, checks: Sequence[Record] | None = None
) -> tuple[Task, list[str]]:
    """Back from completed, failed or cancelled, and what becomes reachable again. `checks` replace those it had."""
    found, by = open_team(boardroom, team), boardroom.stamp(who)
    marker = marker_for(boardroom, found, who, checks) if checks else None

    def rule(task: Task) -> Change | None:
        claims.check_may_lead(who, is_boss(boardroom.room, found, who), "reopen a finished task")
        if not task.is_finished:
            raise _not_finished(task, turn.board.lost().get(task.number, ""))
        acceptance = marker.marked(task.id, task.text("folder"), checks) if marker is not None and checks else checks
        return claims.reopen(task, by, check_text(reason, "note"), acceptance)

    with boardroom.tasks.turn(found.name) as turn:
        before = set(turn.board.lost())
        done = turn.change(task_id(id), rule)
        reachable = before - set(turn.board.lost())
    sign_of_life(boardroom, found, who)
    task = done if done is not None else boardroom.tasks.read(found.name, task_id(id))
    return task, [str(number) for number in sorted(reachable)]


def _not_finished(task: Task, why_lost: str) -> TaskClosed:
    if why_lost:
        return TaskClosed(
            f"#{task.id} is not finished, so it cannot be reopened; it is unreachable: {why_lost}",
            "reopen the task that failed: this one can be done again then",
        )
    return TaskClosed(f"#{task.id} is not finished: there is nothing to reopen", "see `atm tasks list`")


def assign(boardroom: Boardroom, team: str, who: str, id: str, to: str) -> tuple[Task, list[str]]:
    """Give it to a member: the old claim ends here, a new one begins when they claim it. With warnings."""
    found, by = open_team(boardroom, team), boardroom.stamp(who)
    to = found.doer(to)

    def rule(task: Task) -> Change | None:
        if task.status == PENDING and same_name(task.owner, to):
            return None
        if task.is_claimed and same_name(task.owner, to):
            return None
        _check_may_take(boardroom, found, who, task, "give to somebody else")
        return claims.assign(task, to, by)

    task = _changed(boardroom, found, who, id, rule)
    from atm.board.services.mail import tell_assigned

    return task, tell_assigned(boardroom, found, task, who, to) if task.last_event == by.id else []


def cancel(boardroom: Boardroom, team: str, who: str, id: str, reason: str) -> tuple[Task, list[str]]:
    """Nobody shall do it. What depends on it becomes unreachable; those ids too."""
    found, by = open_team(boardroom, team), boardroom.stamp(who)

    def rule(task: Task) -> Change | None:
        if task.outcome == "cancelled":
            return None
        _check_may_take(boardroom, found, who, task, "cancel")
        return claims.cancel(task, by, check_text(reason, "reason"))

    with boardroom.tasks.turn(found.name) as turn:
        before = set(turn.board.lost())
        done = turn.change(task_id(id), rule)
        lost = set(turn.board.lost()) - before
    sign_of_life(boardroom, found, who)
    task = done if done is not None else boardroom.tasks.read(found.name, task_id(id))
    return task, [str(number) for number in sorted(lost)]


def _check_may_take(boardroom: Boardroom, team: Team, who: str, task: Task, what: str) -> None:
    """A task that has an owner is theirs: only they, whoever made it, the lead and humans may take it away."""
    is_theirs = same_name(task.owner, who) or same_name(task.text("createdBy"), who)
    if task.owner and not task.is_finished and (not is_theirs or is_named_boss(team, who)):
        claims.check_may_lead(who, is_boss(boardroom.room, team, who), f"{what} #{task.id}, which is {task.owner}'s")


def comment(boardroom: Boardroom, team: str, who: str, id: str, text: str) -> tuple[Task, str]:
    """A remark on a task; its id."""
    found, by = open_team(boardroom, team), boardroom.stamp(who)
    said: dict[str, Plain] = {"id": by.id, "by": who, "at": by.at, "text": check_said(text, "comment")}

    def rule(task: Task) -> Change:
        kept: list[Plain] = [*task.comments[1 - MOST_COMMENTS :], said]
        return Change(by.event("commented", note=text), own={"comments": kept})

    return _changed(boardroom, found, who, id, rule), by.id


def _changed(boardroom: Boardroom, team: Team, who: str, id: str, rule: claims.Rule) -> Task:
    """One turn, one task, one rule. The task as it is afterwards, also if there was nothing to change."""
    with boardroom.tasks.turn(team.name) as turn:
        done = turn.change(task_id(id), rule)
    sign_of_life(boardroom, team, who)
    return done if done is not None else boardroom.tasks.read(team.name, task_id(id))
