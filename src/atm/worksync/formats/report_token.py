"""
Report tokens: `wrs:v1.<payload>.<signature>`, given to one member for one agenda, good for fifteen minutes.

HMAC-SHA256 with the team's secret over team, member, this life of both (D26), fingerprint and expiry. It is no proof of
identity towards an enemy on the same machine: it keeps a model from reporting for another member, or for an agenda it
has not seen.
"""

from __future__ import annotations

import binascii
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING

from atm.files.formats.json_record import NotJson, decode_object
from atm.files.formats.times import from_iso, to_iso
from atm.worksync.formats.agenda_fingerprint import canonical_json
from atm.worksync.rules.identity import TOKEN_EXPIRED, TOKEN_INVALID, TOKEN_MISSING, TOKEN_OK

if TYPE_CHECKING:
    from atm.core.plain import Plain

PREFIX = "wrs:v1"
VALID_SECONDS = 900.0
CLOCK_TOLERANCE = 60.0


def issue_token(secret: bytes, team: str, member: str, life: str, fingerprint: str, now: float) -> str:
    bound: dict[str, Plain] = {
        "version": 1,
        "teamName": team,
        "memberName": member.casefold(),
        "life": life,
        "agendaFingerprint": fingerprint,
        "expiresAt": to_iso(now + VALID_SECONDS),
    }
    payload = canonical_json(bound).encode()
    return f"{PREFIX}.{_text(payload)}.{_text(_sign(secret, payload))}"


def verify_token(secret: bytes, token: str, team: str, member: str, life: str, fingerprint: str, now: float) -> str:
    """ok, missing, expired or invalid."""
    if not token:
        return TOKEN_MISSING
    prefix, _, rest = token.partition(".")
    payload, signature = (_bytes(part) for part in rest.partition(".")[::2])
    if prefix != PREFIX or payload is None or signature is None:
        return TOKEN_INVALID
    if not hmac.compare_digest(_sign(secret, payload), signature):
        return TOKEN_INVALID
    try:
        bound = decode_object(payload.decode())
    except (NotJson, UnicodeDecodeError):
        return TOKEN_INVALID
    wanted = (1, team, member.casefold(), life, fingerprint)
    if tuple(bound.get(key) for key in ("version", "teamName", "memberName", "life", "agendaFingerprint")) != wanted:
        return TOKEN_INVALID
    expires = from_iso(str(bound.get("expiresAt")))
    if expires is None or expires - now > VALID_SECONDS + CLOCK_TOLERANCE:
        return TOKEN_EXPIRED  # our clock was set back: nobody knows how old it is
    return TOKEN_OK if now < expires else TOKEN_EXPIRED


def _sign(secret: bytes, payload: bytes) -> bytes:
    return hmac.new(secret, payload, "sha256").digest()


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes | None:
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        return None
