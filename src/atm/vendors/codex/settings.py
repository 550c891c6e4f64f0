"""
Codex's settings files, by its docs/config.md; on projects by people's reports of 2026 (it reads them in a project that
it trusts).

It takes `notify` from the user's file alone: in a project it would be ignored, with a warning at every start.
"""

from __future__ import annotations

from atm.vendors.codex.notify_part import Notify
from atm.vendors.codex.servers import TomlServers
from atm.vendors.settings import HOOKS, NOTIFY, SERVER, SettingsOf, SettingsRow

SETTINGS = SettingsOf(
    programs=("codex",),
    root=lambda around: around.moved_by("CODEX_HOME", ".codex"),
    user=(SettingsRow("hooks.json", (HOOKS,)), SettingsRow("config.toml", (NOTIFY, SERVER))),
    project=(SettingsRow(".codex/hooks.json", (HOOKS,)), SettingsRow(".codex/config.toml", (SERVER,))),
    server=TomlServers(),
    parts={NOTIFY: Notify},
    after_hooks=lambda _: (
        "Codex runs a new or changed hook only after you trusted it: type /hooks in codex and look at them.",
    ),
    after_server=(
        "project",
        "reads .codex/config.toml only in a project that it trusts; /mcp shows how it stands.",
    ),
)
