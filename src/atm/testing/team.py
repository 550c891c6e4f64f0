"""A twin of `ports.presence.Presence`, in memory."""

from __future__ import annotations

from atm.domain.team.liveness import Beat


class MemoryPresence:
    """Heartbeats and processes that live as long as a test says."""

    def __init__(self, host: str = "here") -> None:
        self.host = host
        self.running: set[int] = set()
        self.parents: dict[int, int] = {}
        self.up_for = 0.0
        self.boot = ""
        self._beats: dict[tuple[str, str], Beat] = {}

    def uptime(self) -> float:
        return self.up_for

    def last(self, team: str, member: str) -> Beat | None:
        return self._beats.get((team, member))

    def beat(self, team: str, member: str, beat: Beat) -> None:
        self._beats[team, member] = beat

    def forget(self, team: str, member: str) -> None:
        self._beats.pop((team, member), None)

    def heard_of(self, team: str) -> list[str]:
        return sorted(member for where, member in self._beats if where == team)

    def process_runs(self, pid: int) -> bool:
        return pid in self.running

    def ancestors(self, pid: int) -> list[int]:
        found = [pid]
        while found[-1] in self.parents:
            found.append(self.parents[found[-1]])
        return found
