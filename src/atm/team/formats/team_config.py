"""
`config.json`: a team and its members, in Claude Code's shape.

Edits touch one member or one field; whatever else stands in the file stays to the letter.
"""

from __future__ import annotations

from atm.core.names import is_safe_name
from atm.files.formats.json_record import RawArray, RawObject, encode, indent, to_bytes, to_text
from atm.team.rules.team import DEFAULT_TYPE, LEAD_NAME, Member, Team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

KNOWN_FIELDS = frozenset(
    ("name", "description", "createdAt", "leadAgentId", "leadSessionId", "hiddenPaneIds", "members")
)
KNOWN_MEMBER_FIELDS = frozenset(
    (
        *("agentId", "name", "agentType", "model", "prompt", "color", "planModeRequired", "joinedAt"),
        *("tmuxPaneId", "cwd", "subscriptions", "backendType", "isActive", "mode"),
        *("sessionId", "quantum", "delegate"),
    )
)
STALE_FIELDS = ("isActive", "lastActive", "sessionId", "opencodeSessionId")
"""What an entry says about a run that is over by the time a backup brings it back."""


def decode_team(data: bytes, name: str) -> Team:
    """Read a roster. Raises NotJson if the file is not an object with a list of members."""
    record, listed = _opened(data)
    members = [member for member in _members(listed) if member is not None]
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


def _members(listed: RawArray) -> list[Member | None]:
    """Each entry as a member; None for what is none. Of the values that were read with the list: that is quick."""
    return [_member(raw, record) for raw, record in zip(listed.items, listed.values, strict=True)]


def _member(raw: str, record: Plain) -> Member | None:
    if not isinstance(record, dict):
        return None
    name = record.get("name")
    if not isinstance(name, str) or not is_safe_name(name):
        return None  # a name that could lead out of its folder is no member's
    active = record.get("isActive")
    return Member(
        name=name,
        agent_type=_text(record.get("agentType")),
        model=_text(record.get("model")),
        cwd=_text(record.get("cwd")),
        backend=_text(record.get("backendType")),
        is_active=active if isinstance(active, bool) else None,
        joined_at=_seconds(record.get("joinedAt")),
        pane_id=_text(record.get("tmuxPaneId")),
        session_id=_text(record.get("sessionId")),
        color=_text(record.get("color")),
        quantum=_text(record.get("quantum")),
        raw=raw,
    )


def new_team(name: str, *, description: str, lead: str, now: float) -> bytes:
    """The file of a team without members yet."""
    record: dict[str, Plain] = {"name": name}
    if description:
        record["description"] = description
    record |= {
        "createdAt": int(now * 1000),
        "leadAgentId": f"{lead}@{name}",
        "leadSessionId": "",
        "members": [],
    }
    return to_bytes(indent(record) + "\n")


def new_member(member: Member, team: str, now: float) -> str:
    """The entry of a member that we add."""
    name = member.name
    record: dict[str, Plain] = {
        "agentId": f"{name}@{team}",
        "name": name,
        "agentType": member.agent_type or DEFAULT_TYPE,
    }
    if member.model:
        record["model"] = member.model
    if member.color:
        record["color"] = member.color
    record |= {"joinedAt": int(now * 1000), "tmuxPaneId": member.pane_id, "cwd": member.cwd, "subscriptions": []}
    if member.backend:
        record["backendType"] = member.backend
    if member.is_active is not None:
        record["isActive"] = member.is_active
    if member.session_id:
        record["sessionId"] = member.session_id
    if member.quantum:
        record["quantum"] = member.quantum
    return encode(record)


def with_fields(data: bytes, name: str, fields: dict[str, Plain]) -> bytes:
    """The roster with some fields of one entry set; every other character of it stays."""
    record, members = _opened(data)
    for place, member in enumerate(_members(members)):
        if member is None or member.name != name:
            continue
        raw = members.items[place]
        entry = RawObject(raw)
        for key, value in fields.items():
            if key not in entry or entry.get(key) != value:
                entry = entry.with_raw(key, encode(value))
        return data if entry.text == raw else _in_place(record, members.items, place, entry.text)
    return data


def _in_place(record: RawObject, items: list[str], place: int, entry: str) -> bytes:
    """Only this entry changes: the layout of the list around it stays as its writer left it."""
    text, at = record.raw("members") or "[]", 0
    for item in items[:place]:
        at = text.index(item, at) + len(item)
    start = text.index(items[place], at)  # between two items stand only a comma and blanks
    return to_bytes(record.with_raw("members", text[:start] + entry + text[start + len(items[place]) :]).text)


def detached(data: bytes) -> bytes:
    """A roster of the past without what was true only then: who led which session, and who ran where."""
    record, members = _opened(data)
    members.items = [detached_entry(raw) if raw.startswith("{") else raw for raw in members.items]
    if "leadSessionId" in record:
        record = record.with_raw("leadSessionId", '""')
    return _closed(record, members)


def detached_entry(raw: str) -> str:
    """An entry of the past without its runtime: no session, no pane, and nobody knows whether it is active."""
    from atm.files.formats.json_pieces import without_members  # not on the path of `atm send`

    entry = RawObject(without_members(raw, STALE_FIELDS))
    return entry.with_raw("tmuxPaneId", '""').text if "tmuxPaneId" in entry else entry.text


def must_plan(member: Member) -> bool:
    """Must this member have a plan approved before it begins (`planModeRequired`)?"""
    return bool(member.raw) and RawObject(member.raw).get("planModeRequired") is True


def delegates(member: Member, *, otherwise: bool) -> bool:
    """Does this lead only coordinate (`delegate`)? What the roster does not say, the settings do."""
    said = RawObject(member.raw).get("delegate") if member.raw else None
    return said if isinstance(said, bool) else otherwise


def with_member(data: bytes, entry: str) -> bytes:
    record, members = _opened(data)
    members.items.append(entry)
    return _closed(record, members)


def without_member(data: bytes, name: str) -> bytes:
    record, members = _opened(data)
    entries = zip(members.items, _members(members), strict=True)
    members.items = [raw for raw, member in entries if member is None or member.name != name]
    return _closed(record, members)


def _opened(data: bytes) -> tuple[RawObject, RawArray]:
    record = RawObject(to_text(data))
    return record, RawArray(record.raw("members") or "[]")


def _closed(record: RawObject, members: RawArray) -> bytes:
    return to_bytes(record.with_raw("members", members.joined(",\n    ")).text)


def _text(value: Plain) -> str:
    return value if isinstance(value, str) else ""


def _seconds(value: Plain) -> float | None:
    is_time = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e16
    return value / 1000 if is_time else None  # type: ignore[operator]
