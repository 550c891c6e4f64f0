"""The record of an agent as JSON. Only atm writes it; one of a later version is read as far as it is understood."""

from __future__ import annotations

from dataclasses import asdict, fields

from atm.crew.rules.agents import AgentRecord
from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

VERSION = 1
_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "list[str]": (list,),
    "dict[str, str]": (dict,),
    "int | None": (int, type(None)),
    "float | None": (int, float, type(None)),
}
_PROCESSES = ("pid", "spawner", "program_pid")
"""Fields with the number of a process. Below 2 is none of ours: 0 and -1 mean groups, 1 is the system's first."""

NEEDED = ("team", "member", "generation", "mark", "runtime", "backend", "folder", "at")


def encode_agent(record: AgentRecord) -> bytes:
    return to_bytes(encode({"version": VERSION, **asdict(record)}) + "\n")


def decode_agent(data: bytes) -> AgentRecord:
    """Raises NotJson for what is no record."""
    said = decode_object(to_text(data))
    known = {one.name: _fitting(said[one.name], str(one.type)) for one in fields(AgentRecord) if one.name in said}
    for name in _PROCESSES:
        number = known.get(name)
        if isinstance(number, int) and number < 2:
            known[name] = 0
    missing = [name for name in NEEDED if known.get(name) is None]
    if missing:
        raise NotJson(f"it does not say {missing[0]}")
    return AgentRecord(**{name: value for name, value in known.items() if value is not None})  # type: ignore[arg-type]


def _fitting(value: Plain, kind: str) -> Plain:
    """None for a value of another kind: then the field is as if it were not there."""
    if not isinstance(value, _KINDS[kind]) or (isinstance(value, bool) and kind != "bool"):
        return None
    if isinstance(value, list):
        return [item for item in value if isinstance(item, str)]
    if isinstance(value, dict):
        return {key: item for key, item in value.items() if isinstance(item, str)}
    return value
