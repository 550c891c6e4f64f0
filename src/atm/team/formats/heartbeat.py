"""`heartbeats/{member}.json`: when a member was last heard of. One writer each (D16)."""

from __future__ import annotations

from atm.files.formats.json_record import decode_object, encode, to_bytes, to_text
from atm.files.formats.times import from_iso, to_iso
from atm.team.rules.liveness import Beat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain


def encode_beat(member: str, beat: Beat) -> bytes:
    fields: dict[str, Plain] = {"member": member, "at": to_iso(beat.at), "source": beat.source, "host": beat.host}
    fields |= {"teammate_id": member, "timestamp_utc_ms": round(beat.at * 1000), "task_claimed": beat.task or None}
    fields |= {"context_usage_percent": beat.context, "status": "in_progress" if beat.task else "idle"}
    fields |= {"message_seq": beat.message, "checkpoint_seq": beat.checkpoint}
    if beat.pid is not None:
        fields["pid"] = beat.pid
    if beat.uptime is not None:
        fields |= {"uptime": round(beat.uptime, 3), "boot": beat.boot}
    if beat.state:
        fields["state"] = beat.state
    if beat.state_since is not None:
        fields["stateSince"] = to_iso(beat.state_since)
    if beat.state and beat.state_source != beat.source:
        fields["stateSource"] = beat.state_source
    return to_bytes(encode(fields) + "\n")


def _seconds(value: Plain) -> float | None:
    is_time = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12
    return float(value) if is_time else None  # type: ignore[arg-type]


def _text(value: Plain) -> str:
    return value if isinstance(value, str) else ""


def _count(value: Plain) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _percent(value: Plain) -> int | None:
    is_one = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 100
    return round(value) if is_one else None  # type: ignore[arg-type]


def decode_beat(data: bytes) -> Beat | None:
    """The heartbeat, or None if the time in it cannot be read. Raises NotJson."""
    fields = decode_object(to_text(data))
    at = from_iso(str(fields.get("at") or ""))
    pid, uptime = fields.get("pid"), fields.get("uptime")
    if at is None:
        return None
    return Beat(
        at=at,
        source=str(fields.get("source") or "heartbeat"),
        host=str(fields.get("host") or ""),
        pid=pid if isinstance(pid, int) and not isinstance(pid, bool) else None,
        state=str(fields.get("state") or ""),
        state_since=from_iso(str(fields.get("stateSince") or "")),
        state_source=str(fields.get("stateSource") or ""),
        uptime=_seconds(uptime),
        boot=str(fields.get("boot") or ""),
        task=_text(fields.get("task_claimed")),
        context=_percent(fields.get("context_usage_percent")),
        message=_count(fields.get("message_seq")),
        checkpoint=_count(fields.get("checkpoint_seq")),
    )
