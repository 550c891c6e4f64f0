"""
Dataclasses from JSON that anybody may have written: what is not known is passed over, what is of another kind is as if
it were not there.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints


def made_from(kind: Any, said: dict[str, Any]) -> Any:
    """None if something is missing without which there is none."""
    hints, needed = _shape(kind)
    given = {name: _value(hint, said[name]) for name, hint in hints.items() if name in said}
    known = {name: value for name, value in given.items() if value is not None}
    return kind(**known) if needed <= {*known} else None


@cache
def _shape(kind: Any) -> tuple[dict[str, Any], frozenset[str]]:
    """The kind of each field, and those that must be there. Asked for once: a board has thousands of rows."""
    hints = get_type_hints(kind)
    needed = (one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING)
    return {one.name: hints[one.name] for one in fields(kind)}, frozenset(needed)


def _value(hint: Any, value: Any) -> Any:
    """None for a value of another kind."""
    if get_origin(hint) in (Union, UnionType):
        return next((_value(one, value) for one in get_args(hint) if one is not type(None)), None)
    if hint is Any:
        return value
    if is_dataclass(hint):
        return made_from(hint, value) if isinstance(value, dict) else None
    if get_origin(hint) is list:
        (kind,) = get_args(hint)
        return [one for one in (_value(kind, each) for each in value) if one is not None] if _is(list, value) else None
    if get_origin(hint) is dict:
        _, kind = get_args(hint)
        each = ((str(key), _value(kind, one)) for key, one in value.items()) if _is(dict, value) else ()
        return {key: one for key, one in each if one is not None} if _is(dict, value) else None
    if hint is float:
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    return value if _is(hint, value) else None


def _is(kind: type, value: object) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
