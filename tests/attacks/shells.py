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
    return shell(crew, member, f"atm {shlex.join(words)}; exit $?", team=team, env=env)


def shell(
    crew: Atm, member: str, script: str, *, team: str = "crew", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a script, in which `atm` is the program, in a shell that is that member's recorded process."""
    beat = f"atm tasks beat --team {team} --as {member} --pid $$ >/dev/null || exit 97"
    return program(crew, "sh", f"{beat}\n{script}", env)


def program(crew: Atm, name: str, script: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a script, in which `atm` is the program, in a process that bears a name, as an agent's would."""
    atm = f'atm() {{ {shlex.quote(sys.executable)} -m atm "$@"; }}'
    return subprocess.run(
        [name, "-c", f"{atm}\n" + script.replace("sh -c '", f"sh -c '{atm}; ")],
        executable="/bin/sh",
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
