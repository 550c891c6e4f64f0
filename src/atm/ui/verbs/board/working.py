"""Claim, start, complete, fail, release, reopen, assign, cancel."""

from __future__ import annotations

from atm.board.services import working as board
from atm.core.errors import UsageError
from atm.core.names import check_known_name, is_claudes_team
from atm.core.plain import counted
from atm.core.untrusted_text import shell_words
from atm.ui.verbs.verb import Done, ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.board.services.working import Claimed
    from atm.core.plain import Plain
    from atm.ui.verbs.verb import Acting, Does, Given


def _claim(acting: Acting, given: Given) -> Claimed | Done:
    if given.flag("review"):
        from atm.ui.verbs.board.table import START_REVIEW

        if not given.has("id"):
            raise UsageError("'id' is missing", "say which task you review")
        return START_REVIEW.does(acting, given)
    return board.claim(acting.boardroom, acting.team, acting.who, given.text("id") if given.has("id") else None)


def _start(acting: Acting, given: Given) -> Claimed:
    return board.start(acting.boardroom, acting.team, acting.who, given.text("id"))


def _complete(acting: Acting, given: Given) -> Done:
    if given.flag("allow_checks"):
        from atm.board.services.marks import allow_checks

        allow_checks(acting.boardroom, acting.team.name, acting.who, given.text("id"))
    done = board.complete(
        acting.boardroom,
        acting.team.name,
        acting.who,
        given.text("id"),
        result=given.text("result"),
        claim_id=given.text("claim_id"),
        commit=given.text("commit"),
        verify=not given.flag("no_verify"),
    )
    what = f"#{done.task.id} {done.task.subject}"
    words = f"{what} was completed before" if done.was_done else f"completed {what}"
    words += f"; now free: {ids(done.unblocked)}" if done.unblocked else ""
    warnings = done.verdict.warnings if done.verdict else []
    facts: dict[str, Plain] = {"unblocked": [*done.unblocked]}
    return Done(done.task, words, board=done.board, warnings=warnings, facts=facts, verdict=done.verdict)


def _fail(acting: Acting, given: Given) -> Done:
    task = board.fail(
        acting.boardroom,
        acting.team.name,
        acting.who,
        given.text("id"),
        given.text("error"),
        claim_id=given.text("claim_id"),
        final=given.flag("final"),
    )
    most = task.max_retries + 1
    left = 0 if task.outcome else most - task.failures
    then = "it has failed for good" if task.outcome else f"back on the board; {left} of {counted(most, 'attempt')} left"
    return Done(task, f"#{task.id} failed: {then}", facts={"attempts_left": left})


def _release(acting: Acting, given: Given) -> Done:
    id, reason, claim_id = (given.text(key) for key in ("id", "reason", "claim_id"))
    task = board.release(acting.boardroom, acting.team.name, acting.who, id, reason=reason, claim_id=claim_id)
    return Done(task, f"#{task.id} {task.subject} is back on the board")


def _reopen(acting: Acting, given: Given) -> Done:
    from atm.ui.verbs.board.planning import CHECKS, checks_given

    id, reason = given.text("id"), given.text("reason")
    checks = checks_given(acting, given) if any(given.has(key) for key in CHECKS) else None
    task, reachable = board.reopen(acting.boardroom, acting.team.name, acting.who, id, reason, checks)
    then = f"; these can be done again: {ids(reachable)}" if reachable else ""
    words = f"#{task.id} {task.subject} is back on the board, with {counted(task.max_retries + 1, 'attempt')}{then}"
    return Done(task, words, facts={"reachable": [*reachable]})


def _assign(acting: Acting, given: Given) -> Done:
    team, to = acting.team, acting.team.doer(check_known_name(given.text("to"), "member"))
    member = team.member(to)
    unknown = [] if member is not None else [not_in_roster(team.name, to, can_add=not acting.boardroom.is_server)]
    id, name = given.text("id"), member.name if member is not None else to
    task, warnings = board.assign(acting.boardroom, team.name, acting.who, id, name)
    return Done(task, f"#{task.id} {task.subject} is {task.owner}'s", warnings=[*unknown, *warnings])


def not_in_roster(team: str, name: str, *, can_add: bool = True) -> str:
    """Said and no error: another program may know that member."""
    remedy = f": atm teams add-member {shell_words(team, name)}" if can_add and not is_claudes_team(team) else ""
    return f"{name} is not in the roster of {team}{remedy}"


def _cancel(acting: Acting, given: Given) -> Done:
    id, reason = given.text("id"), given.text("reason")
    task, lost = board.cancel(acting.boardroom, acting.team.name, acting.who, id, reason)
    then = f"; these can never be done now: {ids(lost)}" if lost else ""
    return Done(task, f"cancelled #{task.id} {task.subject}{then}", facts={"unreachable": [*lost]})


DOES: dict[str, Does] = {
    "board_claim": _claim,
    "board_start": _start,
    "board_complete": _complete,
    "board_fail": _fail,
    "board_release": _release,
    "board_reopen": _reopen,
    "board_assign": _assign,
    "board_cancel": _cancel,
}
