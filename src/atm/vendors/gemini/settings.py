"""Gemini CLI's settings files: geminicli.com/docs/tools/mcp-server."""

from __future__ import annotations

from atm.vendors.settings import HOOKS, PROJECT, SERVER, SettingsOf, SettingsRow, Surroundings
from atm.vendors.settings_servers import ServerShape


def _root(around: Surroundings) -> str:
    return f"{found}/.gemini" if (found := around.moved_by("GEMINI_CLI_HOME")) else ""


def _after_hooks(scope: str) -> tuple[str, ...]:
    if scope != PROJECT:
        return ()
    return ("Gemini CLI asks before it runs hooks of a project, and runs none in a folder it does not trust.",)


SETTINGS = SettingsOf(
    programs=("gemini",),
    root=_root,
    user=(SettingsRow("settings.json", (HOOKS, SERVER)),),
    project=(SettingsRow(".gemini/settings.json", (HOOKS, SERVER)),),
    server=ServerShape("mcpServers", takes_comments=True),
    # Its successor keeps its files in the same folder, but reads no hooks from settings.json (since 1.1).
    no_evidence=("antigravity", "config"),
    after_hooks=_after_hooks,
    after_server=("project", "starts no server in a folder that it does not trust; /mcp shows how it stands."),
)
