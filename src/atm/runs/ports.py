"""Where runs are kept: what was asked, what happened, what came of it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from typing import Protocol

    from atm.core.plain import Record
    from atm.runs.rules.memory import RunEvent
    from atm.runs.rules.orders import RunOrder
else:
    Protocol = object


class Runs(Protocol):
    """Of all teams. A run has one writer: the loop that holds its team."""

    def hold(self, team: str) -> AbstractContextManager[object]:
        """For as long as a loop looks after the team. Raises RunActive if another does; dies with its process."""

    def is_held(self, team: str) -> bool:
        """Does a loop look after it now?"""

    def suspended_loop(self, team: str) -> int:
        """The process of the loop, while a signal suspends it (Ctrl-Z); 0 if none does, or if that is not known."""

    def names(self, team: str) -> list[str]:
        """Oldest first."""

    def write(self, order: RunOrder) -> None:
        """Durable before it returns."""

    def is_as_written(self, team: str, run: str) -> bool:
        """Is the order that lies there the one that was written? Its folder is open to every agent of the user."""

    def order(self, team: str, run: str) -> RunOrder | None:
        """None if there is none, or none that can be read."""

    def append(self, team: str, run: str, events: Sequence[RunEvent]) -> None: ...

    def events(self, team: str, run: str) -> list[RunEvent]: ...

    def events_since(self, team: str, run: str, offset: int) -> tuple[list[RunEvent], int]:
        """What was written after so many bytes, and how many there are now; half a line waits for its end."""

    def report(self, team: str, run: str) -> Record | None: ...

    def write_report(self, team: str, run: str, facts: Record, text: str) -> None: ...

    def write_copy(self, team: str, run: str, text: str) -> None:
        """The plan, with ticks."""

    def change_copy(self, team: str, run: str, change: Callable[[str], str]) -> None:
        """Nothing, if there is no copy."""

    def change_plan(self, path: str, change: Callable[[str], str]) -> None:
        """The user's own file, in place: its mode, owner and links stay. Raises AtmError."""

    def folder(self, team: str, run: str) -> str: ...

    def remove(self, team: str, run: str) -> None: ...


class LoopProcess(Protocol):
    """A loop in a process of its own."""

    pid: int
    log: str
    """Path of what it prints."""

    def has_ended(self) -> bool: ...

    def last_words(self) -> str:
        """The end of what it printed."""

    def leave(self) -> None:
        """The caller ends before it, and does not wait for it."""
