"""Codex."""

from __future__ import annotations

from atm.vendors.vendor import Vendor

VENDOR = Vendor(
    "codex",
    "Codex",
    letters="CX",
    processes=("codex",),
    aliases=("openai", "chatgpt", "gpt"),
    own_names=(".codex",),
    variables=("CODEX_THREAD_ID",),
    package="@openai/codex",
    seen=("0.166.0",),
    hooks="atm.vendors.codex.hooks:HOOKS",
    calls="atm.vendors.codex.calls:CALLS",
    runtime="atm.vendors.codex.runtime:RUNTIME",
    screen="atm.vendors.codex.screen:SCREEN",
    settings="atm.vendors.codex.settings:SETTINGS",
    conversations="atm.vendors.codex.conversations:CONVERSATIONS",
    shared_server="atm.vendors.codex.terminals:SHARED_SERVER",
)
