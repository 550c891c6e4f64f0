"""Time, waiting and chance. The core asks for them here, so that a simulator can supply its own."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object  # typing costs 15 ms to import, and nothing here needs it at run time


class Clock(Protocol):
    """Wall time for stamps, monotonic time for limits, and the only place where the core waits."""

    def now(self) -> float:
        """Seconds since 1970. May jump."""

    def monotonic(self) -> float:
        """Seconds since some moment. Never jumps."""

    def sleep(self, seconds: float) -> None: ...


class Chance(Protocol):
    """Identifiers and jitter."""

    def new_id(self) -> str:
        """A fresh UUID."""

    def fraction(self) -> float:
        """A number in [0, 1)."""
