"""How to get a part of atm that is not installed, for the installer that brought atm here."""

from __future__ import annotations

import sys

DISTRIBUTION = "agent-team-manager"


def extra_command(extra: str, prefix: str = sys.prefix, executable: str = sys.executable) -> str:
    """For pipx, uv and pip."""
    wanted, path = f"'{DISTRIBUTION}[{extra}]'", prefix.replace("\\", "/")
    if "/pipx/venvs/" in path:
        return f"pipx install --force {wanted}"
    if "/uv/tools/" in path:
        return f"uv tool install --force {wanted}"
    from atm.domain.untrusted_text import shell_words

    return f"{shell_words(executable)} -m pip install {wanted}"
