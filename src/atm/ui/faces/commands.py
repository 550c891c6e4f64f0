"""Running the very command that the screen shows."""

from __future__ import annotations

import subprocess
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

PAGE_SECONDS = 20.0


def run_atm(
    environment: Mapping[str, str], words: list[str], stdin: int = subprocess.DEVNULL, folder: str = ""
) -> tuple[int, str, str]:
    """Code, output, errors. Without colours, and with no terminal to ask at."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "atm", *words],
            stdin=stdin,
            capture_output=True,
            timeout=PAGE_SECONDS,
            env={**environment, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
            cwd=folder or None,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 1, "", f"it did not end within {PAGE_SECONDS:.0f} s"
    except (OSError, ValueError) as error:
        return 1, "", str(error)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
