"""The MCP server is an extra: is it here, and how to get it. Light: `atm mcp` asks before it starts anything."""

from __future__ import annotations

from atm.domain.errors import AtmError


class McpMissing(AtmError):
    """The extra `mcp` is not installed."""

    code = "mcp-missing"


def check_installed() -> None:
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise missing()


def missing(why: str = "") -> McpMissing:
    """With the command of the installer that brought atm here."""
    from atm.ui.views.extras import extra_command

    return McpMissing(f"the MCP server is not installed{why}", f"install it: {extra_command('mcp')}")
