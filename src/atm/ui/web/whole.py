"""
Everything that the page shows of a team at one moment, and what is new in it since another moment.

Pure. A change is applied to the very whole that it was made from; so whoever has that loses and doubles nothing.
"""

from __future__ import annotations

from dataclasses import asdict

from atm.ui.faces.deeds import ADD, offers_for, spelled
from atm.ui.views.team.attention import DONE, NEEDS, PROBLEMS, attention, freshest, held_up, vendor_of
from atm.ui.views.team.signs import sign, titles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.core.plain import Plain
    from atm.ui.faces.deeds import KeyOffer
    from atm.ui.faces.view_names import Target
    from atm.ui.views.team.attention import AttentionRow
    from atm.ui.views.team.seen import TeamSeen

    Whole = dict[str, Plain]

KEYED = {"tasks": "id", "members": "name"}
AGES = ("age", "right", "state_age_seconds", "liveness_age_seconds", "seconds_unseen")
"""Grow by themselves: whoever looks adds what has passed."""
HEARD = 2.0
"""Seconds by which a member must have been heard of later, to be worth telling."""


def whole_of(fields: Mapping[str, Plain], seen: TeamSeen, now: float) -> Whole:
    """Of a snapshot. The rows of what is done are not told: the tasks are there."""
    rows = [row for row in attention(seen, now) if row.group != DONE]
    snapshot = {key: value for key, value in fields.items() if key != "taken_at"}
    snapshot["members"] = [
        {**one, "vendor": vendor_of(seen.member(str(one.get("name"))))} for one in _rows(snapshot.get("members"))
    ]
    return {
        "now": round(now, 1),
        "vendors": {**titles()},
        "snapshot": snapshot,
        "rows": [_row(row, seen) for row in rows],
        "cells": {**held_up(seen)},
        "counts": {
            "needs": sum(row.group == NEEDS for row in rows),
            "problems": sum(row.group == PROBLEMS for row in rows),
        },
    }


def offers_of(target: Target, seen: TeamSeen) -> list[KeyOffer]:
    """What a page can do for somebody: no more views, and nothing that needs a terminal."""
    if target[0] == "team":
        return [ADD]
    return [one for one in offers_for(target, seen) if one.command and not one.opens and not one.in_terminal]


def offer_fields(one: KeyOffer, team: str) -> dict[str, Plain]:
    return {
        "deed": one.word,
        "word": one.word,
        "command": spelled(one, team),
        "asks": one.asks,
        "twice": one.is_twice,
    }


def _row(row: AttentionRow, seen: TeamSeen) -> dict[str, Plain]:
    fields: dict[str, Plain] = {**asdict(row), "target": [*row.target], "tone": sign(row.state).meaning}
    found = seen.member(row.target[1]) if row.target[0] == "member" else None
    heard = freshest(found) if found is not None else None
    if heard is not None:
        fields["age"], fields["source"] = heard
    return {"source": "", **fields, "offers": [offer_fields(one, seen.team) for one in offers_of(row.target, seen)]}


# Changes.


def change_between(before: Whole, after: Whole) -> dict[str, Plain] | None:
    """None if there is nothing to tell."""
    passed = _number(after["now"]) - _number(before["now"])
    old, new = _dict(before["snapshot"]), _dict(after["snapshot"])
    said: dict[str, Plain] = {
        "now": after["now"],
        "snapshot": {
            key: value
            for key, value in new.items()
            if key not in KEYED and not _is_as_before(old.get(key), value, passed)
        },
        **{key: _rows_between(old.get(key), new.get(key), name, passed) for key, name in KEYED.items()},
        "rows": None if _is_same_list(before["rows"], after["rows"], passed) else after["rows"],
        "cells": _keys_between(_dict(before["cells"]), _dict(after["cells"])),
        "counts": after["counts"],
    }
    is_new = (
        bool(_dict(said["snapshot"]).keys() - {"version"})
        or any(said[key] is not None for key in (*KEYED, "rows"))
        or bool(said["cells"])
    )
    return said if is_new else None


def _rows_between(before: Plain, after: Plain, key: str, passed: float) -> dict[str, Plain] | None:
    old, new = _by(before, key), _by(after, key)
    changed: list[Plain] = [row for name, row in new.items() if not _is_same(old.get(name), row, passed)]
    gone: list[Plain] = [name for name in old if name not in new]
    order: list[Plain] | None = [*new] if [*new] != [name for name in old if name in new] else None
    return {"changed": changed, "gone": gone, "order": order} if changed or gone or order is not None else None


def _is_as_before(before: Plain, after: Plain, passed: float) -> bool:
    if isinstance(before, dict) and isinstance(after, dict):
        return _is_same(before, after, passed)
    return before == after


def _is_same_list(before: Plain, after: Plain, passed: float) -> bool:
    old, new = _rows(before), _rows(after)
    return len(old) == len(new) and all(_is_same(one, other, passed) for one, other in zip(old, new, strict=True))


def _is_same(before: Mapping[str, Plain] | None, after: Mapping[str, Plain], passed: float) -> bool:
    """But for ages, which grow by what has passed."""
    if before is None or before.keys() != after.keys():
        return False
    for key, value in after.items():
        was = before[key]
        if was is value or was == value:
            continue
        if key == "right":
            continue  # says in words what stands in `age`
        if key not in AGES or not isinstance(value, int | float) or not isinstance(was, int | float):
            return False
        if was + passed - value > HEARD:
            return False
    return True


def _keys_between(before: Mapping[str, Plain], after: Mapping[str, Plain]) -> dict[str, Plain]:
    gone: dict[str, Plain] = {key: None for key in before if key not in after}
    return {**gone, **{key: value for key, value in after.items() if value != before.get(key)}}


def _by(rows: Plain, key: str) -> dict[str, dict[str, Plain]]:
    return {str(row[key]): row for row in _rows(rows) if key in row}


def _rows(rows: Plain) -> list[dict[str, Plain]]:
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _dict(value: Plain) -> dict[str, Plain]:
    return value if isinstance(value, dict) else {}


def _number(value: Plain) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
