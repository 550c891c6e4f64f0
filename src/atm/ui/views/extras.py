"""How to get a part of atm that is not installed, for the installer that brought atm here."""

from __future__ import annotations

import sys

from atm.domain.errors import AtmError

DISTRIBUTION = "agent-team-manager"


def extra_command(extra: str, prefix: str = sys.prefix, executable: str = sys.executable) -> str:
    """For pipx, uv and pip."""
    wanted, path = f"'{DISTRIBUTION}[{extra}]'", prefix.replace("\\", "/")
    if "/pipx/venvs/" in path:
        return f"pipx install --force {wanted}"
    if "/uv/tools/" in path:
        return f"uv tool install --force {wanted}"
    from atm.domain.untrusted_text import shell_words

    return f"{shell_words(executable)} -m pip install {wanted}"


class McpMissing(AtmError):
    """The extra `mcp` is not installed."""

    code = "mcp-missing"


def check_mcp() -> None:
    """Asked before anything is started."""
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise mcp_missing()


def mcp_missing(why: str = "") -> McpMissing:
    return McpMissing(f"the MCP server is not installed{why}", f"install it: {extra_command('mcp')}")
