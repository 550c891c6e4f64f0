"""
Antigravity CLI, the successor of Gemini CLI, with payloads of its own.

We have run none, so nothing here was verified by ourselves. It is from the page that comes with the program
(agy-customizations/docs/hooks.md), as others quote it: the files, their shape, the events, the time-out in seconds.
"""

from __future__ import annotations

from atm.vendors.vendor import Vendor

VENDOR = Vendor(
    "agy",
    "Antigravity CLI",
    letters="AG",
    processes=("agy",),
    aliases=("antigravity",),
    own_names=(".agents",),
    hooks="atm.vendors.agy.hooks:HOOKS",
    screen="atm.vendors.agy.screen:SCREEN",
    settings="atm.vendors.agy.settings:SETTINGS",
)
