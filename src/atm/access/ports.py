"""Where access tokens are kept."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from atm.access.rules import AccessToken
else:
    Protocol = object


class AccessTokens(Protocol):
    """All tokens of this home. Raises UnreadableFile if they cannot be understood: then nobody gets in (G8)."""

    def all(self) -> list[AccessToken]: ...

    def change(self, change: Callable[[list[AccessToken]], list[AccessToken]]) -> None:
        """Decide and write under one lock."""
