"""`surfacing/{team}/{member}.json`: the note of mail that is being shown."""

from __future__ import annotations

from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text
from atm.mail.rules.surfacing import ShowingNote

LATEST = 1e12
"""Seconds since 1970; what is later is no time."""


def _is_key(key: object) -> bool:
    is_tuple = isinstance(key, list) and bool(key) and all(isinstance(part, str) for part in key)
    return is_tuple or (isinstance(key, str) and bool(key))


def encode_note(note: ShowingNote) -> bytes:
    keys = [key if isinstance(key, str) else list(key) if isinstance(key, tuple) else None for key in note.keys]
    return to_bytes(encode({"channel": note.channel, "where": note.where, "at": note.at, "keys": keys}) + "\n")


def decode_note(data: bytes) -> ShowingNote | None:
    """The note, or None if that is not one."""
    try:
        fields = decode_object(to_text(data))
    except NotJson:
        return None
    at, keys = fields.get("at"), fields.get("keys")
    if not isinstance(at, int | float) or not isinstance(keys, list):
        return None
    known: list[object] = [tuple(key) if isinstance(key, list) else key for key in keys if _is_key(key)]
    return ShowingNote(
        keys=known,
        channel=str(fields.get("channel") or ""),
        at=float(at) if abs(at) < LATEST else 0.0,
        where=str(fields.get("where") or ""),
    )
