"""What must hold of a line that a policy allows, once it has run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from tests.approvals.sandbox import SandboxRun

WRAPPERS = ("env", "timeout", "nice", "time", "nohup", "setsid", "stdbuf", "ionice", "xargs")
SHELLS = ("sh", "bash", "dash", "zsh", "fish")
"""Programs that may run under a rule for another one, if the line itself names them."""

OF_SHELLS = {"fish": ("dircolors",)}
"""What the functions of a shell start by themselves: `ls` is one in fish."""

GIT_CORE = "/usr/lib/git-core/"


def broken(run: SandboxRun, policy: dict[str, Any]) -> list[str]:
    """What an allowed line did and must not do; empty if it is as it should be."""
    found = [f"changed {path}" for path in run.changed]
    if policy.get("role"):
        found += [f"changed {path}" for path in run.within if not path.endswith("/.git/index")]
    names = policy.get("names")
    if names is not None:
        found += [f"ran {' '.join(words)}" for words in _unnamed(run, names)]
    return found


def _unnamed(run: SandboxRun, names: Sequence[str]) -> Iterable[Sequence[str]]:
    """Programs that neither a rule nor a wrapper of the line accounts for."""
    written = set(re.findall(r"[\w.-]+", run.line.replace("'", "").replace('"', "").replace("\\", "")))
    named = {*names, *OF_SHELLS.get(run.shell, ()), *(name for name in (*WRAPPERS, *SHELLS) if name in written)}
    if "sh" in named:
        named.add("dash")
    for program, words in run.started[1:]:
        folder, _, name = program.rpartition("/")
        is_of_git = "git" in named and program.startswith(GIT_CORE)
        if not is_of_git and (name not in named or folder not in ("/usr/bin", "/bin")):
            yield words or [program]
