"""Tokens over their real file."""

from __future__ import annotations

from atm.wiring.files import build_locks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.formats.files.layout import Layout
    from atm.ports.access import AccessTokens


def build_access_tokens(layout: Layout) -> AccessTokens:
    from atm.system.access import AccessTokenFile

    locks = build_locks(layout)
    return AccessTokenFile(locks, layout)


def end_access(layout: Layout, team: str, member: str | None = None) -> list[str]:
    """The tokens of a life that is over open nothing any more; what kept us from taking them off the list."""
    from atm.domain.errors import AtmError
    from atm.services.access import revoke_all

    try:
        revoke_all(build_access_tokens(layout), team, member)
    except AtmError as error:
        return [f"tokens of {member or 'the team'} could not be taken off the list: {error}"]
    return []
