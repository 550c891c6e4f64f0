"""A window before the person at a terminal, for a program that asks them something."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Protocol
else:
    Protocol = object


class Popups(Protocol):
    """Opens at most one at a time, and waits for none. Never raises where there is no terminal to open one at."""

    def is_open(self) -> bool: ...

    def show(self, title: str, servers: Collection[str]) -> bool:
        """Where somebody was last seen; False if nobody sits at any of these servers."""
