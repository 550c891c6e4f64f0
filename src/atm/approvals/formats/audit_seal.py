"""
The audit's seal: `audit.seal` says how far the audit was written, and what it said up to there.

It is signed with the team's secret. An audit that was cut off, replaced or edited does not fit its seal any more.
"""

from __future__ import annotations

from atm.approvals.formats.records import is_signed, signed
from atm.files.formats.json_record import NotJson, decode_object, to_text
from atm.files.formats.times import from_iso, to_iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Record


class AuditSeal:
    """The audit as it was after the last use of an approval."""

    __slots__ = ("sha256", "since", "size")

    def __init__(self, since: float, size: int, sha256: str) -> None:
        self.since = since
        """Requests that are older than the seal are not covered by it."""
        self.size = size
        self.sha256 = sha256
        """Of the first `size` bytes."""

    def fits(self, audit: bytes) -> bool:
        """The audit still begins with what was sealed. Lines that came later do not matter."""
        return len(audit) >= self.size and _sha256(audit[: self.size]) == self.sha256


def sealed(audit: bytes, since: float) -> AuditSeal:
    """A seal for the audit as it is now."""
    return AuditSeal(since, len(audit), _sha256(audit))


def _sha256(data: bytes) -> str:
    from hashlib import sha256  # here: a call that a rule decides needs no seal

    return sha256(data).hexdigest()


def encode_seal(seal: AuditSeal, team: str, secret: bytes) -> bytes:
    record: Record = {"team": team, "since": to_iso(seal.since), "size": seal.size, "sha256": seal.sha256}
    return signed(record, secret)


def decode_seal(data: bytes, team: str, secret: bytes) -> AuditSeal | None:
    """None for a seal that atm did not write for this team."""
    try:
        record = decode_object(to_text(data))
    except NotJson:
        return None
    since, size = from_iso(str(record.get("since"))), record.get("size")
    if record.get("team") != team or since is None or not isinstance(size, int) or not is_signed(record, secret):
        return None
    return AuditSeal(since, size, str(record.get("sha256")))


def events_in(audit: bytes, id: str) -> list[str]:
    """What the audit says about one request, oldest first. Other lines are not parsed."""
    wanted, found = id.encode(), []
    for line in audit.split(b"\n"):
        if wanted in line:
            try:
                record = decode_object(to_text(line))
            except NotJson:
                continue  # a crash cut this line off
            if record.get("id") == id:
                found.append(str(record.get("event")))
    return found
