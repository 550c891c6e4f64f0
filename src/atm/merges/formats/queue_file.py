"""The merge queue as JSON: `merges.json` in the team's folder, with the words of `atm merge queue --json`."""

from __future__ import annotations

from dataclasses import asdict, fields, replace

from atm.files.formats.dataclass_record import made_from
from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text
from atm.merges.rules.items import STATUSES, MergeItem, MergeQueue
from atm.merges.rules.radar import Collision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.core.plain import Plain, Record

VERSION = 1

_FIELDS = tuple(one.name for one in fields(MergeItem) if one.name != "rivals")


def encode_queue(queue: MergeQueue) -> bytes:
    said: Record = asdict(replace(queue, items=[]))
    said |= {"version": VERSION, "items": [item_fields(one) for one in queue.items]}
    return to_bytes(encode(said) + "\n")


def item_fields(item: MergeItem) -> dict[str, Plain]:
    """Not by `asdict`, which copies every word of it: a queue is written several times for each of its items."""
    said: dict[str, Plain] = {name: getattr(item, name) for name in _FIELDS}
    said |= {name: [*value] for name, value in said.items() if isinstance(value, list)}
    said["checks"] = [asdict(one) for one in item.checks]
    rivals: list[Plain] = [asdict(one) for one in item.rivals]
    files = said.pop("conflicts")
    said["conflict"] = {"files": files, "with": rivals} if files or rivals else None
    said["commit"] = item.commit or None
    return said


def decode_queue(data: bytes) -> MergeQueue:
    """Raises NotJson."""
    said = decode_object(to_text(data))
    found = said.get("items")
    items = [_item(one) for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    queue = made_from(MergeQueue, {**said, "items": []})
    if not isinstance(queue, MergeQueue):
        raise NotJson("it does not say of which team it is")
    queue.items = [one for one in items if one is not None]
    return queue


def encode_collisions(found: Sequence[Collision]) -> bytes:
    said: Record = {"version": VERSION, "collisions": [asdict(one) for one in found]}
    return to_bytes(encode(said) + "\n")


def decode_collisions(data: bytes) -> list[Collision]:
    """Raises NotJson."""
    found = decode_object(to_text(data)).get("collisions")
    made = [made_from(Collision, one) for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    return [one for one in made if isinstance(one, Collision)]


def _item(said: Record) -> MergeItem | None:
    conflict = said.get("conflict")
    both = conflict if isinstance(conflict, dict) else {}
    found = made_from(MergeItem, {**said, "conflicts": both.get("files", []), "rivals": both.get("with", [])})
    return found if isinstance(found, MergeItem) and found.status in STATUSES else None
