"""What agents note of their sessions, of several vendors: implements `delivery.ports.agent_sessions.AgentSessions`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from atm.delivery.ports.agent_sessions import AgentSessions


class NotedSessions:
    """Asks each vendor's reader. Ids of sessions are the vendors' own, and do not meet."""

    def __init__(self, readers: Sequence[AgentSessions]) -> None:
        self._readers = readers

    def statuses(self) -> dict[str, str]:
        return {session: status for reader in self._readers for session, status in reader.statuses().items()}
