"""
The shape of what another program says or writes: its fields and their kinds, whatever they hold; and how two differ.

A field is `members[].agentId`; in lines of JSON the line's type stands before it. A `?` after its kind says that it was
not there every time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

Shape = dict[str, str]

SOMETIMES = "?"
KINDS = {"int": "number", "float": "number", "NoneType": "null"}
ID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}|[0-9a-f]{8,}|\d{4}-\d\d-\d\dT[\d-]+Z?|\d+(?=$|\.)|-[0-9a-z]{6}(?=\.sh$)|/.*"
)
"""What names one of many: an id, a time, a number, a few letters by chance, a path."""


def kind_of(value: object) -> str:
    name = type(value).__name__
    return KINDS.get(name, name)


def unnamed(text: str) -> str:
    """The same text, with a star for what another run calls otherwise."""
    return ID.sub("*", text)


def shape(value: Any, depth: int, name: str = "") -> Shape:
    """Of one value; what is deeper than that is told by its kind alone."""
    found = {name: kind_of(value)} if name else {}
    if depth > 0 and isinstance(value, Mapping):
        parts = [shape(one, depth - 1, f"{name}.{unnamed(str(key))}".lstrip(".")) for key, one in value.items()]
        return {**found, **merged(parts, every=False)}
    if depth > 0 and isinstance(value, list) and any(isinstance(one, Mapping) for one in value):
        return {**found, **merged([shape(one, depth, f"{name}[]") for one in value])}
    return found


def merged(shapes: Iterable[Shape], *, every: bool = True) -> Shape:
    """Of several that stand for the same; with `every`, what is not in each of them is there sometimes."""
    all_of_them = [*shapes]
    seen = Counter(field for one in all_of_them for field in one)
    found: dict[str, set[str]] = {}
    loose = {field for field, times in seen.items() if every and times < len(all_of_them)}
    for one in all_of_them:
        for field, kinds in one.items():
            found.setdefault(field, set()).update(kinds.removesuffix(SOMETIMES).split("|"))
            if kinds.endswith(SOMETIMES):
                loose.add(field)
    return {field: "|".join(sorted(found[field])) + SOMETIMES * (field in loose) for field in sorted(found)}


def differences(what: str, former: Shape, now: Shape) -> list[str]:
    """A line for each field that came, that was always there and is not, or that is another kind now."""
    lines = [f"{what}: new field {field} ({_kinds(now[field])})" for field in sorted(now.keys() - former.keys())]
    lines += [
        f"{what}: {field} is missing (it was {former[field]})"
        for field in sorted(former.keys() - now.keys())
        if not former[field].endswith(SOMETIMES)
    ]
    lines += [
        f"{what}: {field} was {_kinds(former[field])} and is {_kinds(now[field])}"
        for field in sorted(now.keys() & former.keys())
        if not {*_kinds(now[field]).split("|")} <= {*_kinds(former[field]).split("|")}
    ]
    return lines


def _kinds(field: str) -> str:
    return field.removesuffix(SOMETIMES)
