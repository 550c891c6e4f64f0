"""
Does the asker of a request still need an answer?

A request is moot when its team is complete, its member has left, its task is over or another's, or the process that
asked is gone, unless that was to end with the call open (`is_deferred`). What is not known keeps a request open: a file
that could not be read denies no request.
"""

from __future__ import annotations

from atm.team.rules.team import is_human, is_somebody_else

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.approvals.rules.requests import Approval
    from atm.board.rules.dependencies import Board
    from atm.team.rules.team import Team


class AskerNow:
    """What is known of the asker at one moment."""

    __slots__ = ("ended_at", "is_online", "is_process_gone")

    def __init__(self, *, is_online: bool = True, is_process_gone: bool = False, ended_at: float | None = None) -> None:
        self.is_online = is_online
        """Has the requester been heard of recently?"""
        self.is_process_gone = is_process_gone
        """Has the very process ended that asked?"""
        self.ended_at = ended_at
        """When the requester's session said that it ends; None if the last heartbeat is another one."""


def why_moot(approval: Approval, team: Team, board: Board | None, asker: AskerNow, now: float) -> str:
    """
    Why a request needs no answer any more; empty while it may need one. `board`: None where it could not be read.
    """
    if team.completed:
        return f"team {team.name} is complete"
    if asker.is_process_gone and not approval.is_deferred:
        return f"the process that asked for {approval.requester} has ended"
    return _why_gone(approval, team, asker, now) or _why_task_is_over(approval, board)


def _why_gone(approval: Approval, team: Team, asker: AskerNow, now: float) -> str:
    who = approval.requester
    if team.is_lead(who) or is_human(team, who):
        return ""  # a run that leads for a lead leaves its heartbeats
    member = team.member(who)
    if member is None:
        return f"{who} is not a member of the team any more" if not asker.is_online else ""
    if is_somebody_else(approval.asked_at, member.joined_at, now):
        return f"{who} left the team, and another member has that name now"
    has_ended = asker.ended_at is not None and asker.ended_at >= approval.asked_at
    if has_ended and not approval.is_deferred:
        return f"the session of {who} has ended"
    return ""


def _why_task_is_over(approval: Approval, board: Board | None) -> str:
    id = approval.task
    if board is None or not id.isdecimal():
        return ""
    card = board.cards.get(int(id))
    if card is None:
        return f"#{id} is not on the board any more"
    if card.problem:
        return ""
    if card.is_finished:
        return f"#{id} is {card.outcome or card.status}"
    if approval.claim and card.claim_id != approval.claim:
        return f"{approval.requester} does not work on #{id} any more"
    return ""
