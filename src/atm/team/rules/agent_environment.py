"""
The variables that agents have and people do not.

Whatever an agent starts inherits them, also after it has left the agent's process tree (`setsid -f`). A process can
remove them on purpose: they limit who counts as a person, and prove nothing else.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

IDENTITY, TEAM, MARK = "ATM_IDENTITY", "ATM_TEAM", "ATM_AGENT"
OF_STARTED_AGENTS = ("ATM_GENERATION", "ATM_RUN")
"""What atm gives to each agent that it starts, and to nothing else."""


def agent_in(environment: Mapping[str, str], is_agent: Callable[[str, str], bool]) -> str:
    """
    The agent to which a process with this environment belongs, and the variable that says so; empty for a person.

    `is_agent`: is this a member of the team (empty: of any team) that is not a person? A daemon and a server of tmux
    carry a mark without a member: an agent may have started them, and they belong to no member (`crew.rules.marks`).
    """
    mark = environment.get(MARK, "")
    parts = mark.split("/")
    if mark and len(parts) != 5:
        return ""
    if mark:
        return f"{parts[2]}@{parts[1]} ({MARK})"
    name, team = environment.get(IDENTITY, ""), environment.get(TEAM, "")
    if name and is_agent(team, name):
        return f"{name}@{team} ({IDENTITY})" if team else f"{name} ({IDENTITY})"
    found = next((key for key in OF_STARTED_AGENTS if environment.get(key)), "")
    return f"{name or 'an agent'} ({found})" if found else ""
