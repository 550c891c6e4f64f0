"""
Asking: a call is judged, a request is made or found again, somebody waits for its answer, the answer is used once.
"""

from __future__ import annotations

from atm.approvals.formats.records import cut, digest_of
from atm.approvals.rules.act import CallPlace
from atm.approvals.rules.calls import understand
from atm.approvals.rules.policy import ALLOW, DENY, HUMAN, for_a_person, judge
from atm.approvals.rules.requests import (
    APPROVED,
    ASKED,
    CANCELLED,
    DENIED,
    EXPIRED,
    LEFT,
    POLICY,
    USED,
    WAITING,
    Approval,
    AskerProcess,
    GivenAnswer,
    RuleNote,
    audit_objection,
)
from atm.approvals.services.approvalroom import (
    STILL_WRITING,
    audit_line,
    close_expired,
    fresh,
    may_change,
    note,
    note_consequences,
)
from atm.core.errors import AtmError
from atm.core.names import same_name
from atm.team.rules.team import check_open

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.approvals.rules.calls import AgentCall, Understood
    from atm.approvals.rules.policy import Judgement
    from atm.approvals.services.approvalroom import Approvalroom
    from atm.team.rules.team import Team

LOOK_EVERY = 0.05

AUDIT_SECONDS = 3.0
"""Seconds for which an approval waits for its line in the audit."""


def judged(room: Approvalroom, call: AgentCall) -> tuple[Understood, Judgement]:
    """What the policy says of a call."""
    place = CallPlace(call.folder, call.root, room.real, room.home, room.program, room.repository, room.has_nested)
    understood = understand(call, place)
    return understood, judge(room.policy, understood)


def ask(
    room: Approvalroom,
    team: Team,
    requester: str,
    understood: Understood,
    verdict: Judgement,
    *,
    task: str = "",
    minutes: float | None = None,
    is_deferred: bool = False,
) -> Approval:
    """
    The request about this call: one that is good for it, waits, or was denied a moment ago; else a new one, which the
    lead or the people are told of. A call that a rule decides is noted as decided.
    """
    check_open(team)
    digest = digest_of(requester, understood.call)
    verdict = for_a_person(verdict)
    if verdict.asks:
        known = _known(room, team.name, digest, understood.call.call_id)
        if known is not None:
            return known
        room.approvals.seal(team.name, room.clock.now())
    approval = _new(room, team, requester, understood, verdict, digest, task, minutes, is_deferred=is_deferred)
    note(room, approval, ASKED, requester, f"process {room.pid}", verdict.reason)
    if verdict.asks:
        from atm.approvals.services.telling import tell_asked  # here: a call that is allowed sends no mail

        tell_asked(room, team, approval)
    else:
        _decide_by_rule(room, approval, verdict)
    return fresh(room, approval)


def _known(room: Approvalroom, team: str, digest: str, call_id: str) -> Approval | None:
    now = room.clock.now()
    for one in room.approvals.like(team, digest):
        if one.may_be_used(now, room.valid, call_id):
            if one.used_at is not None or not audit_problem(room, one):
                return one
        elif one.still_denies(now, room.valid) or (one.state(now) == WAITING and not _is_moot(room, one)):
            return one
    return None


def audit_problem(room: Approvalroom, approval: Approval) -> str:
    """
    Why the audit contradicts the files of a request; empty if it does not. A line that another process is about to
    write is not missing yet.
    """
    events, now = room.approvals.events(approval), room.clock.now()
    if events is None:
        return "the audit was damaged after it was asked for"
    written = [*events]
    if now - approval.asked_at < STILL_WRITING:
        written.append(ASKED)
    if approval.answer is not None and now - approval.answer.at < STILL_WRITING:
        written.append(approval.answer.state)
    return audit_objection(written, approval.state(now))


def _is_moot(room: Approvalroom, approval: Approval) -> bool:
    """A request is cancelled and made anew if its files contradict the audit, or its answer is not needed any more."""
    problem = audit_problem(room, approval)
    if problem:
        from atm.approvals.services.withdrawing import withdraw  # here: an allowed call never needs it

        withdraw(room, approval, f"{problem}; its files were changed")
        return True
    return _is_of_another_life(room, approval)


def _is_of_another_life(room: Approvalroom, approval: Approval) -> bool:
    """Was it asked about a task that is over, or by an asker that is gone? Then it is cancelled, and asked anew."""
    from atm.approvals.services.withdrawing import withdraw_moot  # here: an allowed call never needs it

    return bool(withdraw_moot(room, approval.team, [approval]))


def _new(
    room: Approvalroom,
    team: Team,
    requester: str,
    understood: Understood,
    verdict: Judgement,
    digest: str,
    task: str,
    minutes: float | None,
    *,
    is_deferred: bool,
) -> Approval:
    call, now = understood.call, room.clock.now()
    seconds = room.expire if minutes is None else minutes * 60
    while True:
        approval = Approval(
            room.room.chance.new_id().replace("-", "")[:6] + digest[:6],
            team=team.name,
            requester=requester,
            tier=HUMAN if team.is_lead(requester) else verdict.tier or HUMAN,  # nobody grants themselves
            operation=understood.operation,
            tool=call.tool,
            command=call.command,
            folder=call.folder,
            paths=understood.paths,
            diff=cut(call.diff),
            task=task,
            session=call.session,
            digest=digest,
            asked_at=now,
            expires_at=now + seconds,
            rule=RuleNote(verdict.rule.file, verdict.rule.number, verdict.rule.text),
            why=verdict.reason,
            asker=_asker(room, team, requester) if verdict.asks else None,
            claim=_claim(room, team.name, requester, task) if verdict.asks and task else "",
            is_deferred=is_deferred,
        )
        if room.approvals.create(approval):
            return approval


def _asker(room: Approvalroom, team: Team, requester: str) -> AskerProcess | None:
    """
    By the requester's last heartbeat; None where that names no process that runs here. The heartbeats of a lead may
    come from a run that leads for it.
    """
    if team.is_lead(requester):
        return None
    from atm.team.services.presence import last_beat

    presence = room.room.presence
    last = last_beat(presence, team, requester, room.clock.now())
    if last is None or last.pid is None or last.host != presence.host:
        return None
    began = presence.began(last.pid)
    return AskerProcess(last.pid, began, last.host) if began else None


def _claim(room: Approvalroom, team: str, requester: str, task: str) -> str:
    card = room.boardroom.tasks.board(team).cards.get(int(task)) if task.isdecimal() else None
    return card.claim_id if card is not None and same_name(card.owner, requester) else ""


def _decide_by_rule(room: Approvalroom, approval: Approval, verdict: Judgement) -> None:
    state = APPROVED if verdict.decision == ALLOW else DENIED
    answer = GivenAnswer(
        state,
        by=POLICY,
        how="a rule",
        pid=room.pid,
        at=room.clock.now(),
        reason=denied_by(verdict) if state == DENIED else "",
    )
    if room.approvals.answer(approval, answer):
        note(room, approval, state, POLICY, answer.how, answer.reason)


def denied_by(verdict: Judgement) -> str:
    """In words, for the agent and the audit."""
    rule = verdict.rule
    if rule.number:
        return f"rule {rule.number} of {rule.file} says no ({rule.text})"
    return verdict.reason if verdict.decision == DENY else ""


def await_answer(room: Approvalroom, approval: Approval, seconds: float) -> Approval:
    """Until it is answered, its time is over, or ours is."""
    until = room.clock.monotonic() + seconds
    while not room.approvals.news(approval.team, approval.id):
        now = room.clock.now()
        if approval.state(now) == EXPIRED or room.clock.monotonic() >= until:
            break
        room.clock.sleep(min(LOOK_EVERY, max(0.001, until - room.clock.monotonic())))
    return close_expired(room, fresh(room, approval))


def use(room: Approvalroom, approval: Approval, call_id: str = "") -> bool:
    """Is there a yes, and is this the one execution that it is good for?"""
    now = room.clock.now()
    if not approval.may_be_used(now, room.valid, call_id):
        return False
    if approval.used_at is not None:
        return True  # the same call, asked about by another way
    if not may_change(room, approval.team):
        return False
    _await_audit(room, approval)
    line = audit_line(room, approval, USED, approval.requester, f"process {room.pid}")
    if not room.approvals.use(approval, now, call_id, line):
        return False
    note_consequences(room, approval, USED, approval.requester)
    return True


def _await_audit(room: Approvalroom, approval: Approval) -> None:
    """The answer is seen before the process that gave it has written the line about it."""
    until = room.clock.monotonic() + AUDIT_SECONDS
    while APPROVED not in (room.approvals.events(approval) or [APPROVED]) and room.clock.monotonic() < until:
        room.clock.sleep(LOOK_EVERY)


def leave(room: Approvalroom, approval: Approval) -> None:
    """Whoever asked goes away without an answer, and may come back."""
    if not may_change(room, approval.team):
        return
    try:
        room.approvals.leave(approval, room.clock.now())
        note(room, approval, LEFT, approval.requester, f"process {room.pid}")
    except AtmError:
        return  # the request is still there, and the call was denied


def cancel(room: Approvalroom, approval: Approval, why: str) -> None:
    """The agent asks no more: nobody needs to answer."""
    if not may_change(room, approval.team):
        return
    answer = GivenAnswer(
        CANCELLED, by=approval.requester, how=f"process {room.pid}", pid=room.pid, at=room.clock.now(), reason=why
    )
    if room.approvals.answer(approval, answer):
        note(room, approval, CANCELLED, approval.requester, answer.how, why)


def task_of(room: Approvalroom, team: str, who: str) -> str:
    """What a member works at, if that is one task."""
    board = room.boardroom.tasks.board(team)
    mine = [card.id for card in board.sorted() if same_name(card.owner, who) and card.status == "in_progress"]
    return mine[0] if len(mine) == 1 else ""
