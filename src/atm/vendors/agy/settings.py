"""
Antigravity CLI's settings files, as its hooks: known from people who connect to it, and from corrections among them.

Open reports on projects: google-antigravity/antigravity-cli 1036 and 1052; for some people it works.
"""

from __future__ import annotations

from atm.vendors.settings import NAMED_HOOKS, PROJECT, SERVER, SettingsOf, SettingsRow
from atm.vendors.settings_parts import HooksPart
from atm.vendors.settings_servers import ServerShape


def _after_hooks(scope: str) -> tuple[str, ...]:
    first = "Antigravity CLI does not say when it reads no hooks from a file: type /hooks in agy and look for atm."
    if scope == PROJECT:
        return first, "It reads those of a project in a folder that it trusts; if it does not, use --user instead."
    return first, "The .atm.toml of its workspace counts where agy names one; the variables below always do."


SETTINGS = SettingsOf(
    programs=("agy",),  # not `antigravity`, which is the editor
    root=lambda around: around.below_home(".gemini"),  # it has no variable of its own, nor heeds its predecessor's
    user=(SettingsRow("config/hooks.json", (NAMED_HOOKS,)), SettingsRow("config/mcp_config.json", (SERVER,))),
    project=(SettingsRow(".agents/hooks.json", (NAMED_HOOKS,)), SettingsRow(".agents/mcp_config.json", (SERVER,))),
    server=ServerShape("mcpServers"),
    names_hooks=True,
    parts={NAMED_HOOKS: HooksPart},
    evidence=("antigravity-cli",),
    after_hooks=_after_hooks,
)
