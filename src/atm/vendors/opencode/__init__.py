"""OpenCode."""

from __future__ import annotations

from atm.vendors.vendor import Vendor

VENDOR = Vendor(
    "opencode",
    "OpenCode",
    letters="OC",
    processes=("opencode", "opencode2"),
    own_names=(".opencode", "opencode.json"),
    package="opencode-ai",
    seen=("1.18.33",),
    hooks="atm.vendors.opencode.hooks:HOOKS",
    calls="atm.vendors.opencode.calls:CALLS",
    runtime="atm.vendors.opencode.runtime:RUNTIME",
    screen="atm.vendors.opencode.screen:SCREEN",
    settings="atm.vendors.opencode.settings:SETTINGS",
    agent_server="atm.vendors.opencode.wake:OpenCodeServers",
    conversations="atm.vendors.opencode.conversations:CONVERSATIONS",
)
