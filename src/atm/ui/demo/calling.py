"""How the reader of a demo calls atm afterwards."""

from __future__ import annotations

import os
import shutil
import sys


def how_to_call() -> str:
    """`atm` where it is installed for everyday use; its path where only a virtual environment has it."""
    if shutil.which("atm"):
        return "atm"
    here = os.path.join(os.path.dirname(sys.executable), "atm")
    return min(here, os.path.relpath(here), key=len)
