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
