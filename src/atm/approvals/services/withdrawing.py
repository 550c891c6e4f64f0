"""
Requests that nobody waits for any more are cancelled: people are asked only for answers that are still of use.

Surfaces that only look leave such requests out; the run, the daemon and whatever ends an agent cancel them.
"""

from __future__ import annotations

from atm.approvals.rules import askers
from atm.approvals.rules.askers import AskerNow
from atm.approvals.rules.requests import CANCELLED, GivenAnswer
from atm.approvals.services.approvalroom import may_change, note
from atm.core.errors import AtmError
from atm.core.names import same_name
from atm.team.rules.liveness import ENDED, ONLINE
from atm.team.services.presence import last_beat, liveness
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.approvals.rules.requests import Approval
    from atm.approvals.services.approvalroom import Approvalroom
    from atm.board.rules.dependencies import Board
    from atm.team.ports.presence import Presence
    from atm.team.rules.team import Team

HOW = "nobody waits for the answer"


def why_moot(presence: Presence, team: Team, board: Board | None, approval: Approval, now: float) -> str:
    """Why a request needs no answer any more; empty while it may need one."""
    return askers.why_moot(approval, team, board, _asker(presence, team, approval, now), now)


def _asker(presence: Presence, team: Team, approval: Approval, now: float) -> AskerNow:
    asked_by, last = approval.asker, last_beat(presence, team, approval.requester, now)
    is_here = asked_by is not None and asked_by.host == presence.host
    is_over = last is not None and last.state == ENDED and last.source == last.state_source
    return AskerNow(
        is_online=liveness(presence, team, approval.requester, now).value == ONLINE,
        is_process_gone=is_here and asked_by is not None and presence.began(asked_by.pid) != asked_by.began,
        ended_at=last.at if is_over and last is not None else None,
    )


def still_needed(room: Approvalroom, team: str, found: Sequence[Approval]) -> list[Approval]:
    """Those of the waiting ones that need an answer. Only looks."""
    moot = {one.id for one, _ in _moot_of(room, team, found)}
    return [one for one in found if one.id not in moot]


def withdraw_moot(room: Approvalroom, team: str, found: Sequence[Approval] | None = None) -> list[Approval]:
    """Cancel what nobody waits for any more. The cancelled ones, as they were."""
    waiting = room.approvals.all(team) if found is None else found
    return [one for one, why in _moot_of(room, team, waiting) if withdraw(room, one, why)]


def _moot_of(room: Approvalroom, team: str, found: Sequence[Approval]) -> list[tuple[Approval, str]]:
    now = room.clock.now()
    waiting = [one for one in found if one.waits(now)]
    if not waiting:
        return []
    try:
        known = find_team(room.room, team)
    except AtmError:
        return []
    board = _board_of(room, known.name)
    said = [(one, why_moot(room.room.presence, known, board, one, now)) for one in waiting]
    return [(one, why) for one, why in said if why]


def _board_of(room: Approvalroom, team: str) -> Board | None:
    tasks = room.boardroom.tasks
    try:
        return tasks.board(team) if tasks.exists(team) else None
    except (AtmError, OSError):
        return None


def withdraw_all_of(room: Approvalroom, team: str, member: str, since: float, why: str) -> list[Approval]:
    """What an agent has asked for in this life; the agent is gone, and its next life asks anew."""
    now = room.clock.now()
    mine = [
        one
        for one in room.approvals.all(team)
        if one.waits(now) and same_name(one.requester, member) and one.asked_at >= since
    ]
    return [one for one in mine if withdraw(room, one, why)]


def withdraw(room: Approvalroom, approval: Approval, why: str) -> bool:
    """False if it was answered in the meantime: that answer counts. False also in a completed team."""
    if not may_change(room, approval.team):
        return False
    answer = GivenAnswer(CANCELLED, by="", how=HOW, pid=room.pid, at=room.clock.now(), reason=why)
    if not room.approvals.answer(approval, answer):
        return False
    note(room, approval, CANCELLED, "", HOW, why)
    return True
