"""`endpoints/{member}.json`: how an agent can be reached. One writer: the agent's own hooks."""

from __future__ import annotations

from atm.domain.team.endpoints import Endpoint
from atm.formats.files.json_record import NotJson, decode_object, encode, to_bytes, to_text
from atm.formats.files.times import from_iso, to_iso

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.plain import Plain

_TEXTS = ("vendor", "session", "host", "boot", "server", "pane", "pane_command", "url", "life")


def encode_endpoint(member: str, endpoint: Endpoint) -> bytes:
    fields: dict[str, Plain] = {"member": member, "at": to_iso(endpoint.at)}
    fields |= {name: value for name in _TEXTS if (value := getattr(endpoint, name))}
    if endpoint.pane_pid is not None:
        fields["pane_pid"] = endpoint.pane_pid
    if endpoint.unconfirmed:
        fields["unconfirmed"] = list(endpoint.unconfirmed)
    return to_bytes(encode(fields) + "\n")


def decode_endpoint(data: bytes) -> Endpoint | None:
    """The endpoint, or None if that is not one."""
    try:
        fields = decode_object(to_text(data))
    except NotJson:
        return None
    at, pid, waiting = from_iso(str(fields.get("at") or "")), fields.get("pane_pid"), fields.get("unconfirmed")
    if at is None:
        return None
    texts = {name: value if isinstance(value := fields.get(name), str) else "" for name in _TEXTS}
    return Endpoint(
        at=at,
        pane_pid=pid if isinstance(pid, int) and not isinstance(pid, bool) else None,
        unconfirmed=[id for id in waiting if isinstance(id, str)] if isinstance(waiting, list) else [],
        **texts,
    )
