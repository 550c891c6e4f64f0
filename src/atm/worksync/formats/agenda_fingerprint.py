"""Canonical JSON, and the fingerprint of an agenda: `agenda:v1:` and the SHA-256 of it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from atm.files.formats.json_record import encode

if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.worksync.rules.agenda import Agenda

VERSION = "agenda:v1"


def canonical_json(value: Plain) -> str:
    """Keys sorted at every depth, on one line: the same facts are the same text."""
    return encode(_sorted(value))


def _sorted(value: Plain) -> Plain:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def fingerprint(agenda: Agenda) -> str:
    text = canonical_json(agenda.canonical())
    return f"{VERSION}:{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
