"""
A program's server behind several terminals: one process, with the environment of whichever terminal started it.

Pure. What its hooks, shells and MCP servers have in their environment says nothing about whose session it is. The
terminals do: what all of them agree on is known, and where they do not agree nobody is named.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

WHO = ("ATM_TEAM", "ATM_IDENTITY", "ATM_ROLE", "ATM_CONFIG")
WHERE = ("TMUX", "TMUX_PANE")
NOBODY = "ATM_NOBODY"
"""Set for ourselves, where several members share the server: what is known of who runs a command is nothing. Its value
is the vendor."""


class SharedServer:
    """How a shared server, and the terminals in front of it, are recognised by their command lines."""

    __slots__ = ("homes", "is_server", "is_terminal", "remedy", "trouble")

    def __init__(
        self,
        *,
        is_server: Callable[[Sequence[str]], bool],
        is_terminal: Callable[[Sequence[str]], bool],
        homes: Sequence[str],
        trouble: str,
        remedy: str,
    ) -> None:
        self.is_server = is_server
        """The words of a process of this program."""
        self.is_terminal = is_terminal
        self.homes = tuple(homes)
        """Variables that a server and its terminals have in common."""
        self.trouble = trouble
        """What an agent reads whose name cannot be told."""
        self.remedy = remedy


def known_variables(
    vendor: str, environment: Mapping[str, str], terminals: Sequence[Mapping[str, str]]
) -> dict[str, str]:
    """An environment under the server, and in it what all terminals agree on, instead of what the server has."""
    found = {name: value for name, value in environment.items() if name not in WHO and name not in WHERE}
    if not terminals or any(_of(WHO, one) != _of(WHO, terminals[0]) for one in terminals):
        return {**found, NOBODY: vendor}
    found |= _of(WHO, terminals[0])
    if len(terminals) == 1:
        found |= _of(WHERE, terminals[0])
    return found


def _of(names: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    return {name: environment[name] for name in names if environment.get(name)}
