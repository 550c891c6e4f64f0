"""What agents say of their sessions, beside their hooks."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class AgentSessions(Protocol):
    """Sessions on this machine whose program notes what they do. Never raises."""

    def statuses(self) -> dict[str, str]:
        """Of each session that runs now, by its id: `idle`, `busy`, `waiting`, or a word of tomorrow."""
