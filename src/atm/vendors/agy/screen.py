"""What Antigravity CLI's window shows."""

from __future__ import annotations

from atm.vendors.screen import TRUST, Screen

SCREEN = Screen(
    asking=("no, exit",),
    asking_near=("do you trust the contents of this", "yes, i trust this folder"),
    questions=(("do you trust", TRUST),),
)
