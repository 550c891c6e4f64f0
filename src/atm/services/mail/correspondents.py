"""
Whoever writes can be answered.

A sender need not be on the roster: a script, or a person at a terminal who was never added. Their inbox is made when
somebody whom they wrote to answers, and not before: a name that was only mistyped gets none.
"""

from __future__ import annotations

from atm.domain.errors import NoSuchMember
from atm.domain.names import check_sender, is_claudes_team, same_name
from atm.domain.team.team import check_open
from atm.formats.mail.journal import ROSTER
from atm.services.mail.bookkeeping import all_told
from atm.services.mail.mailroom import Recipient, find_addressee

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.services.mail.mailroom import Mailroom


def find_correspondent(room: Mailroom, team: str, agent: str, me: str, *, is_only_planned: bool = False) -> Recipient:
    """Who an address means: somebody with an inbox, or somebody who wrote to `me` in this team."""
    try:
        to = find_addressee(room, team, agent)
    except NoSuchMember:
        writer = _writer(room, room.rosters.find(team) or team, agent, me)
        if writer is None:
            raise
        to = writer
        if not is_only_planned:
            room.inboxes.create(check_open(to.team).name, to.agent)
    check_open(to.team)
    return to


def _writer(room: Mailroom, team: str, name: str, me: str) -> Recipient | None:
    """
    Somebody who is on no roster and wrote to me. Not who was removed: nobody looks there any more. Not in a team of
    Claude Code's, where every inbox is somebody's.
    """
    if is_claudes_team(team):
        return None
    told = all_told(room, team)
    if any(entry.kind == ROSTER and same_name(entry.agent, name) for entry in told):
        return None
    mine = (entry.message for entry in told if same_name(entry.agent, me))
    senders = [*(message.sender for message in mine if message is not None)]
    senders += [row.sender for row in room.inboxes.rows(team, me)]
    spelled = next((sender for sender in reversed(senders) if same_name(sender, name)), None)
    return None if spelled is None else Recipient(room.rosters.load(team), check_sender(spelled), None)
