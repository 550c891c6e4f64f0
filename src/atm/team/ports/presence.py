"""Signs of life: who was last heard of when, and does a process run."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from atm.team.rules.liveness import Beat
else:
    Protocol = object


class Presence(Protocol):
    """Heartbeats of members, one small file each."""

    host: str
    """This machine's name: a process number means something only here."""

    boot: str
    """Which start of this machine that is; empty where it cannot tell."""

    def uptime(self) -> float:
        """Seconds by a clock of this machine that nobody can set."""

    def last(self, team: str, member: str) -> Beat | None:
        """The newest heartbeat; None if there is none that can be read."""

    def beat(self, team: str, member: str, beat: Beat) -> None:
        """Leave a heartbeat. One that cannot be written fails no caller: the former one stays."""

    def forget(self, team: str, member: str) -> None: ...

    def heard_of(self, team: str) -> list[str]:
        """Everybody with a heartbeat, on the roster or not."""

    def process_runs(self, pid: int) -> bool: ...

    def began(self, pid: int) -> str:
        """When a process began, which makes its number mean one process; empty if there is none."""
