"""How the reader of a demo calls atm afterwards."""

from __future__ import annotations

import os
import shutil
import sys

from atm.core.untrusted_text import shell_word


def first_to_type() -> list[str]:
    """Nothing where atm is installed for everyday use; its folder where only a virtual environment has it."""
    if shutil.which("atm"):
        return []
    return [f"  export PATH={shell_word(os.path.dirname(sys.executable))}:$PATH"]
