"""Access tokens in memory."""

from __future__ import annotations

from collections.abc import Callable

from atm.domain.access import AccessToken


class MemoryAccessTokens:
    """Implements `ports.access_tokens.AccessTokens`."""

    def __init__(self) -> None:
        self._tokens: list[AccessToken] = []

    def all(self) -> list[AccessToken]:
        return list(self._tokens)

    def change(self, change: Callable[[list[AccessToken]], list[AccessToken]]) -> None:
        self._tokens = list(change(list(self._tokens)))
