"""
One call of an agent, decided before it runs: allowed, denied with words for the agent, or left to others.

Every trouble on the way is a no. An answer that does not come within the time of a hook is a no for now: the agent may
make the same call again, and finds the answer then.
"""

from __future__ import annotations

from atm.approvals.formats.records import digest_of
from atm.approvals.rules.policy import ALLOW
from atm.approvals.rules.requests import APPROVED, CANCELLED, DENIED, WAITING, Approval
from atm.approvals.rules.roles import DELEGATES, PLANS, refusal
from atm.approvals.services.approvalroom import note
from atm.approvals.services.asking import ask, await_answer, denied_by, judged, leave, task_of, use
from atm.core.names import same_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.approvals.rules.calls import AgentCall, Understood
    from atm.approvals.rules.policy import Judgement
    from atm.approvals.services.approvalroom import Approvalroom
    from atm.team.rules.team import Team

LONGEST_NOTED = 500
"""Characters of a command in the audit's line about its denial."""


class Permission:
    """What becomes of a call."""

    __slots__ = ("is_left", "is_no", "is_yes", "reason", "waits")

    def __init__(
        self,
        *,
        is_yes: bool = False,
        is_no: bool = False,
        is_left: bool = False,
        reason: str = "",
        waits: Approval | None = None,
    ) -> None:
        self.is_yes = is_yes
        self.is_no = is_no
        """Neither: no policy of ours is about it."""
        self.is_left = is_left
        """It is to be asked for, by the agent's host."""
        self.reason = reason
        self.waits = waits
        """The request, if it is still without an answer."""


class CallingMember:
    """Whose call it is, and who asks for its approval."""

    __slots__ = ("defers", "delegates", "is_asked_for", "member", "plans", "team")

    def __init__(
        self,
        team: Team,
        member: str,
        *,
        plans: bool = False,
        delegates: bool = False,
        defers: bool = False,
        is_asked_for: Callable[[AgentCall], bool] | None = None,
    ) -> None:
        self.team = team
        self.member = member
        self.plans = plans
        """Must it have a plan approved before it changes anything?"""
        self.delegates = delegates
        self.defers = defers
        """Does its program end with the call open, and ask again when it is resumed?"""
        self.is_asked_for = is_asked_for
        """Does its host ask for a call like this anyway, without a limit of time? Then a hook leaves it to that."""


def permit(room: Approvalroom, caller: CallingMember, call: AgentCall, *, is_second: bool = False) -> Permission:
    """
    `is_second`: its program asks once more about a call that was let through a moment ago, before it runs it. That is
    still the one execution: the first question is asked of every call.
    """
    understood, verdict = judged(room, call)
    role = _role(room, caller)
    why = refusal(understood, role) if role else ""
    if why:
        _note_denial(room, caller, understood, verdict, why)
        return Permission(is_no=True, reason=why)
    if not room.policy.exists:
        return Permission()
    if verdict.decision == ALLOW:
        return Permission(is_yes=verdict.is_granted, reason=verdict.reason)
    if not verdict.asks:
        why = denied_by(verdict)
        _note_denial(room, caller, understood, verdict, why)
        return Permission(is_no=True, reason=why)
    if caller.is_asked_for is not None and caller.is_asked_for(call):
        return Permission(is_left=True, reason=verdict.reason)
    if is_second and _was_let_through(room, caller, call):
        return Permission(is_yes=True, reason="it was approved a moment ago")
    return _asked(room, caller, understood, verdict)


def _was_let_through(room: Approvalroom, caller: CallingMember, call: AgentCall) -> bool:
    now = room.clock.now()
    return any(
        one.used_at is not None
        and one.state(now) == APPROVED
        and 0 <= now - one.used_at <= room.valid
        and one.session == call.session
        for one in room.approvals.like(caller.team.name, digest_of(caller.member, call))
    )


def _role(room: Approvalroom, caller: CallingMember) -> str:
    if caller.delegates and same_name(caller.member, caller.team.lead):
        return DELEGATES
    return PLANS if caller.plans and not has_approved_plan(room, caller.team.name, caller.member) else ""


def has_approved_plan(room: Approvalroom, team: str, member: str) -> bool:
    """Is there one task that it works at, and is the plan of that approved?"""
    id = task_of(room, team, member)
    return bool(id) and room.boardroom.tasks.read(team, id).plan == "approved"


def _asked(room: Approvalroom, caller: CallingMember, understood: Understood, verdict: Judgement) -> Permission:
    task = task_of(room, caller.team.name, caller.member)
    approval = ask(room, caller.team, caller.member, understood, verdict, task=task, is_deferred=caller.defers)
    if approval.state(room.clock.now()) == WAITING:
        approval = await_answer(room, approval, room.hook)
    if use(room, approval, understood.call.call_id):
        return Permission(is_yes=True, reason=f"{_by(approval)} approved it ({approval.id})")
    if approval.state(room.clock.now()) == WAITING:
        leave(room, approval)
        return Permission(is_no=True, reason=unanswered(approval), waits=approval)
    return Permission(is_no=True, reason=denied_in_words(room, approval))


def _by(approval: Approval) -> str:
    return approval.answer.by if approval.answer is not None and approval.answer.by else "nobody"


def unanswered(approval: Approval) -> str:
    return (
        f"Nobody has answered request {approval.id} yet, and no answer means no. Do not look for a way around it: do "
        f"other work, and make the same call again later; see `atm approvals show {approval.id}`."
    )


def denied_in_words(room: Approvalroom, approval: Approval) -> str:
    """For the agent: who said no, and why."""
    state = approval.state(room.clock.now())
    if state == DENIED and approval.answer is not None:
        return f"{_by(approval)} denied request {approval.id}: {approval.answer.reason}"
    if state == CANCELLED and approval.answer is not None:
        return f"request {approval.id} was cancelled: {approval.answer.reason}. Make the call again if you need it."
    if approval.used_at is not None:
        return f"request {approval.id} was good for one execution, and that is done: ask again"
    if state == APPROVED:
        return f"request {approval.id} was approved, but the team's audit does not confirm it: ask again"
    return f"request {approval.id} is {state}: nobody approved it in time. Make the call again to ask anew."


def _note_denial(
    room: Approvalroom, caller: CallingMember, understood: Understood, verdict: Judgement, why: str
) -> None:
    """A rule denies at once and without a request: the audit has it all the same."""
    from atm.approvals.rules.requests import POLICY, RuleNote
    from atm.core.excerpts import excerpt

    call, now = understood.call, room.clock.now()
    denied = Approval(
        room.room.chance.new_id().replace("-", "")[:12],
        team=caller.team.name,
        requester=caller.member,
        tier="",
        operation=understood.operation,
        tool=call.tool,
        command=call.command,
        asked_at=now,
        expires_at=now,
        rule=RuleNote(verdict.rule.file, verdict.rule.number, verdict.rule.text),
    )
    note(
        room,
        denied,
        DENIED,
        POLICY,
        f"asked by {caller.member}, process {room.pid}",
        f"{call.tool} {excerpt(call.command, LONGEST_NOTED)}: {why}",
    )
