"""What a host does with the machine: its agent's program, its own place, and what wakes it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol

    from atm.vendors.driver import Brief, Driver
    from atm.vendors.runtime import Runtime
else:
    Protocol = object


class Child(Protocol):
    """The program of an agent."""

    pid: int

    def code(self) -> int | None:
        """How it ended; None while it runs."""

    def driver(self, runtime: Runtime, brief: Brief) -> Driver:
        """Who speaks with it."""

    def ask_to_end(self) -> None:
        """By a signal. Its tools are not asked: whoever ends an agent ends those too."""


class HostMachine(Protocol):
    """Of one host process."""

    def adopt_orphans(self) -> None:
        """What its agent's tools leave behind becomes a child of this process, where the system can do that."""

    def enter(self, folder: str) -> None:
        """Work in this folder from now on."""

    def start(self, words: Sequence[str], folder: str, environment: Mapping[str, str], *, in_terminal: bool) -> Child:
        """Raises SpawnFailed. In a terminal it gets the host's own; else pipes, and its complaints are logged."""

    def log(self, text: str) -> None:
        """For `atm peek`: the end is kept. What cannot be written fails nobody."""

    def has_output(self) -> bool:
        """Has a command of the user's written anything since the last call?"""

    def news(self) -> object:
        """Another value when its record, its inbox or the board may have changed. Costs next to nothing."""

    def pause(self, seconds: float, until: Callable[[], bool]) -> None:
        """So long, or until that is true, which is asked again and again."""
