"""No program at all: the host itself takes tasks from the board and runs their commands."""

from __future__ import annotations

from atm.vendors.runtime import BOARD, Runtime
from atm.vendors.vendor import Vendor

RUNTIME = Runtime(
    "script",
    protocol=BOARD,
    remarks=("claims tasks and runs their `run` commands, each in a worktree of its own; no model",),
)
VENDOR = Vendor("script", "a script", letters="SH", thinks=False, runtime=RUNTIME)
