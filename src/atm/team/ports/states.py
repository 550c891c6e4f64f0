"""Where a team stands."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

else:
    Protocol = object


class States(Protocol):
    """`state.json` and the mark of completed teams. Never asked about teams of Claude Code."""

    def read(self, team: str) -> bytes | None: ...

    def begin(self, team: str, content: bytes) -> bool:
        """The first state of a team that is about to be made; False if there is one."""

    def change(self, team: str, change: Callable[[bytes | None], bytes | None]) -> None:
        """Decide and write under the file's lock; None leaves it as it is. Raises UnreadableFile on NotJson."""

    def mark(self, team: str) -> bytes | None:
        """What the mark of a completed team says; None if there is none."""

    def complete(self, team: str, mark: bytes) -> bool:
        """Set the mark. From then on nobody writes to the team. False if it was set before."""

    def set_lead_away(self, team: str, mark: bytes | None) -> bool:
        """Set the mark that holds mail back, or take it away (None); False if that was so before."""
