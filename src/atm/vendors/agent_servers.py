"""Agents that have a server of their own, where a text can be put into a session without a terminal."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object

ACCEPTED, REFUSED, UNKNOWN = "accepted", "refused", "unknown"


class ServerAnswer:
    """What the server said. `unknown`: it may have been taken, and may be offered again under the same id."""

    __slots__ = ("evidence", "outcome")

    def __init__(self, outcome: str, evidence: str) -> None:
        self.outcome = outcome
        self.evidence = evidence


class AgentServers(Protocol):
    """The servers of agents on this machine."""

    def is_of(self, url: str, pid: int) -> bool:
        """Is it this process that listens there now? No, where the machine cannot tell."""

    def refusal(self, url: str, session: str) -> str:
        """Why nothing can be told there now; empty if it can. A look that changes nothing."""

    def tell(self, url: str, session: str, id: str, text: str) -> ServerAnswer:
        """Put a text into a session; `id` makes a second offer of the same text recognisable."""
