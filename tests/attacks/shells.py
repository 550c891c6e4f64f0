"""A shell that is a member's recorded process, as an agent's own shell is."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import Any

from tests.conftest import Atm


def under(
    crew: Atm, member: str, *words: str, team: str = "crew", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command in a shell that is that member's recorded process, as an agent's own shell would."""
    program = f"{shlex.quote(sys.executable)} -m atm"
    beat = f"{program} tasks beat --team {team} --as {member} --pid $$ >/dev/null"
    script = f"{beat} && {program} {shlex.join(words)}; exit $?"
    return subprocess.run(
        ["/bin/sh", "-c", script],
        env={**crew.environment, **(env or {})},
        cwd=crew.folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def refused(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1, done.stdout + done.stderr
    error: dict[str, Any] = json.loads(done.stdout)["error"]
    assert error["code"] == "not-allowed"
    return str(error["message"])
