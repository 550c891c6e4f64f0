"""Gemini CLI."""

from __future__ import annotations

from atm.vendors.vendor import Vendor

VENDOR = Vendor(
    "gemini",
    "Gemini CLI",
    letters="GM",
    processes=("gemini",),
    aliases=("google",),
    own_names=(".gemini",),
    package="@google/gemini-cli",
    seen=("0.61.0",),
    hooks="atm.vendors.gemini.hooks:HOOKS",
    calls="atm.vendors.gemini.calls:CALLS",
    runtime="atm.vendors.gemini.runtime:RUNTIME",
    screen="atm.vendors.gemini.screen:SCREEN",
    settings="atm.vendors.gemini.settings:SETTINGS",
    conversations="atm.vendors.gemini.conversations:CONVERSATIONS",
)
