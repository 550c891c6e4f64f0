"""Making, finding and revoking access tokens."""

from __future__ import annotations

from hashlib import sha256
from hmac import compare_digest

from atm.access.rules import AccessToken
from atm.core.errors import AtmError, RequestError
from atm.core.names import same_name
from atm.team.services.lifecycle import life_of
from atm.team.services.registry import find_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.access.ports import AccessTokens
    from atm.team.rules.team import Team
    from atm.team.services.registry import Registry

PREFIX = "atm_"
LONGEST = 200
"""Characters of a secret that a client presents; ours are shorter."""

MOST_TOKENS = 1000


class NoSuchToken(RequestError):
    """No token has that id, or not any more."""

    code = "no-such-token"


def issue(tokens: AccessTokens, room: Registry, *, team: Team, member: str, role: str) -> tuple[str, AccessToken]:
    """A new token: its secret, which is kept nowhere, and what is kept of it."""
    chance = room.chance
    secret = PREFIX + "".join(chance.new_id().replace("-", "") for _ in range(2))
    made = AccessToken(
        id=chance.new_id()[:8],
        sha256=digest(secret),
        team=team.name,
        member=member,
        role=role,
        created=room.clock.now(),
        life=life_of(room, team, member),
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
        gone[:] = [token for token in known if id and token.id.startswith(id)]
        if len(gone) != 1:
            said = f"{len(gone)} tokens begin with" if gone else "there is no token"
            raise NoSuchToken(f"{said} {id[:40]!r}", "see `atm mcp token list`")
        return [token for token in known if token is not gone[0]]

    tokens.change(remove)
    return gone[0]


def revoke_all(tokens: AccessTokens, team: str, member: str | None = None) -> int:
    """Every token of a team, or of one member of it: that life is over. How many there were."""
    gone = 0

    def remove(known: list[AccessToken]) -> list[AccessToken]:
        nonlocal gone
        kept = [one for one in known if not (same_name(one.team, team) and _is_of(one, member))]
        gone = len(known) - len(kept)
        return kept

    if any(same_name(one.team, team) and _is_of(one, member) for one in tokens.all()):
        tokens.change(remove)
    return gone


def _is_of(token: AccessToken, member: str | None) -> bool:
    return member is None or same_name(token.member, member)


def living(room: Registry, known: list[AccessToken]) -> list[AccessToken]:
    """Those whose member is still the one for whom they were made. A namesake that came later is another (D26)."""
    return [token for token in known if _lives(room, token)]


def _lives(room: Registry, token: AccessToken) -> bool:
    try:
        return bool(token.life) and token.life == life_of(room, find_team(room, token.team), token.member)
    except AtmError:  # there is no such team any more
        return False


def find(known: list[AccessToken], secret: str) -> AccessToken | None:
    """Whose secret that is. Every token is compared, each in constant time, so that time tells nothing."""
    presented = digest(secret[:LONGEST])
    found = [token for token in known if compare_digest(token.sha256.encode(), presented.encode())]
    return found[0] if found else None


def digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "replace")).hexdigest()
