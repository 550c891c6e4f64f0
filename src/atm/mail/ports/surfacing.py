"""
Putting mail before an agent, one channel at a time, and how the agent can be reached.

A process that dies between taking mail out of the unread and showing it must not hide it: what it was about to show
is written down first, and whoever comes next finds the note.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from atm.mail.rules.surfacing import ShowingNote
else:
    Protocol = object


class SurfacingTurn(Protocol):
    """`with turn as held:` one agent's mail, exclusively. False if another process is at it."""

    def __enter__(self) -> bool: ...

    def __exit__(self, *_: object) -> None: ...

    def abandoned(self) -> ShowingNote | None:
        """What a process that died was about to show."""

    def begin(self, note: ShowingNote) -> None:
        """Make it durable."""

    def end(self) -> None: ...


class Surfacings(Protocol):
    """Turns at showing mail, one for each agent."""

    def turn(self, team: str, member: str, patience: float = 0.0) -> SurfacingTurn: ...

    def is_cut_off(self, team: str, member: str) -> bool:
        """Does a note lie there? It may belong to a process that is at work. One small look."""

    def cut_off_since(self, team: str, member: str) -> float | None:
        """When that note was written; None if there is none."""

    def keep_text(self, team: str, member: str, id: str, text: str) -> str:
        """Write a text that is too long to be shown to a file; its path."""
