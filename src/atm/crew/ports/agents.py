"""Records of agents, slots that they lease, processes, and the ways to start one."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from contextlib import AbstractContextManager
    from typing import Protocol

    from atm.core.plain import Record
    from atm.crew.rules.agents import AgentRecord
    from atm.crew.rules.marks import RunningProcess
else:
    Protocol = object


class AgentTurn(Protocol):
    """One agent's record, held: nobody else writes it meanwhile."""

    record: AgentRecord | None
    problem: str
    """Why the record that lies there cannot be read; empty if it can, or there is none."""

    def write(self, record: AgentRecord) -> None: ...

    def remove(self) -> None: ...


class AgentRecords(Protocol):
    """Of this home. They lie outside the teams' folders: what happens there must not hide a running agent."""

    home: str
    """Short; part of every mark."""

    def teams(self) -> list[str]:
        """Those with records."""

    def names(self, team: str) -> list[str]: ...

    def read(self, team: str, member: str) -> AgentRecord | None:
        """None if there is none, or none that can be read."""

    def turn(self, team: str, member: str, patience: float = 5.0) -> AbstractContextManager[AgentTurn]:
        """Raises FileBusy if somebody else holds it for longer."""

    def log_end(self, team: str, member: str, most: int) -> str:
        """The end of what it said, at most so many bytes; empty if it said nothing."""

    def log_path(self, team: str, member: str) -> str:
        """Where its host keeps the end of what it says."""

    def latch(self, team: str) -> Record | None:
        """Who stopped the team, and when: nothing is started in it until a person does (G8)."""

    def set_latch(self, team: str, said: Record | None) -> None: ...


class Slots(Protocol):
    """Small numbers that no two agents of this machine have at once: ports and names are made of them."""

    def take(self, owner: str, seconds: float) -> int:
        """The lowest that can be used and is free, or whose holder has let its time go by."""

    def renew(self, slot: int, owner: str, seconds: float) -> bool:
        """False if it is another's now."""

    def give(self, slot: int, owner: str) -> None: ...

    def taken(self) -> dict[int, str]: ...


class ProcessTable(Protocol):
    """The processes of this machine, as far as this user may look."""

    boot: str

    def running(self) -> list[RunningProcess]: ...

    def began(self, pid: int) -> str:
        """Empty if there is none of that number."""

    def suspended(self, pids: Collection[int]) -> set[int]:
        """Those of them that a signal has stopped until another one continues them; empty where that is not told."""

    def signal(self, process: RunningProcess, *, hard: bool) -> bool:
        """Ask it to end, or end it. Only this very process; False if it is gone."""


class Launch:
    """What a backend needs to start a host."""

    __slots__ = ("command", "environment", "folder", "member", "team")

    def __init__(
        self, team: str, member: str, command: Sequence[str], folder: str, environment: dict[str, str]
    ) -> None:
        self.team = team
        self.member = member
        self.command = [*command]
        self.folder = folder
        self.environment = environment
        """The whole of it."""


class Started:
    """Where it runs."""

    __slots__ = ("pane", "pid", "server")

    def __init__(self, pid: int, server: str = "", pane: str = "") -> None:
        self.pid = pid
        self.server = server
        self.pane = pane


class Backend(Protocol):
    """A way to run hosts."""

    name: str

    def problem(self) -> str:
        """Why it cannot be used on this machine; empty if it can."""

    def start(self, launch: Launch) -> Started:
        """Raises AtmError if it could not be started."""

    def clear(self, record: AgentRecord) -> None:
        """Take away what is left of it when its processes are gone: its window, its session. Nothing is no error."""

    def screen(self, record: AgentRecord) -> str | None:
        """What can be seen of it now; None where there is nothing to see but its log."""

    def look_on(self, record: AgentRecord) -> list[str]:
        """The words that show its window beside others, and disturb nobody who sits at it; empty without one."""

    def attach(self, record: AgentRecord) -> list[str]:
        """The command that shows it in a terminal; empty if there is none."""
