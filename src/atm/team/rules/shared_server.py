"""
Codex's shared server: one process behind several terminals, with the environment of whoever happened to start it.

Pure. What its hooks, shells and MCP servers have in their environment says nothing about whose session it is. The
terminals do: what all of them agree on is known, and where they do not agree nobody is named.
"""

from __future__ import annotations

from atm.team.rules.agent_processes import program_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WHO = ("ATM_TEAM", "ATM_IDENTITY", "ATM_ROLE", "ATM_CONFIG")
WHERE = ("TMUX", "TMUX_PANE")
NOBODY = "ATM_NOBODY"
"""Set for ourselves, where several members share the server: what is known of who runs a command is nothing."""

HEADLESS = ("app-server", "exec", "e", "mcp", "mcp-server", "login", "logout", "completion", "debug", "apply", "review")
"""What Codex does without a terminal of its own."""

IN_WORDS = (
    "atm cannot tell which member this session is: it runs on Codex's shared server, beside sessions of other members. "
    "Start Codex with `--no-daemon`, and with ATM_TEAM and ATM_IDENTITY in its environment."
)


def is_terminal(command: str) -> bool:
    """Does a person, or an agent's launcher, have Codex before them in this process?"""
    words = [word for word in command.split("\0")[1:] if word]
    first = next((word for word in words if not word.startswith("-")), "")
    return program_in(command) == "codex" and first not in HEADLESS


def known_variables(environment: Mapping[str, str], terminals: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """An environment under the server, and in it what all terminals agree on, instead of what the server has."""
    found = {name: value for name, value in environment.items() if name not in WHO and name not in WHERE}
    if not terminals or any(_of(WHO, one) != _of(WHO, terminals[0]) for one in terminals):
        return {**found, NOBODY: "codex"}
    found |= _of(WHO, terminals[0])
    if len(terminals) == 1:
        found |= _of(WHERE, terminals[0])
    return found


def _of(names: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    return {name: environment[name] for name in names if environment.get(name)}
