"""An inbox in numbers: how much there is, how much of it unread. Nothing of a row is kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from atm.files.formats.json_record import NotJson, TooDeep, decode, decode_object, to_text
from atm.mail.formats.inbox import KNOWN_FIELDS, Inbox
from atm.mail.formats.protocol_message import is_idle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.mail.rules.messages import Message


@dataclass(slots=True)
class InboxCounts:
    """Idle notices are counted apart: they say nothing that the owner must read."""

    total: int = 0
    unread: int = 0
    idle: int = 0
    malformed: int = 0
    latest: str = ""
    """When somebody said something last; if there are only idle notices, the last of these."""
    unknown: set[str] = field(default_factory=set)
    """Fields that no row of ours has."""


def count_rows(data: bytes) -> InboxCounts:
    """
    The same judgement as `inbox.message_from`, without a message for each row: a hundred thousand are counted in the
    time in which ten thousand are taken apart.
    """
    try:
        rows = decode(to_text(data))
    except TooDeep:  # a row that nobody can take apart is malformed, and the others are there all the same
        rows = [_as_far_as_known(row) for row in Inbox(data).rows]
    if not isinstance(rows, list):
        raise NotJson("not an array")
    counts, latest_idle = InboxCounts(), ""
    for row in rows:
        text = row.get("text", row.get("content")) if isinstance(row, dict) else None
        if not isinstance(row, dict) or not isinstance(text, str) or not isinstance(row.get("from"), str):
            counts.malformed += 1
            continue
        counts.total += 1
        if not row.keys() <= KNOWN_FIELDS:
            counts.unknown |= row.keys() - KNOWN_FIELDS
        at = row.get("timestamp")
        said_at = at if isinstance(at, str) else ""
        if is_idle(row.get("type"), text):
            counts.idle += 1
            latest_idle = max(latest_idle, said_at)
            continue
        counts.unread += row.get("read") is not True
        counts.latest = max(counts.latest, said_at)
    if counts.idle == counts.total:
        counts.latest = latest_idle
    return counts


def _as_far_as_known(row: Message) -> Plain:
    return decode_object(row.raw) if row.understood else None
