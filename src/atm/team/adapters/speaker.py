"""Who speaks in a process, where its environment does not say: it may be that of another member's terminal."""

from __future__ import annotations

import os

from atm.files.adapters.processes import ancestors_of, command_of
from atm.team.rules.agent_processes import shared_server_in, teammate_in, terminal_in
from atm.vendors.shared_server import known_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from atm.vendors.shared_server import SharedServer


def environment_of_speaker(environment: Mapping[str, str], pid: int) -> Mapping[str, str]:
    """
    The environment as it is, unless the process runs under a teammate that Claude Code started in a pane, or under
    Codex's shared server: then with who and where that one is.
    """
    for above in ancestors_of(pid)[1:]:
        command = command_of(above)
        teammate = teammate_in(command)
        if teammate is not None:
            return {**environment, "ATM_IDENTITY": teammate[0], "ATM_TEAM": teammate[1]}
        vendor = shared_server_in(command)
        if vendor is not None and vendor.shared_server is not None:
            return known_variables(vendor.name, environment, _terminals_of(above, vendor.name, vendor.shared_server))
    return environment


def _terminals_of(pid: int, vendor: str, server: SharedServer) -> list[dict[str, str]]:
    of_server = environment_of(pid)
    if of_server is None:
        return []
    homes = [of_server.get(name) for name in server.homes]
    terminals = [one for one in _processes() if (of := terminal_in(command_of(one))) and of.name == vendor]
    found = [environment_of(one) for one in terminals]
    return [one for one in found if one is not None and [one.get(name) for name in server.homes] == homes]


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


def environment_of(pid: int) -> dict[str, str] | None:
    """None if it is another user's, or the system does not tell."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            pairs = [item.partition(b"=") for item in file.read(1 << 20).split(b"\0") if item]
    except OSError:
        return None
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}
