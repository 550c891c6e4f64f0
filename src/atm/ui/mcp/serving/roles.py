"""The roles of callers, and which of them the roster allows. Light, because `atm mcp` asks too."""

from __future__ import annotations

from atm.team.rules.team import HUMAN as HUMAN_KIND
from atm.team.rules.team import is_human

TYPE_CHECKING = False
if TYPE_CHECKING:
    from atm.config import Settings
    from atm.team.rules.team import Team
    from atm.ui.mcp.hello import IdentityClaim

TEAMMATE, LEAD, HUMAN, OBSERVER = "teammate", "lead", "human", "observer"
ROLES = (TEAMMATE, LEAD, HUMAN, OBSERVER)


def launched_with(claim: IdentityClaim) -> dict[str, str]:
    """Only what the launcher said. The daemon's own environment is that of whoever happened to start it."""
    said = {"ATM_TEAM": claim.team, "ATM_IDENTITY": claim.member, "ATM_CONFIG": claim.config}
    return {name: value for name, value in said.items() if value}


def asked_role(settings: Settings, claimed: str) -> str:
    """
    What the launcher wants to be.

    A name from a file of the repository is worth less than one from the launcher: whoever may write there, or gave us
    the repository, would choose whom an agent leads. It makes a teammate, unless the launcher says more (G8).
    """
    if not claimed and settings.setting("core.identity").is_of_the_repo:
        return TEAMMATE
    return claimed


def is_the_persons(settings: Settings, team: Team | None, claimed: str) -> bool:
    """
    The user's own file names who sits at this machine, since they made a team. An agent that nobody named is not that
    person; it is whom the file names if the roster calls that one an agent, or if the launcher says `human`.
    """
    if claimed == HUMAN or not settings.setting("core.identity").is_of_the_user:
        return False
    name = settings.text("core.identity")
    return team is None or team.member(name) is None or is_human(team, name)


def allowed_role(team: Team | None, name: str, asked: str) -> str:
    """The role that was asked for, but never more than the roster allows; without a wish, what the roster says."""
    if team is None or not name or asked == OBSERVER:
        return OBSERVER
    member = team.member(name)
    if asked in ("", LEAD) and team.is_lead(name):
        return LEAD
    # Whoever is called `human` and is on no roster may be the person at the terminal: the launcher has to say so.
    if is_human(team, name) and (asked == HUMAN or (not asked and member is not None and member.kind == HUMAN_KIND)):
        return HUMAN
    return TEAMMATE if member is not None else OBSERVER
