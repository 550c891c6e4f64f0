"""Who may do what in a team: the lead and humans decide, agents do the work."""

from __future__ import annotations

from atm.domain.names import same_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.domain.team.team import Team

HUMAN = "human"
"""Who asks when no name is given: a person at a terminal."""


def is_boss(team: Team, who: str) -> bool:
    """The lead, or a human. Agents are neither."""
    return same_name(who, team.lead) or is_human(team, who)


def is_human(team: Team, who: str) -> bool:
    """A member whom the roster calls human; or the person at the terminal, unless an agent took that name."""
    member = team.member(who)
    return same_name(who, HUMAN) if member is None else member.kind == HUMAN
