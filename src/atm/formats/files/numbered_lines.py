"""Lines of JSON that carry increasing numbers: the ledger of mail, the history of tasks."""

from __future__ import annotations

from atm.formats.files.json_record import NotJson, decode_object, to_text


def last_seq(tail: bytes) -> int | None:
    """The number of the last readable line in the end of a file, or None if none can be read there."""
    for line in reversed(tail.split(b"\n")):
        if line.strip():
            try:
                seq = decode_object(to_text(line)).get("seq")
            except NotJson:
                continue
            if isinstance(seq, int):
                return seq
    return None
