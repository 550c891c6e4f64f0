"""Letters that ask for an answer, once there is one: they are no news any more."""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.core.identifiers import derived_id
from atm.core.names import is_claudes_team
from atm.mail.services.bookkeeping import enter
from atm.team.rules.team import HUMAN
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.approvals.rules.requests import Approval
    from atm.mail.services.mailroom import Mailroom

ASKED = "asked"
"""The kind of a letter that asks for an answer; its id is made of it."""


def settle_letters(room: Mailroom, approval: Approval, evidence: str) -> None:
    """
    The letters about a request count as read when it has its answer, and stay where they are.

    A letter that a person has read already keeps its receipt. An inbox that cannot be changed now keeps its letter.
    """
    try:
        team = find_team(room, approval.team)
    except AtmError:
        return
    if is_claudes_team(team.name):
        return
    names = {team.lead, *(member.name for member in team.members if member.kind == HUMAN)}
    for name in sorted(one for one in names if team.member(one) is not None):
        id = derived_id(team.name, approval.id, ASKED, name)
        try:
            if any(row.id == id for row in room.inboxes.unread(team.name, name)):
                room.inboxes.mark(team.name, name, {id}, True)
                enter(room, team.name, name, [id], "answered", evidence)
        except (AtmError, OSError):
            continue
