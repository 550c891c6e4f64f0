"""What waits for an answer, what was answered, and keeping the books: closing, completing, tidying up."""

from __future__ import annotations

from atm.approvals.formats.records import AuditLine
from atm.approvals.rules.requests import ASKED, USED, WAITING
from atm.approvals.services.approvalroom import STILL_WRITING, close_expired, may_change
from atm.approvals.services.withdrawing import still_needed, withdraw_moot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from atm.approvals.rules.requests import Approval
    from atm.approvals.services.approvalroom import Approvalroom

KEEP_DAYS = 30
DAY = 86_400.0


def waiting_in(room: Approvalroom, team: str) -> list[Approval]:
    """Those whose asker still needs an answer, oldest first. Only looks."""
    now = room.clock.now()
    return still_needed(room, team, [one for one in room.approvals.all(team) if one.waits(now)])


def everything_in(room: Approvalroom, team: str) -> list[Approval]:
    """All requests, oldest first; what is too late or of no use any more is closed, and the audit is whole."""
    withdraw_moot(room, team)
    found = [close_expired(room, one) for one in room.approvals.all(team)]
    _complete_audit(room, team, found)
    return found


def _complete_audit(room: Approvalroom, team: str, found: Sequence[Approval]) -> None:
    """Who was killed between a deed and the line about it left a gap; the deed itself says what belongs there."""
    known = {(line.get("id"), line.get("event")) for line in room.approvals.audit(team)}
    until = room.clock.now() - STILL_WRITING
    deeds = [deed for one in found if not one.problem for deed in _deeds(one)]
    missing = [line for at, line in deeds if at < until and (line.record["id"], line.record["event"]) not in known]
    if missing and may_change(room, team):
        room.approvals.note(team, missing)


def _deeds(one: Approval) -> Iterator[tuple[float, AuditLine]]:
    """When, and what the audit should say of it."""
    later = "by its file: the process did not live to write this line"
    yield one.asked_at, AuditLine(one.asked_at, one.id, ASKED, by=one.requester, how=later, pid=0, rule=one.rule)
    if one.answer is not None:
        given = one.answer
        how, pid, reason = given.how, given.pid, given.reason
        line = AuditLine(given.at, one.id, given.state, by=given.by, how=how, pid=pid, rule=one.rule, reason=reason)
        yield given.at, line
    if one.used_at is not None:
        yield one.used_at, AuditLine(one.used_at, one.id, USED, by=one.requester, how=later, pid=0, rule=one.rule)


def tidy(room: Approvalroom, team: str) -> int:
    """Requests that were closed a month ago go; the audit stays, whole. How many."""
    if not may_change(room, team):
        return 0
    now = room.clock.now()
    old = [
        one for one in everything_in(room, team) if one.state(now) != WAITING and now - one.expires_at > KEEP_DAYS * DAY
    ]
    for one in old:
        room.approvals.remove(one)
    return len(old)
