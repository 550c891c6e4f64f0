"""What OpenCode's window shows."""

from __future__ import annotations

from atm.vendors.screen import PERMISSION, Screen

SCREEN = Screen(
    asking=("allow once", "allow always", "permission required"),
    suggestions=("ask anything",),
    questions=(
        ("permission required", PERMISSION),
        ("allow once", PERMISSION),
    ),
)
