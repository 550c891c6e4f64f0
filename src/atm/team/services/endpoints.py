"""Where a member's session runs: written down for one life of that member in one life of the team, and for no other."""

from __future__ import annotations

from atm.team.rules.liveness import IDLE
from atm.team.services.lifecycle import life_of
from atm.team.services.presence import beat, last_beat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.team.rules.endpoints import Endpoint
    from atm.team.rules.team import Team
    from atm.team.services.registry import Registry


def endpoint_of(room: Registry, team: Team, member: str) -> Endpoint | None:
    """As this very member said. What a namesake left, or somebody unknown, leads to a stranger's session (D26)."""
    found = room.endpoints.of(team.name, member)
    return found if found is not None and found.life == life_of(room, team, member) else None


def put_endpoint(room: Registry, team: Team, member: str, endpoint: Endpoint) -> None:
    endpoint.life = life_of(room, team, member)
    room.endpoints.put(team.name, member, endpoint)


def sit_down(
    room: Registry, team: Team, member: str, pid: int, source: str, locate: Callable[[], Endpoint | None]
) -> bool:
    """
    A program has been opened and has no session yet: it waits for a prompt, where `locate` says.

    Not where a session of this member is known whose process may still run: what its own hooks said counts more.
    """
    now = room.clock.now()
    last = last_beat(room.presence, team, member, now)
    is_gone = last is not None and last.pid not in (None, pid) and not room.presence.process_runs(last.pid or 0)
    if endpoint_of(room, team, member) is not None and not is_gone:
        return False
    endpoint = locate()
    if endpoint is None:
        return False
    put_endpoint(room, team, member, endpoint)
    beat(room.presence, team, member, now, source, pid=pid, state=IDLE)
    return True
