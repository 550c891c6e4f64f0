"""What a run was asked to be, as JSON: `plan.json` in the folder of the run."""

from __future__ import annotations

from dataclasses import MISSING, asdict, fields, is_dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from atm.domain.runs.orders import RunOrder
from atm.formats.files.json_record import NotJson, decode_object, encode, to_bytes, to_text

VERSION = 1
NEEDED = ("run", "team", "folder")


def encode_order(order: RunOrder) -> bytes:
    return to_bytes(encode({"version": VERSION, **asdict(order)}) + "\n")


def decode_order(data: bytes) -> RunOrder:
    """Raises NotJson. What a later version knows beside it is passed over; what is of another kind is as if absent."""
    said = decode_object(to_text(data))
    missing = next((name for name in NEEDED if not isinstance(said.get(name), str)), None)
    if missing is not None:
        raise NotJson(f"it does not say {missing}")
    made: RunOrder = _made(RunOrder, said)
    return made


def _made(kind: Any, said: dict[str, Any]) -> Any:
    hints = get_type_hints(kind)
    given = {one.name: _value(hints[one.name], said[one.name]) for one in fields(kind) if one.name in said}
    known = {name: value for name, value in given.items() if value is not None}
    needed = {one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING}
    return kind(**known) if needed <= {*known} else None


def _value(hint: Any, value: Any) -> Any:
    """None for a value of another kind."""
    if get_origin(hint) in (Union, UnionType):
        return next((_value(one, value) for one in get_args(hint) if one is not type(None)), None)
    if is_dataclass(hint):
        return _made(hint, value) if isinstance(value, dict) else None
    if get_origin(hint) is list:
        (kind,) = get_args(hint)
        return [one for one in (_value(kind, each) for each in value) if one is not None] if _is(list, value) else None
    if get_origin(hint) is dict:
        return {str(key): one for key, one in value.items() if isinstance(one, str)} if _is(dict, value) else None
    if hint is float:
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    return value if _is(hint, value) else None


def _is(kind: type, value: object) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
