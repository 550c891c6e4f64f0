"""What a run was asked to be, as JSON: `plan.json` in the folder of the run."""

from __future__ import annotations

from dataclasses import asdict

from atm.files.formats.dataclass_record import made_from
from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text
from atm.runs.rules.orders import RunOrder

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
    made: RunOrder = made_from(RunOrder, said)
    return made
