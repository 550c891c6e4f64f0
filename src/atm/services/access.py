"""Making, finding and revoking access tokens."""

from __future__ import annotations

from hashlib import sha256
from hmac import compare_digest

from atm.domain.access import AccessToken
from atm.domain.errors import RequestError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.ports.access import AccessTokens
    from atm.ports.files.clock import Chance, Clock

PREFIX = "atm_"
LONGEST = 200
"""Characters of a secret that a client presents; ours are shorter."""

MOST_TOKENS = 1000


class NoSuchToken(RequestError):
    """No token has that id, or not any more."""

    code = "no-such-token"


def issue(
    tokens: AccessTokens, clock: Clock, chance: Chance, *, team: str, member: str, role: str
) -> tuple[str, AccessToken]:
    """A new token: its secret, which is kept nowhere, and what is kept of it."""
    secret = PREFIX + "".join(chance.new_id().replace("-", "") for _ in range(2))
    made = AccessToken(
        id=chance.new_id()[:8], sha256=digest(secret), team=team, member=member, role=role, created=clock.now()
    )

    def add(known: list[AccessToken]) -> list[AccessToken]:
        if len(known) >= MOST_TOKENS:
            raise RequestError(f"there are {len(known)} tokens already", "revoke some: `atm mcp token revoke ID`")
        taken = {token.id for token in known}
        while made.id in taken:  # who revokes one must not revoke another's with it
            made.id = chance.new_id()[:8]
        return [*known, made]

    tokens.change(add)
    return secret, made


def revoke(tokens: AccessTokens, id: str) -> AccessToken:
    """From now on it opens nothing."""
    gone: list[AccessToken] = []

    def remove(known: list[AccessToken]) -> list[AccessToken]:
        gone[:] = [token for token in known if token.id == id]
        if not gone:
            raise NoSuchToken(f"there is no token {id[:40]!r}", "see `atm mcp token list`")
        return [token for token in known if token.id != id]

    tokens.change(remove)
    return gone[0]


def find(known: list[AccessToken], secret: str) -> AccessToken | None:
    """Whose secret that is. Every token is compared, each in constant time, so that time tells nothing."""
    presented = digest(secret[:LONGEST])
    found = [token for token in known if compare_digest(token.sha256.encode(), presented.encode())]
    return found[0] if found else None


def digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "replace")).hexdigest()
