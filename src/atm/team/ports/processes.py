"""Whose processes are."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from atm.team.rules.agent_processes import ProcessOwner
else:
    Protocol = object


class AgentProcesses(Protocol):
    """Processes that members are known to run as, on this machine, while they live."""

    def ancestors(self, pid: int) -> list[int]:
        """A process and those that it runs under, nearest first."""

    def owners(self, pid: int) -> list[ProcessOwner]:
        """Whose this very process is."""

    def record(self, pid: int, owner: ProcessOwner) -> None:
        """It is this member's too, until it ends. What cannot be written fails no caller."""

    def environment(self, pid: int) -> Mapping[str, str]:
        """The environment that it was started with; empty if the system does not tell."""

    def command(self, pid: int) -> str:
        """Its command line, the words parted by NUL; empty if the system does not tell."""
