"""Answering: one answer, by somebody who may, with everything that is known of how it was given."""

from __future__ import annotations

from atm.approvals.rules.policy import HUMAN
from atm.approvals.rules.requests import APPROVED, CANCELLED, WAITING, GivenAnswer, is_meant, why_not_answer
from atm.approvals.services.approvalroom import close_expired, fresh, note
from atm.approvals.services.asking import audit_problem
from atm.approvals.services.telling import tell_answered
from atm.approvals.services.withdrawing import withdraw_moot
from atm.core.errors import AtmError, NotAllowed, RequestError
from atm.core.names import same_name
from atm.core.untrusted_text import one_line
from atm.core.work_errors import ApprovalClosed, NoSuchApproval
from atm.team.rules.team import check_open, is_human
from atm.team.services.registry import find_team
from atm.team.services.standing import check_member, check_person

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.approvals.rules.requests import Approval
    from atm.approvals.services.approvalroom import Approvalroom
    from atm.team.rules.team import Team


def find_approval(room: Approvalroom, teams: Sequence[str], id: str) -> Approval:
    """By its id, or the beginning of that, in these teams."""
    found = [one for team in teams for one in room.approvals.all(team) if is_meant(one, id)]
    exact = [one for one in found if one.id == id]
    if len(exact or found) > 1:
        ids = ", ".join(one.id for one in found[:5])
        raise NoSuchApproval(f"{one_line(id)} is the beginning of several: {ids}", "give more of it")
    if not found:
        raise NoSuchApproval(f"there is no request {one_line(id)}", "see `atm approvals list --all`")
    return (exact or found)[0]


def give_answer(room: Approvalroom, approval: Approval, who: str, state: str, reason: str, how: str) -> Approval:
    """Approve or deny. Raises NotAllowed, ApprovalClosed; and whatever keeps the answer from being written."""
    team = check_open(find_team(room.room, approval.team))
    _check_may(room, team, approval, who)
    if state != APPROVED and not reason.strip():
        raise RequestError("a request was denied without saying why", "say it with --reason: the agent reads it")
    now = room.clock.now()
    if approval.problem:
        raise ApprovalClosed(f"request {approval.id}: {approval.problem}", "let the agent ask again")
    _check_audit(room, approval)
    withdraw_moot(room, team.name, [approval])
    answer = GivenAnswer(state, by=who, how=how, pid=room.room.acting_pid or room.pid, at=now, reason=reason.strip())
    if approval.state(now) != WAITING or not room.approvals.answer(approval, answer):
        raise _closed(room, approval)
    _note(room, team, approval, answer)
    return fresh(room, approval)


def _check_audit(room: Approvalroom, approval: Approval) -> None:
    """A request whose answer or mark was deleted looks as if it waits; the audit knows better."""
    now_read = fresh(room, approval)
    if now_read.state(room.clock.now()) != WAITING:
        return
    problem = audit_problem(room, now_read)
    if problem:
        raise ApprovalClosed(f"request {approval.id}: {problem}; its files were changed", "let the agent ask again")


def _note(room: Approvalroom, team: Team, approval: Approval, answer: GivenAnswer) -> None:
    """The answer counts from here on; what cannot be told of it is told by the file itself."""
    try:
        note(room, approval, answer.state, answer.by, answer.how, answer.reason)
    except AtmError as error:
        room.room.troubles.note(f"the audit could not be written: {error}")
    after = fresh(room, approval)
    if after.left_at is not None:
        tell_answered(room, team, after)


def _check_may(room: Approvalroom, team: Team, approval: Approval, who: str) -> None:
    is_person, is_lead = is_human(team, who), same_name(who, team.lead)
    why = why_not_answer(approval, who, is_human=is_person, is_lead=is_lead)
    if why:
        tier = "a person" if approval.tier == HUMAN else "the lead or a person"
        raise NotAllowed(f"request {approval.id}: {why}", f"leave it to {tier}")
    if is_person:
        check_person(room.room, f"answer as {who}")
    else:
        check_member(room.room, team.name, who, "answer for the lead")


def _closed(room: Approvalroom, approval: Approval) -> ApprovalClosed:
    now, after = room.clock.now(), close_expired(room, fresh(room, approval))
    if after.state(now) == CANCELLED and after.answer is not None:
        return ApprovalClosed(
            f"request {approval.id} was cancelled: {after.answer.reason}", "the agent asks again if it needs it"
        )
    by = f" by {after.answer.by}" if after.answer is not None and after.answer.by else ""
    return ApprovalClosed(
        f"request {approval.id} is {after.state(now)}{by} already", "the first answer counts; let the agent ask again"
    )
