"""
`state.json` and `COMPLETED`: where a team stands in its life.

Both are ours. Fields that we do not know survive every move: sessions keep their checkpoint in the same file.
"""

from __future__ import annotations

from atm.files.formats.json_record import NotJson, RawObject, decode_object, encode, indent, to_bytes, to_text
from atm.team.formats.repository_field import KEY, repository_fields
from atm.team.rules.lifecycle import MOST_REMEMBERED, MOVES, UNKNOWN, Move, TeamStanding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.team.rules.repositories import RepositoryBinding

VERSION = 1


def first_state(
    team: str, status: str, at: str, by: str, id: str, *, repository: RepositoryBinding | None = None
) -> bytes:
    """The file of a team that is being made. Without a repository it may work in several: that is recorded too."""
    bound = encode(repository_fields(repository)) if repository is not None else "null"
    return to_bytes(RawObject(to_text(new_state(team, status, at, by, id))).with_raw(KEY, bound).text)


def new_state(team: str, status: str, at: str, by: str, id: str = "") -> bytes:
    """The file of a team that was just made. Its id is that of this life: a team of the same name gets another."""
    record: dict[str, Plain] = {
        "version": VERSION,
        "team": team,
        **({"team_id": id} if id else {}),
        "status": status,
        "since": at,
        "by": by,
        "history": [],
    }
    return to_bytes(indent(record) + "\n")


def decode_state(data: bytes) -> TeamStanding:
    """Read it. Raises NotJson if it is no object; a state that we do not know is unknown."""
    fields = decode_object(to_text(data))
    status = fields.get("status")
    if not isinstance(status, str) or status not in MOVES:
        return TeamStanding(UNKNOWN, f"state.json says {status!r}")
    return TeamStanding(
        status, "state.json", since=_text(fields, "since"), by=_text(fields, "by"), history=_history(fields)
    )


def decode_team_id(data: bytes) -> str:
    """Raises NotJson."""
    return _text(decode_object(to_text(data)), "team_id")


def moved(data: bytes, moves: list[Move]) -> bytes:
    """The file after some moves. What else stands in it stays."""
    record = RawObject(to_text(data))
    kept = decode_object(record.text).get("history")
    history: list[Plain] = [*kept] if isinstance(kept, list) else []
    history += [{"from": move.before, "to": move.after, "at": move.at, "by": move.by} for move in moves]
    last = moves[-1]
    fields: dict[str, Plain] = {"status": last.after, "since": last.at, "by": last.by}
    for key, value in fields.items():
        record = record.with_raw(key, encode(value))
    return to_bytes(record.with_raw("history", encode(history[-MOST_REMEMBERED:])).text)


def completed_mark(at: str, by: str) -> bytes:
    return to_bytes(encode({"version": VERSION, "at": at, "by": by}) + "\n")


def decode_mark(data: bytes) -> tuple[str, str]:
    """When and by whom; empty if the file says nothing: its presence alone makes a team immutable."""
    try:
        fields = decode_object(to_text(data))
    except NotJson:
        return "", ""
    return _text(fields, "at"), _text(fields, "by")


def _history(fields: dict[str, Plain]) -> list[Move]:
    found = fields.get("history")
    entries = [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []
    return [Move(_text(e, "from"), _text(e, "to"), _text(e, "at"), _text(e, "by")) for e in entries]


def _text(fields: dict[str, Plain], key: str) -> str:
    value = fields.get(key)
    return value if isinstance(value, str) else ""
