"""
Idle notices: a member tells the lead that it has nothing to do.

One for each idle time, and in the lead's inbox one for each sender: a new one takes the place of a former one that
nobody has read. The field's leads drowned in them.
"""

from __future__ import annotations

from atm.core.errors import AtmError
from atm.core.names import is_claudes_team, same_name
from atm.files.formats.json_record import encode
from atm.files.formats.times import to_iso
from atm.mail.formats.inbox import encode_row
from atm.mail.formats.protocol_message import idle_sender
from atm.mail.rules.messages import Message
from atm.mail.rules.quotas import LARGEST_INBOX
from atm.mail.rules.receipts import ARCHIVED
from atm.mail.services.bookkeeping import record
from atm.team.rules.liveness import IDLE
from atm.team.services.presence import beat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.mail.services.mailroom import Mailroom
    from atm.team.rules.liveness import Beat
    from atm.team.rules.team import Team


def goes_idle(room: Mailroom, team: Team, member: str, source: str, *, pid: int | None = None) -> Message | None:
    """A member's turn is over: note it, and tell the lead unless it has been told. The notice, if one was sent."""
    former = beat(room.presence, team, member, room.clock.now(), source, pid=pid, state=IDLE)
    if former is not None and former.state == IDLE and not _is_another_turn(former, source):
        return None  # the same idle time as before
    if is_claudes_team(team.name) or team.completed or same_name(member, team.lead) or team.member(team.lead) is None:
        return None  # Claude Code tells its own leads
    return _tell(room, team, member)


def _is_another_turn(former: Beat, source: str) -> bool:
    """Codex's `notify` tells only of ends: two in a row are two turns."""
    return source.endswith(" notify") and former.source == source


def _tell(room: Mailroom, team: Team, member: str) -> Message | None:
    notice = idle_notice(room, member)
    try:
        if room.inboxes.size(team.name, team.lead) > LARGEST_INBOX:
            return None  # to look for the former one there would take longer than a hook has
        put_notice(room, team.name, team.lead, notice)
    except AtmError:
        return None  # a notice that comes late is worth nothing; the heartbeat says the same
    return notice


def idle_notice(room: Mailroom, member: str) -> Message:
    at = to_iso(room.clock.now())
    said = {"type": "idle_notification", "from": member, "timestamp": at, "idleReason": "available"}
    message = Message(
        id=room.chance.new_id(), sender=member, text=encode(said), timestamp=at, read=False, summary=f"{member} is idle"
    )
    message.raw = encode_row(message, claudes_team=False)
    return message


def put_notice(room: Mailroom, team: str, lead: str, notice: Message) -> None:
    """In place of what the same sender said before, as far as nobody has read it."""
    replaced: list[str] = []

    def change(rows: list[Message]) -> list[Message]:
        former = [row for row in rows if _is_former(row, notice.sender) and row.id != notice.id]
        replaced[:] = [row.id for row in former if row.id]
        # First the ledger: a row that is missing without a reason would be put back.
        record(room, team, lead, replaced, ARCHIVED, f"replaced by a newer idle notice, {notice.id}")
        return [row for row in rows if row not in former and row.id != notice.id] + [notice]

    room.inboxes.change(team, lead, change)
    record(room, team, lead, [notice.id or ""], "written", "inbox file", notice.raw)


def _is_former(row: Message, sender: str) -> bool:
    return row.understood and not row.read and same_name(idle_sender(row) or "", sender)
