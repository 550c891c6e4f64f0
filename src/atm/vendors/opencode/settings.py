"""OpenCode's settings files: opencode.ai/docs/config."""

from __future__ import annotations

from atm.vendors.opencode.plugin_part import PluginPart
from atm.vendors.settings import PLUGIN, SERVER, SettingsOf, SettingsRow, Surroundings
from atm.vendors.settings_servers import ServerShape


def _root(around: Surroundings) -> str:
    return f"{found}/opencode" if (found := around.moved_by("XDG_CONFIG_HOME", ".config")) else ""


SETTINGS = SettingsOf(
    programs=("opencode", "opencode2"),
    root=_root,
    user=(
        SettingsRow("plugins/atm.js", (PLUGIN,)),
        SettingsRow("opencode.json", (SERVER,), instead="opencode.jsonc"),
    ),
    project=(
        SettingsRow(".opencode/plugins/atm.js", (PLUGIN,)),
        SettingsRow("opencode.json", (SERVER,), instead="opencode.jsonc"),
    ),
    # OpenCode 2 has another shape of its own (`mcp.servers`), and goes on reading this one.
    server=ServerShape("mcp", type="local", is_one_list=True, more={"enabled": True}, takes_comments=True),
    parts={PLUGIN: PluginPart},
)
