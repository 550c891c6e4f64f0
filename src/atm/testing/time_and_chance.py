"""A clock that only moves when told, and chance from a seed."""

from __future__ import annotations

import random


class FakeClock:
    """Time that passes only while the code under test sleeps, or when it is set."""

    def __init__(self, now: float = 1_788_000_000.0) -> None:
        self._now = now
        self._since = 0.0

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._since

    def sleep(self, seconds: float) -> None:
        self.pass_time(seconds)

    def pass_time(self, seconds: float) -> None:
        self._now += seconds
        self._since += seconds

    def jump(self, seconds: float) -> None:
        """The wall clock is set; monotonic time does not notice."""
        self._now += seconds


class FakeChance:
    """Ids and jitter from a seed."""

    def __init__(self, seed: int = 0) -> None:
        self._dice = random.Random(seed)

    def new_id(self) -> str:
        digits = f"{self._dice.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"

    def fraction(self) -> float:
        return self._dice.random()
