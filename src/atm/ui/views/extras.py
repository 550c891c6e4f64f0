"""How to get a part of atm that is not installed, for the installer that brought atm here."""

from __future__ import annotations

from atm.core.errors import AtmError


def extra_command(*extras: str) -> str:
    """The command that installs these extras beside this atm."""
    from atm.setup.rules import installation
    from atm.wiring.setup import read_installation

    return installation.extra_command(read_installation(), *extras)


def screen_command() -> str:
    """The command that installs the screen; empty where it is installed."""
    from importlib.util import find_spec

    return "" if find_spec("textual") is not None else extra_command("tui")


class McpMissing(AtmError):
    """The extra `mcp` is not installed."""

    code = "mcp-missing"


def check_mcp() -> None:
    """Asked before anything is started; the bridge of an agent asks it too, so it imports little."""
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise mcp_missing()


def mcp_missing(why: str = "") -> McpMissing:
    return McpMissing(f"the MCP server is not installed{why}", f"install it: {extra_command('mcp')}")
