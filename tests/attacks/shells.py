"""A shell that is a member's recorded process, as an agent's own shell is."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
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

    def record(pid: int) -> None:
        crew("tasks", "beat", "--team", team, "--as", member, "--pid", str(pid), env=env)

    return program(crew, "sh", script, env, record)


def program(
    crew: Atm,
    name: str,
    script: str,
    env: dict[str, str] | None = None,
    before: Callable[[int], object] = lambda _: None,
) -> subprocess.CompletedProcess[str]:
    """
    Run a script, in which `atm` is the program, in a process that bears a name, as an agent's would.

    It waits until what comes `before` is done; that is told its number.
    """
    atm = f'atm() {{ {shlex.quote(sys.executable)} -m atm "$@"; }}'
    whole = f"read go; exec </dev/null\n{atm}\n" + script.replace("sh -c '", f"sh -c '{atm}; ")
    with subprocess.Popen(
        [name, "-c", whole],
        executable="/bin/sh",
        env={**crew.environment, **(env or {})},
        cwd=crew.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            before(process.pid)
            out, err = process.communicate("go\n", timeout=120)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def refused(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1, done.stdout + done.stderr
    error: dict[str, Any] = json.loads(done.stdout)["error"]
    assert error["code"] == "not-allowed"
    return str(error["message"])
