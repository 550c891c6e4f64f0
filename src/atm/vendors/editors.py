"""Editors: they have no hooks of ours, but can start our MCP server. cursor.com/docs/mcp, code.visualstudio.com."""

from __future__ import annotations

from atm.vendors.settings import SERVER, SettingsOf, SettingsRow, Surroundings
from atm.vendors.settings_servers import ServerShape
from atm.vendors.vendor import Vendor


def _code_folder(around: Surroundings) -> str:
    return f"{found}/Code/User" if (found := around.applications()) else ""


CURSOR = Vendor(
    "cursor",
    "Cursor",
    settings=SettingsOf(
        programs=("cursor",),
        root=lambda around: around.below_home(".cursor"),
        user=(SettingsRow("mcp.json", (SERVER,)),),
        project=(SettingsRow(".cursor/mcp.json", (SERVER,)),),
        server=ServerShape("mcpServers", type="stdio", takes_comments=True),
        is_editor=True,
        after_server=("", "starts a new server only after you switched it on in its settings."),
    ),
)
VSCODE = Vendor(
    "vscode",
    "VS Code",
    settings=SettingsOf(
        programs=("code",),
        root=_code_folder,
        user=(SettingsRow("mcp.json", (SERVER,)),),
        project=(SettingsRow(".vscode/mcp.json", (SERVER,)),),
        server=ServerShape("servers", type="stdio", takes_comments=True),
        is_editor=True,
        after_server=("", "asks whether you trust a new server; `MCP: List Servers` shows how it stands."),
    ),
)
