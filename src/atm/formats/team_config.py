"""
`config.json`: a team and its members, in Claude Code's shape.

Edits touch one member or one field; whatever else stands in the file stays to the letter.
"""

from __future__ import annotations

from atm.domain.names import is_safe_name
from atm.domain.team import LEAD_NAME, Member, Team
from atm.formats.json_record import RawArray, RawObject, encode, indent, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.formats.json_record import Json

KNOWN_FIELDS = frozenset(
    ("name", "description", "createdAt", "leadAgentId", "leadSessionId", "hiddenPaneIds", "members")
)
KNOWN_MEMBER_FIELDS = frozenset(
    (
        *("agentId", "name", "agentType", "model", "prompt", "color", "planModeRequired", "joinedAt"),
        *("tmuxPaneId", "cwd", "subscriptions", "backendType", "isActive", "mode"),
    )
)


def decode_team(data: bytes, name: str) -> Team:
    """Read a roster. Raises NotJson if the file is not an object with a list of members."""
    record = RawObject(to_text(data))
    raw_members = record.raw("members") or "[]"
    members = [member for raw in RawArray(raw_members).items if (member := _member(raw)) is not None]
    lead = _text(record.get("leadAgentId")).partition("@")[0] or LEAD_NAME
    return Team(
        name=name,
        members=members,
        created_at=_seconds(record.get("createdAt")),
        description=_text(record.get("description")),
        lead=lead,
    )


def unknown_fields(data: bytes) -> list[str]:
    """Fields that the fact sheet does not list: a sign that the format has moved on."""
    record = RawObject(to_text(data))
    found = [key for key in record._spans if key not in KNOWN_FIELDS]
    for raw in RawArray(record.raw("members") or "[]").items:
        if raw.startswith("{"):
            found += [f"members[].{key}" for key in RawObject(raw)._spans if key not in KNOWN_MEMBER_FIELDS]
    return sorted(set(found))


def member_names(data: bytes) -> list[str]:
    """Every name in the roster, also those that we refuse."""
    found = [RawObject(raw).get("name") for raw in _opened(data)[1].items if raw.startswith("{")]
    return [name for name in found if isinstance(name, str)]


def _member(raw: str) -> Member | None:
    if not raw.startswith("{"):
        return None
    record = RawObject(raw)
    name = record.get("name")
    if not isinstance(name, str) or not is_safe_name(name):
        return None  # a name that could lead out of its folder is nobody's
    active = record.get("isActive")
    return Member(
        name=name,
        agent_type=_text(record.get("agentType")),
        model=_text(record.get("model")),
        cwd=_text(record.get("cwd")),
        backend=_text(record.get("backendType")),
        is_active=active if isinstance(active, bool) else None,
        joined_at=_seconds(record.get("joinedAt")),
        raw=raw,
    )


def new_team(name: str, *, description: str, lead: str, now: float) -> bytes:
    """The file of a team without members yet."""
    record: dict[str, Json] = {"name": name}
    if description:
        record["description"] = description
    record |= {
        "createdAt": int(now * 1000),
        "leadAgentId": f"{lead}@{name}",
        "leadSessionId": "",
        "members": [],
    }
    return to_bytes(indent(record) + "\n")


def new_member(
    name: str,
    team: str,
    *,
    agent_type: str,
    model: str,
    cwd: str,
    backend: str,
    active: bool | None,
    now: float,
) -> str:
    """The entry of a member that we add."""
    record: dict[str, Json] = {"agentId": f"{name}@{team}", "name": name, "agentType": agent_type}
    if model:
        record["model"] = model
    record |= {"joinedAt": int(now * 1000), "tmuxPaneId": "", "cwd": cwd, "subscriptions": []}
    if backend:
        record["backendType"] = backend
    if active is not None:
        record["isActive"] = active
    return encode(record)


def with_member(data: bytes, entry: str) -> bytes:
    record, members = _opened(data)
    members.items.append(entry)
    return _closed(record, members)


def without_member(data: bytes, name: str) -> bytes:
    record, members = _opened(data)
    members.items = [raw for raw in members.items if (m := _member(raw)) is None or m.name != name]
    return _closed(record, members)


def _opened(data: bytes) -> tuple[RawObject, RawArray]:
    record = RawObject(to_text(data))
    return record, RawArray(record.raw("members") or "[]")


def _closed(record: RawObject, members: RawArray) -> bytes:
    return to_bytes(record.with_raw("members", members.joined(",\n    ")).text)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _seconds(value: Json) -> float | None:
    is_time = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e16
    return value / 1000 if is_time else None  # type: ignore[operator]
