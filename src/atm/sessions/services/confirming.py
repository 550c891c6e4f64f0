"""After an interrupted consolidation: members say whether their changes are fine; and whether they are green."""

from __future__ import annotations

from atm.core.names import same_name
from atm.files.formats.times import to_iso
from atm.mail.formats.journal import MESSAGE
from atm.sessions.rules.consolidation import said_of_edits
from atm.team.rules.team import AGENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.sessions.services.overview import MemberView
    from atm.sessions.services.sessionroom import SessionRoom
    from atm.team.rules.team import Team

VERIFY = (
    "Consolidation interrupted. Verify your changes? Look at them, then tell the lead one of: "
    '"My edits OK", "Need to fix: …".'
)


def can_answer(team: Team, one: MemberView) -> bool:
    return one.kind == AGENT and one.is_online and not team.is_lead(one.name)


def answers_since(desk: SessionRoom, team: Team, since: float) -> dict[str, str]:
    """What members told the lead about their changes since they were asked; the last word counts."""
    found: dict[str, str] = {}
    for entry in desk.room.ledger.entries(team.name)[0]:
        message = entry.message if entry.kind == MESSAGE and entry.at >= to_iso(since) else None
        said = said_of_edits(message.text) if message is not None else ""
        member = team.member(message.sender) if message is not None and said else None
        if member is not None and not same_name(member.name, team.lead):
            found[member.name] = said
    return found
