"""
The file of access tokens: who may reach the MCP server over HTTP, and as whom.

    {"v": 1, "tokens": [{"id": "3f9c2a71", "sha256": "…", "team": "crew", "member": "ann", "role": "", "created": …}]}

It holds no token, only the digest of each: whoever reads it can use none of them.
"""

from __future__ import annotations

from atm.access.rules import AccessToken
from atm.files.formats.json_record import NotJson, decode_object, encode, to_bytes, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain

VERSION = 1
TEXTS = ("id", "sha256", "team", "member", "role", "life")
MAY_BE_EMPTY = ("role", "life")
HEXADECIMAL = frozenset("0123456789abcdef")
LATEST = 1e11
"""Seconds since 1970: some thousand years."""


def encode_tokens(tokens: list[AccessToken]) -> bytes:
    rows = [{**{name: getattr(token, name) for name in TEXTS}, "created": token.created} for token in tokens]
    return to_bytes(encode({"v": VERSION, "tokens": rows}) + "\n")


def decode_tokens(data: bytes) -> list[AccessToken]:
    """Raises NotJson for anything that we did not write: a file that cannot be understood lets nobody in."""
    fields = decode_object(to_text(data))
    rows = fields.get("tokens")
    if fields.get("v") != VERSION or not isinstance(rows, list):
        raise NotJson(f"this is no file of access tokens of version {VERSION}")
    return [_token(row) for row in rows]


def _token(row: Plain) -> AccessToken:
    if not isinstance(row, dict):
        raise NotJson("a token is no object")
    values = {"life": "", **{name: row[name] for name in TEXTS if name in row}}
    created = row.get("created")
    if not isinstance(created, int | float) or not 0 <= created < LATEST:
        raise NotJson("a token lacks the time when it was made")
    if set(values) != set(TEXTS) or not all(
        isinstance(value, str) and (value or name in MAY_BE_EMPTY) for name, value in values.items()
    ):
        # One without a member would be taken for whom the settings name.
        raise NotJson("a token lacks one of its fields")
    digest = str(values["sha256"])
    if len(digest) != 64 or not set(digest) <= HEXADECIMAL:
        raise NotJson("the digest of a token is none")
    return AccessToken(**{name: str(value) for name, value in values.items()}, created=float(created))
