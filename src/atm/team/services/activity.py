"""What is known of a member: what it was doing, and whether it is there; each with source and age (G10)."""

from __future__ import annotations

from atm.team.rules.liveness import ENDED, WORKING
from atm.team.services import presence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.core.plain import Plain
    from atm.team.rules.liveness import Liveness
    from atm.team.rules.team import Member, Team
    from atm.team.services.registry import Registry


class Activity:
    """What is known of a member: what it was doing, and whether it is there; each with source and age (G10)."""

    __slots__ = ("liveness", "state", "state_age", "state_source")

    def __init__(self, state: str, source: str, age: float | None, liveness: Liveness) -> None:
        self.state = state
        self.state_source = source
        self.state_age = age
        self.liveness = liveness

    def as_fields(self) -> dict[str, Plain]:
        known = self.liveness
        warning: dict[str, Plain] = {"liveness_warning": known.warning} if known.warning else {}
        return {
            "state": self.state,
            "state_source": self.state_source,
            "state_age_seconds": _rounded(self.state_age),
            "liveness": known.value,
            "liveness_source": known.source,
            "liveness_age_seconds": _rounded(known.age),
            **warning,
        }


def activity(room: Registry, team: Team, member: Member) -> Activity:
    """The heartbeat says what a member does; without one, `isActive` in the roster is a hint, as old as the file."""
    now = room.clock.now()
    known = presence.liveness(room.presence, team, member.name, now)
    beat = presence.last_beat(room.presence, team, member.name, now)
    if beat is not None and beat.state:
        # The killed process could not report its end: its last heartbeat still says "working".
        state = ENDED if known.is_process_gone and beat.state == WORKING else beat.state
        return Activity(state, f"heartbeat ({beat.source})", max(0.0, now - beat.at), known)
    if member.is_active is None:
        return Activity(member.state, "no source", None, known)
    age = None if team.written_at is None else max(0.0, now - team.written_at)
    return Activity(member.state, "config.json isActive (a hint)", age, known)


def _rounded(age: float | None) -> float | None:
    return None if age is None else round(age, 1)
