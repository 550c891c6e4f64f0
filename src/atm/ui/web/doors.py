"""
Who may come in: links that work once, and what a browser shows afterwards.

A key is good for one entry and ten minutes. Whoever enters gets a token that the browser keeps in a cookie no script
can read. Nothing is written anywhere, and nothing but hashes is kept: a daemon that starts again knows nobody.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from atm.access.services import digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.files.ports.clock import Chance, Clock

HUMAN, OBSERVER = "human", "observer"

KEY_SECONDS = 600.0
REST_SECONDS = 8 * 3600.0
"""Who has not been seen for so long has left."""
MOST_KEYS, MOST_VISITORS = 32, 64
LONGEST = 200
"""Characters of a key or a token that is presented; ours are shorter."""


@dataclass(slots=True)
class Visitor:
    """Somebody at the page, and in whose name the page acts for them."""

    role: str
    person: str
    folder: str = ""
    """Where `atm web` was typed: commands of the page run there."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What says who speaks, as it was where `atm web` was typed."""
    seen_at: float = 0.0

    @property
    def may_act(self) -> bool:
        return self.role == HUMAN


class Doors:
    """All keys and visitors of one open page."""

    def __init__(self, clock: Clock, chance: Chance) -> None:
        self._clock = clock
        self._chance = chance
        self._keys: dict[str, tuple[float, Visitor]] = {}
        self._visitors: dict[str, Visitor] = {}

    def invite(self, visitor: Visitor) -> str:
        """A key for one entry. Of too many that nobody used the oldest goes."""
        key, now = self._chance.new_id().replace("-", ""), self._clock.monotonic()
        self._keys = {kept: one for kept, one in self._keys.items() if one[0] > now}
        while len(self._keys) >= MOST_KEYS:
            del self._keys[next(iter(self._keys))]
        self._keys[digest(key)] = (now + KEY_SECONDS, visitor)
        return key

    def enter(self, key: str) -> tuple[str, Visitor] | None:
        """A token for whoever has a good key, which is none from now on."""
        until, visitor = self._keys.pop(digest(key[:LONGEST]), (0.0, None))
        now = self._clock.monotonic()
        if visitor is None or until <= now:
            return None
        self._forget_rested(now)
        while len(self._visitors) >= MOST_VISITORS:
            del self._visitors[min(self._visitors, key=lambda kept: self._visitors[kept].seen_at)]
        token = self._secret()
        visitor.seen_at = now
        self._visitors[digest(token)] = visitor
        return token, visitor

    def who(self, token: str) -> Visitor | None:
        """Whose token that is. Hashes are looked up, so that time tells nothing of the secret."""
        found, now = self._visitors.get(digest(token[:LONGEST])), self._clock.monotonic()
        if found is None or now - found.seen_at > REST_SECONDS:
            return None
        found.seen_at = now
        return found

    def leave(self, token: str) -> None:
        self._visitors.pop(digest(token[:LONGEST]), None)

    @property
    def visitors(self) -> list[Visitor]:
        return [*self._visitors.values()]

    def _forget_rested(self, now: float) -> None:
        self._visitors = {kept: one for kept, one in self._visitors.items() if now - one.seen_at <= REST_SECONDS}

    def _secret(self) -> str:
        return "".join(self._chance.new_id().replace("-", "") for _ in range(2))
