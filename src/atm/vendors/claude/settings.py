"""Claude Code's settings files: code.claude.com/docs/en/mcp and /hooks."""

from __future__ import annotations

from atm.vendors.settings import HOOKS, SERVER, SettingsOf, SettingsRow
from atm.vendors.settings_servers import ServerShape

SETTINGS = SettingsOf(
    programs=("claude",),
    root=lambda around: around.claude_root,
    user=(
        SettingsRow("settings.json", (HOOKS,)),
        # At home, or with its settings if a variable has moved these. It keeps secrets in it.
        SettingsRow(
            ".claude.json", (SERVER,), root=lambda around: around.moved_by("CLAUDE_CONFIG_DIR"), is_private=True
        ),
    ),
    project=(SettingsRow(".claude/settings.json", (HOOKS,)), SettingsRow(".mcp.json", (SERVER,))),
    server=ServerShape("mcpServers", type="stdio"),
    no_evidence=("teams", "tasks"),
    after_server=("project", "asks before it starts a server of a project; /mcp shows how it stands."),
)
