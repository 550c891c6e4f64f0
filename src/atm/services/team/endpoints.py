"""Where a member's session runs: written down for one life of that member in one life of the team, and for no other."""

from __future__ import annotations

from atm.services.team.lifecycle import life_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.team.endpoints import Endpoint
    from atm.domain.team.team import Team
    from atm.services.team.registry import Registry


def endpoint_of(room: Registry, team: Team, member: str) -> Endpoint | None:
    """As this very member said. What a namesake left, or somebody unknown, leads to a stranger's session (D26)."""
    found = room.endpoints.of(team.name, member)
    return found if found is not None and found.life == life_of(room, team, member) else None


def put_endpoint(room: Registry, team: Team, member: str, endpoint: Endpoint) -> None:
    endpoint.life = life_of(room, team, member)
    room.endpoints.put(team.name, member, endpoint)
