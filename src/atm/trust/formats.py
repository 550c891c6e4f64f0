"""
`trust.json`: the files to which the user has said yes, and those to which no, so that nobody is asked twice.

    {"version": 1, "trusted": [{"path": "/r", "file": "/r/.atm.toml", "sha256": "…", "at": "…", "by": "ann"}]}
"""

from __future__ import annotations

from atm.core.plain import dicts_in
from atm.files.formats.json_record import NotJson, decode_object, indent, to_bytes, to_text
from atm.trust.rules import Consent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

VERSION = 1
FIELDS = ("path", "file", "sha256", "at", "by")


class Consents:
    """Both lists."""

    __slots__ = ("refused", "trusted")

    def __init__(self, trusted: list[Consent] | None = None, refused: list[Consent] | None = None) -> None:
        self.trusted = trusted or []
        self.refused = refused or []


def encode_consents(consents: Consents) -> bytes:
    record: dict[str, Plain] = {"version": VERSION, "trusted": [_fields(one) for one in consents.trusted]}
    if consents.refused:
        record["refused"] = [_fields(one) for one in consents.refused]
    return to_bytes(indent(record) + "\n")


def decode_consents(data: bytes) -> Consents:
    """Raises NotJson for what we did not write: a file that cannot be understood trusts nothing."""
    fields = decode_object(to_text(data))
    if fields.get("version") != VERSION or not isinstance(fields.get("trusted"), list):
        raise NotJson(f"this is no file of consents of version {VERSION}")
    return Consents(_entries(fields.get("trusted")), _entries(fields.get("refused")))


def _entries(value: Plain) -> list[Consent]:
    rows = [{name: str(row.get(name) or "") for name in FIELDS} for row in dicts_in(value)]
    return [Consent(**row) for row in rows if row["file"] and row["sha256"]]


def _fields(consent: Consent) -> dict[str, Plain]:
    return {name: getattr(consent, name) for name in FIELDS}
