"""
Who is told of a request, and of an answer. Never the answer itself: a letter permits nothing, and an agent that finds
one must still ask its hook.
"""

from __future__ import annotations

from atm.approvals.rules.policy import LEAD
from atm.approvals.services.settling import ASKED
from atm.core.errors import AtmError
from atm.core.excerpts import excerpt
from atm.core.identifiers import derived_id
from atm.core.names import is_claudes_team, same_name
from atm.files.formats.times import to_iso
from atm.mail.services.escalation import SENDER
from atm.mail.services.mailroom import find_recipient
from atm.mail.services.posting import Draft, compose, deliver
from atm.team.rules.team import HUMAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.approvals.rules.requests import Approval
    from atm.approvals.services.approvalroom import Approvalroom
    from atm.team.rules.team import Team

LONGEST = 2000


def call_in_words(approval: Approval, longest: int = LONGEST) -> str:
    """What is asked for, on one line or several; a long one from both ends."""
    what = approval.command or ", ".join(approval.paths) or approval.operation
    return f"{approval.tool}: {excerpt(what, longest, approval.id)}"


def tell_asked(room: Approvalroom, team: Team, approval: Approval) -> None:
    """Whoever may answer and has an inbox here. One who cannot be told keeps nobody from asking."""
    if is_claudes_team(team.name):
        return
    humans = [member.name for member in team.members if member.kind == HUMAN]
    names = [team.lead] if approval.tier == LEAD and team.member(team.lead) else humans
    text = (
        f"{approval.requester} asks for an approval ({approval.id}, {approval.operation}):\n\n"
        f"{call_in_words(approval)}\n\nin {approval.folder or 'no folder'}, until {to_iso(approval.expires_at)}; "
        f"no answer means no.\n\nSee `atm approvals show {approval.id}`, then `atm approvals approve {approval.id}` or "
        f"`atm approvals deny {approval.id} --reason …`."
    )
    for name in names:
        if not same_name(name, approval.requester):
            _tell(room, team.name, name, text, f"{approval.requester} asks for {approval.operation}", ASKED, approval)


def tell_answered(room: Approvalroom, team: Team, approval: Approval) -> None:
    """The agent that left without an answer: it may try again, and hears the answer then."""
    if is_claudes_team(team.name) or team.member(approval.requester) is None:
        return
    text = (
        f"Your request {approval.id} ({call_in_words(approval, 200)}) was answered. This letter permits nothing: make "
        f"the same call again, or see `atm approvals show {approval.id}`."
    )
    _tell(room, team.name, approval.requester, text, f"request {approval.id} was answered", "answered", approval)


def _tell(room: Approvalroom, team: str, name: str, text: str, summary: str, what: str, approval: Approval) -> None:
    id = derived_id(team, approval.id, what, name)
    try:
        to = find_recipient(room.room, team, name)
        letter = Draft(sender=SENDER, text=text, summary=summary[:100])
        deliver(room.room, to, compose(room.room, to, letter, id), is_new=False)
    except AtmError:
        return
