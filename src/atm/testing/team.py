"""Twins of the ports of teams, in memory: rosters, presence, processes."""

from __future__ import annotations

from collections.abc import Callable

from atm.core.errors import NoSuchTeam, TeamNotOurs
from atm.core.names import find_name, is_claudes_team
from atm.team.formats.team_config import decode_team
from atm.team.rules.agent_processes import ProcessOwner
from atm.team.rules.liveness import Beat
from atm.team.rules.team import Team


class MemoryPresence:
    """Heartbeats and processes that live as long as a test says."""

    def __init__(self, host: str = "here") -> None:
        self.host = host
        self.running: set[int] = set()
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

    def began(self, pid: int) -> str:
        return f"at {pid}" if pid in self.running else ""


class MemoryProcesses:
    """A tree of processes, and whose they are."""

    def __init__(self) -> None:
        self.parents: dict[int, int] = {}
        self.commands: dict[int, str] = {}
        self.environments: dict[int, dict[str, str]] = {}
        self._owners: dict[int, list[ProcessOwner]] = {}

    def ancestors(self, pid: int) -> list[int]:
        found = [pid]
        while found[-1] in self.parents:
            found.append(self.parents[found[-1]])
        return found

    def owners(self, pid: int) -> list[ProcessOwner]:
        return list(self._owners.get(pid, []))

    def record(self, pid: int, owner: ProcessOwner) -> None:
        if owner not in self.owners(pid):
            self._owners.setdefault(pid, []).append(owner)

    def environment(self, pid: int) -> dict[str, str]:
        return self.environments.get(pid, {})

    def command(self, pid: int) -> str:
        return self.commands.get(pid, "")


class MemoryRosters:
    """Twin of `Rosters`."""

    def __init__(self) -> None:
        self._content: dict[str, bytes] = {}
        self.marks: dict[str, bytes] = {}
        """Of completed teams; the twin of `States` sets them."""
        self.away: dict[str, bytes] = {}
        """And of those whose lead is away."""
        self._cut_off: dict[str, list[dict[str, str]]] = {}

    def teams(self) -> list[str]:
        return sorted(self._content)

    def find(self, team: str) -> str | None:
        return find_name(team, self.teams())

    def load(self, team: str) -> Team:
        if team not in self._content:
            raise NoSuchTeam(f"there is no team {team!r}", "create it")
        found = decode_team(self._content[team], team)
        found.read_from, found.written_at = f"memory/{team}/config.json", 0.0
        found.completed = self.is_completed(team)
        found.lead_is_away = self.is_lead_away(team)
        return found

    def is_completed(self, team: str) -> bool:
        return team in self.marks

    def is_lead_away(self, team: str) -> bool:
        return team in self.away

    def take_away(self, team: str) -> None:
        """What happens to a roster when its team's folder is moved."""
        self._content.pop(team, None)
        self.marks.pop(team, None)
        self.away.pop(team, None)

    def content(self, team: str) -> bytes:
        return self._content[team]

    def create(self, team: str, content: bytes) -> bool:
        if team in self._content:
            return False
        self._content[team] = content
        return True

    def change(self, team: str, change: Callable[[bytes], bytes]) -> None:
        if is_claudes_team(team):
            raise TeamNotOurs(f"{team!r} is a team of Claude Code", "ask its lead")
        if team not in self._content:
            raise NoSuchTeam(f"there is no team {team!r}", "create it")
        self._content[team] = change(self._content[team])

    def undertaking(
        self,
        team: str,
        verb: str,  # noqa: ARG002 - a twin is never cut off
        name: str,  # noqa: ARG002
        detail: str = "",  # noqa: ARG002
    ) -> Noted:
        return Noted(lambda: self._cut_off.setdefault(team, []).clear() if team in self._cut_off else None)

    def cut_off(self, team: str, verb: str, name: str, detail: str = "") -> None:
        """What a killed process leaves."""
        self._cut_off.setdefault(team, []).append({"verb": verb, "name": name, "detail": detail})

    def abandoned(self, team: str) -> list[dict[str, str]]:
        return list(self._cut_off.get(team, []))


class Noted:
    def __init__(self, finish: Callable[[], object]) -> None:
        self._finish = finish

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self._finish()
