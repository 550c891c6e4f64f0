"""
Schemas of what tools take and give, built from a few words, and the check of what a client sends against one.

The SDK's low-level server hands arguments over as they came, so we check them ourselves: only the handful of keywords
that the builders here use. Every byte of a schema is read by every agent on every connection, so they are short.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from atm.core.errors import UsageError
from atm.core.names import nearest_name

if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.ui.mcp.tool import Schema

MOST_ITEMS = 100
LARGEST = 10**18
"""Of whole numbers that stand for a text."""


def text(about: str = "", *, longest: int | None = None) -> dict[str, Plain]:
    limit: dict[str, Plain] = {} if longest is None else {"maxLength": longest}
    return {"type": "string", **limit, **_said(about)}


def choice(*options: str, about: str = "") -> dict[str, Plain]:
    return {"type": "string", "enum": [*options], **_said(about)}


def whole(about: str = "", *, least: int = 0, most: int | None = None) -> dict[str, Plain]:
    limit: dict[str, Plain] = {} if most is None else {"maximum": most}
    return {"type": "integer", "minimum": least, **limit, **_said(about)}


def number(about: str = "", *, least: float = 0, most: float | None = None) -> dict[str, Plain]:
    limit: dict[str, Plain] = {} if most is None else {"maximum": most}
    return {"type": "number", "minimum": least, **limit, **_said(about)}


def count() -> dict[str, Plain]:
    """A whole number that we give."""
    return {"type": "integer"}


def yes_no(about: str = "") -> dict[str, Plain]:
    return {"type": "boolean", **_said(about)}


def many(item: Schema, about: str = "", *, most: int = MOST_ITEMS) -> dict[str, Plain]:
    """A list that a client sends: bounded."""
    return {"type": "array", "items": {**item}, "maxItems": most, **_said(about)}


def listed(item: Schema) -> dict[str, Plain]:
    """A list that we give."""
    return {"type": "array", "items": {**item}}


def takes(required: Mapping[str, Schema] | None = None, optional: Mapping[str, Schema] | None = None) -> Schema:
    """The arguments of a tool; anything else is refused."""
    need, may = required or {}, optional or {}
    must: dict[str, Plain] = {"required": [*need]} if need else {}
    return {"type": "object", "properties": _copied({**need, **may}), **must, "additionalProperties": False}


def gives(always: Mapping[str, Schema], sometimes: Mapping[str, Schema] | None = None) -> dict[str, Plain]:
    """What comes back, or an object inside of it."""
    properties = _copied({**always, **(sometimes or {})})
    return {"type": "object", "properties": properties, "required": [*always]}


UNTOLD = ("minLength", "maxLength", "maxItems", "minimum", "maximum", "additionalProperties")
"""Bounds that are checked and not listed: who meets one is told it, and the others need not read it."""


def told(schema: Schema) -> dict[str, Plain]:
    """What a tool takes, as agents read it."""
    return {key: _told(key, value) for key, value in schema.items() if key not in UNTOLD}


def _told(key: str, value: Plain) -> Plain:
    if key == "properties" and isinstance(value, dict):
        return {name: told(one) if isinstance(one, dict) else one for name, one in value.items()}
    return told(value) if isinstance(value, dict) else value


def _said(about: str) -> dict[str, Plain]:
    return {"description": about} if about else {}


def _copied(parts: Mapping[str, Schema]) -> dict[str, Plain]:
    return {name: {**schema} for name, schema in parts.items()}


# Checking.


def check(schema: Schema, arguments: object) -> dict[str, Plain]:
    """The arguments, if they fit the schema that `takes` made; else UsageError, saying which does not and why."""
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, Mapping):
        raise UsageError("the arguments are no object", "give them by name")
    properties, required = schema.get("properties"), schema.get("required", [])
    assert isinstance(properties, dict)
    assert isinstance(required, list)
    missing = [name for name in required if arguments.get(str(name)) is None]
    if missing:
        raise UsageError(f"{missing[0]!r} is missing", f"needed: {', '.join(map(str, required))}")
    checked: dict[str, Plain] = {}
    for name, value in arguments.items():
        if name not in properties:
            raise _unknown(name, properties)
        if value is not None:  # clients that fill in every argument send null for those that nobody gave
            checked[name] = _checked(name, properties[name], value)
    return checked


def _unknown(name: object, properties: dict[str, Plain]) -> UsageError:
    shown = str(name)[:80]
    near = nearest_name(shown, [*properties])
    known = f"known: {', '.join(properties)}" if properties else "it takes none"
    return UsageError(f"there is no argument {shown!r}", f"did you mean {near!r}?" if near else known)


def _checked(name: str, schema: Plain, value: object) -> Plain:
    assert isinstance(schema, dict)
    kind = str(schema["type"])
    right = _KINDS[kind](value)
    if right is None:
        raise UsageError(f"{name!r} must be {_WORDS[kind]}", f"it is {_called(value)}")
    if isinstance(right, list):
        return _items(name, schema, right)
    if isinstance(right, str):
        return _check_text(name, schema, right)
    if isinstance(right, int | float) and not isinstance(right, bool):
        _check_range(name, schema, right)
    return right


def _text(value: object) -> str | None:
    """
    Models that read `#1` say 1 where an id is asked for: what is meant is clear, so a whole number is its digits.

    Half of a surrogate pair cannot be written to any file: it becomes a mark.
    """
    whole = _whole(value)
    if whole is not None:
        return str(whole) if abs(whole) < LARGEST else None  # of thousands of digits Python writes no text
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def _called(value: object) -> str:
    """What JSON calls it: whoever sent it knows nothing of Python."""
    if value is None:
        return "null"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= LARGEST:
        return "a number that is too large"
    return next((said for kind, said in _NAMES.items() if isinstance(value, kind)), "something else")


def _whole(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():
        return int(value)  # 5.0 is an integer, says JSON Schema
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: object) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _yes_no(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _list(value: object) -> list[Plain] | None:
    return value if isinstance(value, list) else None


_KINDS: dict[str, Callable[[object], Plain]] = {
    "string": _text,
    "integer": _whole,
    "number": _number,
    "boolean": _yes_no,
    "array": _list,
}
_NAMES = {bool: "true or false", int | float: "a number", str: "a text", list: "a list", dict: "an object"}
_WORDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
}


def _items(name: str, schema: dict[str, Plain], values: list[Plain]) -> list[Plain]:
    most = schema.get("maxItems")
    if isinstance(most, int) and len(values) > most:
        raise UsageError(f"{name!r} has {len(values)} items", f"give at most {most}")
    return [_checked(name, schema["items"], value) for value in values]


def _check_text(name: str, schema: dict[str, Plain], value: str) -> str:
    options, longest = schema.get("enum"), schema.get("maxLength")
    if isinstance(options, list) and value not in options:
        raise UsageError(f"{name!r} cannot be {value[:80]!r}", f"use one of {', '.join(map(str, options))}")
    if isinstance(longest, int) and len(value) > longest:
        raise UsageError(f"{name!r} has {len(value)} characters", f"use at most {longest}")
    return value


def _check_range(name: str, schema: dict[str, Plain], value: float) -> None:
    least, most = schema.get("minimum"), schema.get("maximum")
    low = float(least) if isinstance(least, int | float) else float("-inf")
    high = float(most) if isinstance(most, int | float) else float("inf")
    if not low <= value <= high:  # written so that not-a-number does not pass either
        upper = f" to {most}" if most is not None else " or more"
        # An integer of thousands of digits cannot be written out: Python refuses to.
        said = f"{value:.6g}" if abs(value) < 1e15 or value != value else "so large"
        raise UsageError(f"{name!r} cannot be {said}", f"give {least}{upper}")
