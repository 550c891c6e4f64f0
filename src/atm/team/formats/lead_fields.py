"""What `state.json` says of the session that leads a team; and `lead-away`, the mark that holds mail back."""

from __future__ import annotations

from atm.files.formats.json_pieces import without_members
from atm.files.formats.json_record import NotJson, RawObject, decode_object, encode, to_bytes, to_text
from atm.team.rules.lead_session import LeadSession

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

LARGEST_TIME = 1e14
"""Milliseconds since 1970 that can be a time."""


def decode_lead(data: bytes) -> LeadSession:
    """Raises NotJson."""
    fields = decode_object(to_text(data))
    terminal = fields.get("lead_terminal")
    at = terminal if isinstance(terminal, dict) else {}
    return LeadSession(
        session=text_in(fields, "lead_session_id"),
        former=text_in(fields, "lead_session_old"),
        last_seen=seconds_in(fields, "lead_last_seen_utc_ms"),
        away_since=seconds_in(fields, "lead_timeout_detected_utc_ms"),
        is_untold=fields.get("lead_untold") is True,
        pid=whole_in(at, "pid"),
        began=text_in(at, "began"),
        boot=text_in(at, "boot"),
        folder=text_in(fields, "lead_folder"),
        common=text_in(fields, "lead_repository"),
    )


def lead_fields(lead: LeadSession) -> dict[str, Plain]:
    terminal: dict[str, Plain] | None = None
    if lead.pid:
        terminal = {"pid": lead.pid, "began": lead.began, "boot": lead.boot}
    return {
        "lead_session_id": lead.session,
        "lead_session_old": lead.former or None,
        "lead_last_seen_utc_ms": milliseconds(lead.last_seen),
        "lead_timeout_detected_utc_ms": milliseconds(lead.away_since),
        "lead_untold": True if lead.is_untold else None,
        "lead_terminal": terminal,
        "lead_folder": lead.folder or None,
        "lead_repository": lead.common or None,
    }


def with_fields(data: bytes, fields: dict[str, Plain]) -> bytes:
    """The file with these set; None takes one away. What else stands in it stays as it is."""
    text = to_text(data)
    there = decode_object(text)
    record = RawObject(without_members(text, [key for key, value in fields.items() if value is None]))
    for key, value in fields.items():
        if value is not None and (key not in there or there[key] != value):
            record = record.with_raw(key, encode(value))
    return to_bytes(record.text)


def milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


def seconds_in(fields: dict[str, Plain], key: str) -> float | None:
    value = fields.get(key)
    is_time = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST_TIME
    return value / 1000 if is_time else None  # type: ignore[operator]


def whole_in(fields: dict[str, Plain], key: str) -> int:
    value = fields.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def text_in(fields: dict[str, Plain], key: str) -> str:
    value = fields.get(key)
    return value if isinstance(value, str) else ""


def away_mark(since: str, pid: int, began: str, boot: str) -> bytes:
    """Holds for as long as the daemon that set it lives: nobody's mail waits for one that was killed."""
    return to_bytes(encode({"since": since, "pid": pid, "began": began, "boot": boot}) + "\n")


def decode_away(data: bytes) -> tuple[int, str, str]:
    """Process, when it began, and in which start of the machine; zero if the file does not say."""
    try:
        fields = decode_object(to_text(data))
    except NotJson:
        return 0, "", ""
    return whole_in(fields, "pid"), text_in(fields, "began"), text_in(fields, "boot")
