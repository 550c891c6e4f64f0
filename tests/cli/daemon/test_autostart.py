"""Who forbids it starts no daemon by any command but `atm daemon`: ATM_DAEMON_AUTOSTART=0, or the setting."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import atm.ui
from atm.daemon.adapters.seat import find_running

ASKS = ("approvals", "ask", "--tool", "Bash", "--command", "ls", "--as", "ann", "--wait", "0")
COMMANDS = [
    (("send", "ann", "hello", "--require-ack"), 0),
    (ASKS, 3),
    (("up", "script:cat", "--cwd", "."), 0),
    (("plugins", "enable", "digest"), 0),
    (("web", "--no-open"), 1),
    (("web", "--stop"), 3),
    (("status",), 0),
    (("doctor",), None),
    (("tasks", "add", "one more"), 0),
    (("sync", "status"), None),
]
"""Commands that a daemon helps, and some that it does not; None: any code."""


@pytest.mark.parametrize("how", ["variable", "setting"])
@pytest.mark.parametrize(
    ("words", "code"), COMMANDS, ids=lambda one: " ".join(one[:2]) if isinstance(one, tuple) else ""
)
def test_no_command_starts_it_where_that_is_forbidden(crew, layout, request, how, words, code):
    if how == "setting":
        crew("config", "set", "daemon.autostart", "false")
    if words[0] == "up":
        request.addfinalizer(lambda: crew("stop", code=None))
    crew(*words, code=code, env={"ATM_TEAM": "crew", **({"ATM_DAEMON_AUTOSTART": "0"} if how == "variable" else {})})
    assert find_running(layout) is None


def test_only_what_asks_whether_it_may_starts_it():
    """In all of the surfaces. `atm daemon start` is what a person types to have one."""
    folder = Path(atm.ui.__file__).parent
    found = {}
    for path in sorted(folder.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in ast.walk(tree)}
        if "start_daemon" in names:
            found[path.relative_to(folder).as_posix()] = bool({"may_start_daemon", "_may_autostart"} & names)
    assert found.pop("cli/daemon/daemon.py") is False
    assert found
    assert all(found.values()), found
