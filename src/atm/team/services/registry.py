"""The ports that whoever asks about teams and members needs, in one hand; and how a name becomes a team."""

from __future__ import annotations

from atm.core.names import is_claudes_team

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from atm.files.ports.clock import Chance, Clock
    from atm.files.ports.records import TeamSecrets
    from atm.team.ports.endpoints import Endpoints
    from atm.team.ports.presence import Presence
    from atm.team.ports.processes import AgentProcesses
    from atm.team.ports.rosters import Rosters
    from atm.team.ports.states import States
    from atm.team.rules.team import Team

    class TeamStores(Protocol):
        """Stores that mail does without, each made when it is first asked for."""

        @property
        def presence(self) -> Presence: ...

        @property
        def processes(self) -> AgentProcesses: ...

        @property
        def states(self) -> States: ...

        @property
        def endpoints(self) -> Endpoints: ...

        @property
        def secrets(self) -> TeamSecrets: ...


class Registry:
    """Teams, their members, where they stand and who is there."""

    __slots__ = ("acting_pid", "chance", "clock", "rosters", "stores")

    def __init__(self, *, clock: Clock, chance: Chance, rosters: Rosters, stores: TeamStores) -> None:
        self.clock = clock
        self.chance = chance
        self.rosters = rosters
        self.stores = stores
        self.acting_pid: int | None = None
        """The process that acts here: a command, or a client of a server. What it runs under limits in whose name it
        may act. None for the daemon's own work, and for a bearer of a token."""

    @property
    def presence(self) -> Presence:
        return self.stores.presence

    @property
    def processes(self) -> AgentProcesses:
        return self.stores.processes

    @property
    def states(self) -> States:
        return self.stores.states

    @property
    def endpoints(self) -> Endpoints:
        return self.stores.endpoints

    @property
    def secrets(self) -> TeamSecrets:
        return self.stores.secrets


def only_one(room: Registry) -> str:
    """The only team here, which is meant, unless it is a session's of Claude Code. No file has to be read for that."""
    teams = room.rosters.teams()
    return teams[0] if len(teams) == 1 and not is_claudes_team(teams[0]) else ""


def find_team(room: Registry, team: str) -> Team:
    """Load a team by a name in any case."""
    return room.rosters.load(room.rosters.find(team) or team)
