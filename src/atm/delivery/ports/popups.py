"""A window before the person at a terminal, for a program that asks them something."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol
else:
    Protocol = object


class Popups(Protocol):
    """Opens at most one at a time, and waits for none. Never raises where there is no terminal to open one at."""

    def is_open(self) -> bool: ...

    def show(self, title: str, is_agents: Callable[[int], bool]) -> bool:
        """At the terminal that was used last and is no agent's, by its process; False if nobody sits at one."""
