"""Which session leads a team, and how long ago it was seen."""

from __future__ import annotations

from dataclasses import replace

from atm.core.names import is_claudes_team
from atm.team.formats.lead_fields import decode_lead, lead_fields, with_fields
from atm.team.formats.team_state import new_state
from atm.team.rules.lead_session import PRESENT, LeadSession, may_attach
from atm.team.rules.lifecycle import ACTIVE
from atm.team.services.lifecycle import in_state
from atm.team.services.presence import last_beat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from atm.team.rules.team import Team
    from atm.team.services.registry import Registry


def lead_of(room: Registry, team: str) -> LeadSession:
    """As its state says; nobody where it says nothing or cannot be read."""
    return in_state(room, team, decode_lead, LeadSession())


def change_lead(room: Registry, team: str, change: Callable[[LeadSession], LeadSession | None]) -> LeadSession:
    """Decide and write under the lock of the state. The lead afterwards."""
    kept = LeadSession()

    def rewrite(data: bytes | None) -> bytes | None:
        nonlocal kept
        former = data if data is not None else new_state(team, ACTIVE, "", "")
        kept = decode_lead(former)
        made = change(kept)
        if made is None:
            return None
        kept = made
        return with_fields(former, lead_fields(made))

    room.states.change(team, rewrite)
    return kept


def seconds_unseen(room: Registry, team: Team, lead: LeadSession, asker: str = "") -> float | None:
    """
    Since the lead was last seen: by its state, or by its heartbeat if that is later. None if it never was.

    Negative if that lies in the future. Zero while the process that its heartbeat names runs: a long turn is no
    time-out. Signs of life of the session that asks, `asker`, are not those of the one that it would follow.
    """
    now = room.clock.now()
    beat = last_beat(room.presence, team, team.lead, now)
    if beat is not None and asker and asker != lead.session and _is_askers(room, team, asker, beat.pid):
        beat = None
    is_here = beat is not None and beat.host == room.presence.host and beat.boot == room.presence.boot
    if beat is not None and beat.pid is not None and is_here and room.presence.process_runs(beat.pid):
        return 0.0
    seen = [at for at in (lead.last_seen, beat.at if beat is not None else None) if at is not None]
    return now - max(seen) if seen else None


def _is_askers(room: Registry, team: Team, asker: str, pid: int | None) -> bool:
    """By the process that the asker runs under, or by what its hooks left."""
    above = room.processes.ancestors(room.acting_pid) if room.acting_pid is not None else []
    endpoint = room.endpoints.of(team.name, team.lead)
    return (pid is not None and pid in above) or (endpoint is not None and endpoint.session == asker)


def sits_at_terminal(room: Registry, lead: LeadSession) -> bool:
    """Is the terminal still open at which a person leads the team? They need not type anything in it."""
    is_here = lead.pid > 0 and lead.boot == room.presence.boot
    return is_here and room.presence.began(lead.pid) == lead.began != ""


def note_lead(room: Registry, team: str, mine: LeadSession, longest: float) -> None:
    """Whoever starts a team's agents leads it, unless another session does."""
    if is_claudes_team(team):
        return
    found, now = room.rosters.load(team), room.clock.now()

    def decide(recorded: LeadSession) -> LeadSession | None:
        age = seconds_unseen(room, found, recorded, mine.session)
        if may_attach(recorded.session, mine.session, age, longest=longest) == PRESENT:
            return None
        is_other = recorded.session != mine.session
        return replace(mine, former=recorded.session if is_other else recorded.former, last_seen=now, away_since=None)

    change_lead(room, team, decide)
