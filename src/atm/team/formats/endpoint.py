"""`endpoints/{member}.json`: how an agent can be reached. One writer: the agent's own hooks."""

from __future__ import annotations

from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text
from atm.files.formats.times import from_iso, to_iso
from atm.team.rules.endpoints import Endpoint

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

_TEXTS = ("vendor", "session", "host", "boot", "server", "pane", "pane_command", "url", "life")
_NUMBERS = ("pane_pid", "url_pid")


def encode_endpoint(member: str, endpoint: Endpoint) -> bytes:
    fields: dict[str, Plain] = {"member": member, "at": to_iso(endpoint.at)}
    fields |= {name: value for name in _TEXTS if (value := getattr(endpoint, name))}
    fields |= {name: value for name in _NUMBERS if (value := getattr(endpoint, name)) is not None}
    if endpoint.wakes_itself:
        fields["wakes_itself"] = True
    if endpoint.unconfirmed:
        fields["unconfirmed"] = list(endpoint.unconfirmed)
    return to_bytes(encode(fields) + "\n")


def decode_endpoint(data: bytes) -> Endpoint | None:
    """The endpoint, or None if that is not one."""
    try:
        fields = decode_object(to_text(data))
    except NotJson:
        return None
    at, waiting = from_iso(str(fields.get("at") or "")), fields.get("unconfirmed")
    if at is None:
        return None
    texts = {name: value if isinstance(value := fields.get(name), str) else "" for name in _TEXTS}
    return Endpoint(
        at=at,
        pane_pid=_number(fields.get("pane_pid")),
        url_pid=_number(fields.get("url_pid")),
        wakes_itself=fields.get("wakes_itself") is True,
        unconfirmed=[id for id in waiting if isinstance(id, str)] if isinstance(waiting, list) else [],
        **texts,
    )


def _number(value: Plain) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
